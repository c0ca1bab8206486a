/* This host in a list of peers. No state of its own; any thread. */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/net/fabric/tcp/peer_list.h"
#include "shm/base/error.h"

typedef struct host {
  char name[256];
  struct ifaddrs *addresses;
} host_t;

/* Equal, or equal without the domain of one. */
static bool same_name(const char *a, const char *b)
{
  size_t length_a = strcspn(a, "."), length_b = strcspn(b, ".");
  bool short_one = a[length_a] == '\0' || b[length_b] == '\0';
  if (short_one)
    return length_a == length_b && strncasecmp(a, b, length_a) == 0;
  return strcasecmp(a, b) == 0;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
  if (a == NULL || b == NULL || a->sa_family != b->sa_family)
    return false;
  if (a->sa_family == AF_INET)
    return memcmp(&((const struct sockaddr_in *)a)->sin_addr, &((const struct sockaddr_in *)b)->sin_addr,
                  sizeof(struct in_addr)) == 0;
  return a->sa_family == AF_INET6 && memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                                            &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* All of 127.0.0.0/8 is this host. */
static bool is_loopback(const struct sockaddr *address)
{
  return address->sa_family == AF_INET &&
         ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

static bool is_local(const host_t *host, const struct sockaddr *address)
{
  if (is_loopback(address))
    return true;
  for (const struct ifaddrs *i = host->addresses; i != NULL; i = i->ifa_next)
    if (same_address(i->ifa_addr, address))
      return true;
  return false;
}

static bool any_local(const host_t *host, struct addrinfo *found)
{
  bool local = false;
  for (const struct addrinfo *i = found; i != NULL && !local; i = i->ai_next)
    local = is_local(host, i->ai_addr);
  if (found != NULL)
    freeaddrinfo(found);
  return local;
}

static bool matches_directly(const host_t *host, const sfd_peer_address_t *peer)
{
  struct addrinfo *numeric = sfd_peer_address_numeric(peer);
  return numeric != NULL ? any_local(host, numeric) : same_name(host->name, peer->host);
}

static bool matches_resolved(const host_t *host, const sfd_peer_address_t *peer)
{
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  return getaddrinfo(peer->host, NULL, &hints, &found) == 0 && any_local(host, found);
}

typedef struct search {
  const sfd_peer_list_t *list;
  const host_t *host;
  uint16_t port;
  bool *chosen;
  int32_t nchosen;
} search_t;

static void choose(search_t *search, bool (*matches)(const host_t *host, const sfd_peer_address_t *peer))
{
  for (int32_t i = 0; i < search->list->count; i++) {
    const sfd_peer_address_t *peer = &search->list->peers[i];
    search->chosen[i] = (search->port == 0 || peer->port == search->port) && matches(search->host, peer);
    search->nchosen += search->chosen[i];
  }
}

static bool is_chosen(const void *context, int32_t i)
{
  return ((const bool *)context)[i];
}

static sf_status_t conclude(const search_t *search, int32_t *node_p)
{
  char port[24] = "";
  if (search->port != 0)
    snprintf(port, sizeof port, ", with port %u", search->port);
  if (search->nchosen == 0)
    return sfshm_error(SF_ERR_NOT_FOUND,
                       "none of the %d peers is this host, %s%s: neither by its name nor by an address of an "
                       "interface; correct the list or give the node's number",
                       search->list->count, search->host->name, port);
  if (search->nchosen > 1) {
    char nodes[SFD_TEXT_SIZE];
    sfd_text_ranges(nodes, sizeof nodes, search->list->count, is_chosen, search->chosen);
    return sfshm_error(SF_ERR_ARG, "nodes %s of the list of peers are all this host, %s: give the node's number", nodes,
                       search->host->name);
  }
  *node_p = 0;
  while (!search->chosen[*node_p])
    ++*node_p;
  return SF_OK;
}

sf_status_t sfd_peer_list_find(const sfd_peer_list_t *list, uint16_t port, int32_t *node_p)
{
  host_t host = {.addresses = NULL};
  if (gethostname(host.name, sizeof host.name - 1) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot get the host's name");
  if (getifaddrs(&host.addresses) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot get the host's addresses");
  search_t search = {.list = list, .host = &host, .port = port};
  search.chosen = calloc((size_t)list->count, sizeof *search.chosen);
  sf_status_t status = SF_OK;
  if (search.chosen == NULL) {
    status = sfshm_error(SF_ERR_NOMEM, "no memory for %d peers", list->count);
  } else {
    choose(&search, matches_directly);
    if (search.nchosen == 0)
      choose(&search, matches_resolved);
    status = conclude(&search, node_p);
  }
  free(search.chosen);
  freeifaddrs(host.addresses);
  return status;
}
