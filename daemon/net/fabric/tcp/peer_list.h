/* Lists of peers: HOST:PORT, where HOST is an IPv4 address, an IPv6 address in brackets, or a name. A node's number is
 * its position in the list. */
#ifndef SFD_NET_FABRIC_TCP_PEER_LIST_H
#define SFD_NET_FABRIC_TCP_PEER_LIST_H

#include <netdb.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFD_PEER_TEXT_SIZE 264 /* of an address as text */
#define SFD_MAX_NODES 65536

typedef struct sfd_peer_address {
  char *host; /* without brackets */
  uint16_t port;
} sfd_peer_address_t;

typedef struct sfd_peer_list {
  sfd_peer_address_t *peers;
  int32_t count;
} sfd_peer_list_t;

/* Free address_p->host. SF_ERR_ARG, SF_ERR_NOMEM. */
sf_status_t sfd_peer_address_parse(const char *text, sfd_peer_address_t *address_p) __attribute__((warn_unused_result));
void sfd_peer_address_print(const sfd_peer_address_t *address, char *text, size_t text_size);

/* Socket addresses without resolving; NULL: the host is a name. Free with freeaddrinfo. */
struct addrinfo *sfd_peer_address_numeric(const sfd_peer_address_t *address);

/* The port for getaddrinfo. */
void sfd_peer_address_service(const sfd_peer_address_t *address, char service[8]);

/* Parses "HOST:PORT,HOST:PORT,..." or, if the text has a slash, the file of that name: one address per line, # begins a
 * comment. SF_ERR_ARG: malformed, empty, or a duplicate; SF_ERR_LIMIT; SF_ERR_SYS: not readable; SF_ERR_NOMEM. */
sf_status_t sfd_peer_list_create(const char *text, sfd_peer_list_t *list_p) __attribute__((warn_unused_result));
void sfd_peer_list_free(sfd_peer_list_t *list); /* may be repeated */

/* Whether the list means the same on all hosts. SF_ERR_ARG: it has a loopback address beside others. */
sf_status_t sfd_peer_list_check(const sfd_peer_list_t *list) __attribute__((warn_unused_result));

/* Index of the peer on this host, by name or address; names may be resolved, which may block. port 0: any port.
 * SF_ERR_NOT_FOUND: none; SF_ERR_ARG: several; SF_ERR_SYS. */
sf_status_t sfd_peer_list_find(const sfd_peer_list_t *list, uint16_t port, int32_t *node_p)
    __attribute__((warn_unused_result));

#endif
