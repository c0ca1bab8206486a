/* Lists of peers: see peer_list.h. No state of its own; any thread. */
#include "daemon/net/fabric/tcp/peer_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shm/base/error.h"

#define MAX_HOST_LENGTH 253
#define MAX_FILE_BYTES ((size_t)SFD_MAX_NODES * SFD_PEER_TEXT_SIZE)
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

/* ---- One address ---- */

static sf_status_t parse_port(const char *text, const char *digits, uint16_t *port_p)
{
  unsigned long port = strtoul(digits, NULL, 10);
  size_t length = strlen(digits);
  if (length == 0 || length > 5 || strspn(digits, "0123456789") != length || port == 0 || port > UINT16_MAX)
    return sfshm_error(SF_ERR_ARG, "'%.270s' has no port; expected HOST:PORT with a port of 1 to 65535", text);
  *port_p = (uint16_t)port;
  return SF_OK;
}

/* Host and port in the text. */
static sf_status_t split(const char *text, const char **host_p, size_t *length_p, const char **port_p)
{
  bool bracket = text[0] == '[';
  const char *host = text + bracket;
  const char *end = bracket ? strchr(host, ']') : strrchr(text, ':');
  const char *colon = bracket && end != NULL ? end + 1 : end;
  if (colon == NULL || *colon != ':' || end == host)
    return sfshm_error(SF_ERR_ARG, "'%.270s' is no address; expected HOST:PORT or [IPV6]:PORT", text);
  size_t length = (size_t)(end - host);
  size_t valid = strspn(host, bracket ? HOST_CHARACTERS ":%" : HOST_CHARACTERS);
  if (valid < length || length > MAX_HOST_LENGTH)
    return sfshm_error(SF_ERR_ARG, "'%.270s' has a malformed host; expected a name, an IPv4 address, or [IPV6]", text);
  *host_p = host;
  *length_p = length;
  *port_p = colon + 1;
  return SF_OK;
}

/* Brackets must contain an IPv6 address: typing errors are found early. */
static sf_status_t check_brackets(const char *text, const sfd_peer_address_t *address)
{
  if (text[0] != '[')
    return SF_OK;
  struct addrinfo *found = sfd_peer_address_numeric(address);
  bool good = found != NULL && found->ai_family == AF_INET6;
  if (found != NULL)
    freeaddrinfo(found);
  return good ? SF_OK : sfshm_error(SF_ERR_ARG, "'%.270s' has no IPv6 address in its brackets", text);
}

sf_status_t sfd_peer_address_parse(const char *text, sfd_peer_address_t *address_p)
{
  const char *host = NULL, *port = NULL;
  size_t length = 0;
  sfd_peer_address_t address = {.host = NULL};
  sf_status_t status = split(text, &host, &length, &port);
  if (status == SF_OK)
    status = parse_port(text, port, &address.port);
  if (status != SF_OK)
    return status;
  address.host = strndup(host, length);
  if (address.host == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a peer's address");
  status = check_brackets(text, &address);
  if (status == SF_OK)
    *address_p = address;
  else
    free(address.host);
  return status;
}

void sfd_peer_address_print(const sfd_peer_address_t *address, char *text, size_t text_size)
{
  bool bracket = strchr(address->host, ':') != NULL;
  snprintf(text, text_size, bracket ? "[%s]:%u" : "%s:%u", address->host, address->port);
}

void sfd_peer_address_service(const sfd_peer_address_t *address, char service[8])
{
  snprintf(service, 8, "%u", address->port);
}

struct addrinfo *sfd_peer_address_numeric(const sfd_peer_address_t *address)
{
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  char service[8];
  sfd_peer_address_service(address, service);
  return getaddrinfo(address->host, service, &hints, &found) == 0 ? found : NULL;
}

/* ---- Lists ---- */

/* Position for errors. */
typedef struct place {
  const char *file; /* NULL: not from a file */
  int line;
} place_t;

/* Adds the position to an error. */
static sf_status_t at(const place_t *place, const sfd_peer_list_t *list, sf_status_t status)
{
  if (place->file != NULL)
    return sfshm_error(status, "%s:%d: %s", place->file, place->line, sfshm_error_detail());
  return sfshm_error(status, "list of peers, entry %d: %s", list->count, sfshm_error_detail());
}

/* Trims blanks. */
static char *trim(char *text)
{
  text += strspn(text, " \t\r");
  size_t length = strlen(text);
  while (length > 0 && isspace((unsigned char)text[length - 1]))
    text[--length] = '\0';
  return text;
}

static sf_status_t add(sfd_peer_list_t *list, const char *text)
{
  if (list->count == SFD_MAX_NODES)
    return sfshm_error(SF_ERR_LIMIT, "more than %d peers", SFD_MAX_NODES);
  if ((list->count & (list->count - 1)) == 0) { /* full: capacity is the next power of two */
    size_t capacity = list->count == 0 ? 1 : 2 * (size_t)list->count;
    sfd_peer_address_t *grown = reallocarray(list->peers, capacity, sizeof *grown);
    if (grown == NULL)
      return sfshm_error(SF_ERR_NOMEM, "no memory for %zu peers", capacity);
    list->peers = grown;
  }
  sf_status_t status = sfd_peer_address_parse(text, &list->peers[list->count]);
  if (status == SF_OK)
    list->count++;
  return status;
}

/* One line: a comment, or addresses separated by commas. */
static sf_status_t parse_line(sfd_peer_list_t *list, char *line, const place_t *place)
{
  line[strcspn(line, "#")] = '\0';
  line = trim(line);
  if (*line == '\0')
    return SF_OK;
  for (char *next = line; next != NULL;) {
    char *item = strsep(&next, ",");
    sf_status_t status = add(list, trim(item));
    if (status != SF_OK)
      return at(place, list, status);
  }
  return SF_OK;
}

/* Overwrites the text. */
static sf_status_t parse(sfd_peer_list_t *list, char *text, const char *file)
{
  place_t place = {.file = file};
  for (char *next = text; next != NULL;) {
    place.line++;
    sf_status_t status = parse_line(list, strsep(&next, "\n"), &place);
    if (status != SF_OK)
      return status;
  }
  if (list->count == 0)
    return sfshm_error(SF_ERR_ARG, "%s%sthe list of peers is empty", file ? file : "", file ? ": " : "");
  return SF_OK;
}

static int compare(const void *left, const void *right)
{
  const sfd_peer_address_t *a = *(const sfd_peer_address_t *const *)left;
  const sfd_peer_address_t *b = *(const sfd_peer_address_t *const *)right;
  int hosts = strcasecmp(a->host, b->host);
  return hosts != 0 ? hosts : a->port - b->port;
}

static sf_status_t check_distinct(const sfd_peer_list_t *list)
{
  const sfd_peer_address_t **sorted = calloc((size_t)list->count, sizeof *sorted);
  if (sorted == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d peers", list->count);
  for (int32_t i = 0; i < list->count; i++)
    sorted[i] = &list->peers[i];
  qsort(sorted, (size_t)list->count, sizeof *sorted, compare);
  sf_status_t status = SF_OK;
  for (int32_t i = 1; i < list->count && status == SF_OK; i++)
    if (compare(&sorted[i - 1], &sorted[i]) == 0) {
      char text[SFD_PEER_TEXT_SIZE];
      sfd_peer_address_print(sorted[i], text, sizeof text);
      status = sfshm_error(SF_ERR_ARG, "the list of peers names %s twice, as nodes %td and %td", text,
                           sorted[i - 1] - list->peers, sorted[i] - list->peers);
    }
  free(sorted);
  return status;
}

static bool is_loopback(const sfd_peer_address_t *peer)
{
  return strcasecmp(peer->host, "localhost") == 0 || strncasecmp(peer->host, "localhost.", 10) == 0 ||
         strncmp(peer->host, "127.", 4) == 0 || strcmp(peer->host, "::1") == 0;
}

sf_status_t sfd_peer_list_check(const sfd_peer_list_t *list)
{
  int32_t loopback = -1, other = -1;
  for (int32_t i = 0; i < list->count; i++)
    *(is_loopback(&list->peers[i]) ? &loopback : &other) = i;
  if (loopback < 0 || other < 0)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG,
                     "the list of peers has %s, which is another host for each host, as node %d beside %s as node %d: "
                     "expected names or addresses that lead to the same host from everywhere",
                     list->peers[loopback].host, loopback, list->peers[other].host, other);
}

/* Free *text_p. */
static sf_status_t read_file(const char *name, char **text_p)
{
  FILE *file = fopen(name, "re");
  if (file == NULL)
    return sfshm_error_errno(SF_ERR_SYS, "cannot open the list of peers %s", name);
  char *text = NULL;
  size_t capacity = 0;
  errno = 0;
  ssize_t length = getdelim(&text, &capacity, '\0', file);
  sf_status_t status = SF_OK;
  if (length < 0 && ferror(file))
    status = sfshm_error_errno(SF_ERR_SYS, "cannot read the list of peers %s", name);
  else if (length < 0)
    status = sfshm_error(SF_ERR_ARG, "%s: the list of peers is empty", name);
  else if (!feof(file))
    status = sfshm_error(SF_ERR_ARG, "%s is no text: it has a null byte", name);
  else if ((size_t)length > MAX_FILE_BYTES)
    status = sfshm_error(SF_ERR_LIMIT, "%s is longer than %zu bytes", name, MAX_FILE_BYTES);
  fclose(file);
  if (status == SF_OK)
    *text_p = text;
  else
    free(text);
  return status;
}

sf_status_t sfd_peer_list_create(const char *text, sfd_peer_list_t *list_p)
{
  const char *file = strchr(text, '/') != NULL ? text : NULL;
  char *copy = NULL;
  if (file != NULL) {
    sf_status_t status = read_file(file, &copy);
    if (status != SF_OK)
      return status;
  } else if ((copy = strdup(text)) == NULL) {
    return sfshm_error(SF_ERR_NOMEM, "no memory for the list of peers");
  }
  sfd_peer_list_t list = {.count = 0};
  sf_status_t status = parse(&list, copy, file);
  if (status == SF_OK)
    status = check_distinct(&list);
  free(copy);
  if (status == SF_OK)
    *list_p = list;
  else
    sfd_peer_list_free(&list);
  return status;
}

void sfd_peer_list_free(sfd_peer_list_t *list)
{
  for (int32_t i = 0; i < list->count; i++)
    free(list->peers[i].host);
  free(list->peers);
  *list = (sfd_peer_list_t){.count = 0};
}
