/* Connecting to a peer: resolves its name, tries its addresses, and repeats while the peer does not answer. The loop's
 * thread. */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/net/fabric/tcp/internal.h"

#define FIRST_PAUSE_MS 10
#define LONGEST_PAUSE_MS 500

struct sfd_tcp_attempt {
  sfd_tcp_t *tcp;
  int32_t node;
  bool ended;
  int nheld; /* by the loop: timer and resolver */
  uv_timer_t timer;
  uv_getaddrinfo_t resolve;
  struct addrinfo *addresses;
  int naddresses;
  const struct addrinfo *next; /* next address; NULL: none left, or none known */
  sfd_tcp_conn_t *conn;
  uint64_t begun_ms;
  uint64_t pause_ms;
  bool hopeful; /* an address may work later */

  /* of the last failure */
  bool given_up;
  sf_status_t status;
  char reason[200];
};

static sfd_tcp_peer_t *peer_of(const sfd_tcp_attempt_t *attempt)
{
  return &attempt->tcp->peers[attempt->node];
}

/* ---- The end ---- */

static void release(sfd_tcp_attempt_t *attempt)
{
  sfd_tcp_t *tcp = attempt->tcp;
  if (--attempt->nheld > 0)
    return;
  if (attempt->addresses != NULL)
    freeaddrinfo(attempt->addresses);
  free(attempt);
  sfd_tcp_released(tcp);
}

static void on_timer_closed(uv_handle_t *handle)
{
  release(handle->data);
}

void sfd_tcp_attempt_end(sfd_tcp_attempt_t *attempt)
{
  if (attempt == NULL)
    return;
  if (attempt->conn != NULL)
    sfd_tcp_conn_drop(attempt->conn);
  peer_of(attempt)->attempt = NULL;
  attempt->ended = true;
  if (attempt->nheld > 1)
    uv_cancel((uv_req_t *)&attempt->resolve); /* without effect if it runs: it returns anyway */
  uv_close((uv_handle_t *)&attempt->timer, on_timer_closed);
}

sfd_tcp_conn_t *sfd_tcp_attempt_conn(const sfd_tcp_attempt_t *attempt)
{
  return attempt != NULL ? attempt->conn : NULL;
}

void sfd_tcp_attempt_forget(sfd_tcp_attempt_t *attempt)
{
  attempt->conn = NULL;
}

static void report(sfd_tcp_attempt_t *attempt)
{
  const sfd_fabric_t *fabric = &attempt->tcp->fabric;
  sf_status_t status = attempt->status;
  int32_t node = attempt->node;
  char detail[SFD_TCP_DETAIL_SIZE], name[SFD_TCP_NODE_TEXT_SIZE];
  sfd_tcp_describe(attempt->tcp, node, name);
  snprintf(detail, sizeof detail, "%s %s", name, attempt->reason);
  sfd_tcp_attempt_end(attempt);
  fabric->events->down(fabric->owner, node, status, detail);
}

/* ---- Failing, and trying again ---- */

static void go_on(sfd_tcp_attempt_t *attempt);

static void on_timer(uv_timer_t *timer)
{
  sfd_tcp_attempt_t *attempt = timer->data;
  if (attempt->given_up)
    report(attempt);
  else
    go_on(attempt);
}

/* Continues from the loop, as connect must not report, and failures must not nest. */
static void resume_after(sfd_tcp_attempt_t *attempt, uint64_t pause_ms)
{
  uv_timer_start(&attempt->timer, on_timer, pause_ms, 0);
}

/* Whether there is time for another round. */
static bool pause_is_allowed(sfd_tcp_attempt_t *attempt)
{
  uv_update_time(attempt->tcp->loop);
  uint64_t end = uv_now(attempt->tcp->loop) + attempt->pause_ms;
  return attempt->hopeful && end < attempt->begun_ms + attempt->tcp->connect_timeout_ms;
}

bool sfd_tcp_attempt_is_young(const sfd_tcp_attempt_t *attempt)
{
  return uv_now(attempt->tcp->loop) < attempt->begun_ms + SFD_TCP_SYN_TIMEOUT_MS;
}

static void decide(sfd_tcp_attempt_t *attempt, sfd_tcp_hope_t hope)
{
  attempt->hopeful |= hope == SFD_TCP_LATER;
  if (hope != SFD_TCP_HOPELESS && attempt->next != NULL) {
    resume_after(attempt, 0);
  } else if (hope != SFD_TCP_HOPELESS && pause_is_allowed(attempt)) {
    resume_after(attempt, attempt->pause_ms);
    attempt->pause_ms = attempt->pause_ms < LONGEST_PAUSE_MS / 2 ? 2 * attempt->pause_ms : LONGEST_PAUSE_MS;
    attempt->hopeful = false;
    attempt->next = attempt->addresses;
  } else {
    attempt->given_up = true;
    resume_after(attempt, 0);
  }
}

void sfd_tcp_attempt_failed(sfd_tcp_attempt_t *attempt, sfd_tcp_hope_t hope, sf_status_t status, const char *reason)
{
  if (attempt->conn != NULL)
    sfd_tcp_conn_drop(attempt->conn);
  if (sfd_tcp_peer_take_parked(peer_of(attempt)))
    return;
  attempt->status = status;
  snprintf(attempt->reason, sizeof attempt->reason, "%s", reason);
  decide(attempt, hope);
}

static void failed_errno(sfd_tcp_attempt_t *attempt, int error)
{
  char reason[128];
  bool later = error == ECONNREFUSED || sfd_tcp_is_unreachable(error);
  snprintf(reason, sizeof reason, "can't be connected to: %s", strerror(error));
  sfd_tcp_attempt_failed(attempt, later ? SFD_TCP_LATER : SFD_TCP_ELSEWHERE,
                         error == ECONNREFUSED ? SF_ERR_NO_DAEMON : SF_ERR_SYS, reason);
}

/* ---- Addresses ---- */

static void set_addresses(sfd_tcp_attempt_t *attempt, struct addrinfo *addresses)
{
  attempt->addresses = addresses;
  attempt->next = addresses;
  for (const struct addrinfo *i = addresses; i != NULL; i = i->ai_next)
    attempt->naddresses++;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
  sfd_tcp_attempt_t *attempt = request->data;
  if (attempt->ended) {
    uv_freeaddrinfo(addresses);
    release(attempt);
    return;
  }
  attempt->nheld--;
  if (status == 0) {
    set_addresses(attempt, addresses);
    go_on(attempt);
    return;
  }
  char reason[128];
  snprintf(reason, sizeof reason, "has a name that can't be resolved: %s", uv_strerror(status));
  sfd_tcp_attempt_failed(attempt, SFD_TCP_LATER, SF_ERR_NO_DAEMON, reason);
}

static void resolve(sfd_tcp_attempt_t *attempt)
{
  const sfd_peer_address_t *address = &attempt->tcp->list.peers[attempt->node];
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
  char service[8];
  sfd_peer_address_service(address, service);
  attempt->resolve.data = attempt;
  int rc = uv_getaddrinfo(attempt->tcp->loop, &attempt->resolve, on_resolved, address->host, service, &hints);
  if (rc == 0)
    attempt->nheld++;
  else
    failed_errno(attempt, -rc);
}

/* ---- Connecting ---- */

/* The addresses of a host share the time for its first answer. */
static void connect_to(sfd_tcp_attempt_t *attempt, const struct addrinfo *address)
{
  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0) {
    failed_errno(attempt, errno);
    return;
  }
  int error = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
  attempt->conn = sfd_tcp_conn_create(attempt->tcp, fd, attempt->node, SFD_TCP_CONNECTING);
  if (attempt->conn == NULL)
    failed_errno(attempt, ENOMEM);
  else if (error != 0 && error != EINPROGRESS)
    failed_errno(attempt, error);
  else
    sfd_tcp_conn_limit(attempt->conn, SFD_TCP_SYN_MS / (uint64_t)attempt->naddresses);
}

static void go_on(sfd_tcp_attempt_t *attempt)
{
  const struct addrinfo *address = attempt->next;
  if (attempt->addresses == NULL) {
    resolve(attempt);
    return;
  }
  assert(address != NULL);
  attempt->next = address->ai_next;
  connect_to(attempt, address);
}

void sfd_tcp_attempt_begin(sfd_tcp_t *tcp, int32_t node)
{
  sfd_tcp_attempt_t *attempt = calloc(1, sizeof *attempt);
  if (attempt == NULL) {
    tcp->peers[node].starved = true;
    sfd_tcp_attend(tcp, node);
    return;
  }
  attempt->tcp = tcp;
  attempt->node = node;
  attempt->pause_ms = FIRST_PAUSE_MS;
  attempt->nheld = 1;
  uv_timer_init(tcp->loop, &attempt->timer);
  attempt->timer.data = attempt;
  uv_update_time(tcp->loop);
  attempt->begun_ms = uv_now(tcp->loop);
  tcp->nopen++;
  tcp->peers[node].attempt = attempt;
  struct addrinfo *numeric = sfd_peer_address_numeric(&tcp->list.peers[node]);
  if (numeric != NULL)
    set_addresses(attempt, numeric);
  go_on(attempt);
}
