/* The event loop's handles: accepting, signals, attention. The daemon's thread. */
#include "daemon/server.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/admin/metrics_http.h"
#include "daemon/admin/stall.h"
#include "daemon/admin/trace.h"
#include "daemon/base/deferred_close.h"
#include "daemon/base/fair_share.h"
#include "daemon/base/log.h"
#include "daemon/base/sigbus_guard.h"
#include "daemon/base/worker_pool.h"
#include "daemon/clients/session.h"
#include "daemon/data/submit_rings.h"
#include "daemon/membership/coordinator.h"
#include "daemon/memory/device_driver.h"
#include "daemon/net/network.h"
#include "shm/base/error.h"

#define ACCEPTS_AT_ONCE 16
#define TOOLS_RESERVE 32 /* connections */
#define ACCEPT_RETRY_MS 1000

#define SESSION_FDS 8        /* that a session has open at most */
#define LARGEST_READ_FDS 256 /* that one read may bring */
#define ATTENTION_ROUNDS 16
#define MOVED_NS 50000 /* after data have gone to or come from another node, more are looked for */

/* A core is not given back so late by who only waits; the loop then sleeps at once for so long, for twice as long each
 * further time in a row. */
#define CROWDED_NS 1000000
#define CROWDED_FOR_LEAST_NS 5000000
#define CROWDED_FOR_MOST_NS 1000000000

uint64_t sfd_server_new_id(sfd_server_t *server)
{
  return ++server->last_id * (uint64_t)sfd_network_nnodes(server) + (uint64_t)sfd_network_node(server);
}

uint64_t sfd_server_new_serial(sfd_server_t *server)
{
  return ++server->last_serial;
}

/* ---- Attention ---- */

void sfd_server_attend(sfd_server_t *server, sfd_session_t *session)
{
  if (session->attention)
    return;
  session->attention = true;
  TAILQ_INSERT_TAIL(&server->attention, session, attention_entry);
}

static void attend_sessions(sfd_server_t *server)
{
  sfd_session_t *session;
  while ((session = TAILQ_FIRST(&server->attention)) != NULL) {
    TAILQ_REMOVE(&server->attention, session, attention_entry);
    session->attention = false;
    sfd_session_attend(session);
  }
}

/* That it runs keeps the loop from sleeping; ranks that share the core with it come first. One that waits gives the
 * core back at once; one that computes, or polls for something else, keeps it until its slice of time is over:
 * milliseconds. Who sleeps is woken in front of such a rank, so on such a core the loop does not look but sleeps. If
 * nothing came meanwhile, that was no loss: the rank has gone on to something else. */
static void on_busy(uv_idle_t *busy)
{
  sfd_server_t *server = busy->data;
  if (!TAILQ_EMPTY(&server->attention)) /* answers, which are sent next: those who share the core may wait for them */
    return;
  uint64_t before = uv_hrtime();
  sched_yield();
  server->yielded_ns = uv_hrtime();
  server->yielded_long = server->yielded_ns - before >= CROWDED_NS && !sfd_board_has_spare_core(server->board);
}

/* Something has come. If it had to wait because others held the core, it is better to sleep. */
static void learn_from_yield(sfd_server_t *server, uint64_t now)
{
  if (now - server->yielded_ns > MOVED_NS) /* it has slept since, or has learnt from it */
    return;
  server->yielded_ns = 0;
  if (!server->yielded_long) {
    server->crowded_for_ns = 0;
    return;
  }
  server->crowded_for_ns = server->crowded_for_ns == 0 ? CROWDED_FOR_LEAST_NS : server->crowded_for_ns * 2;
  if (server->crowded_for_ns > CROWDED_FOR_MOST_NS)
    server->crowded_for_ns = CROWDED_FOR_MOST_NS;
  server->crowded_until_ns = now + server->crowded_for_ns;
}

static void tell_of_pages(void)
{
  uint32_t n = sfd_guard_take();
  if (n > 0)
    sfd_log(
        SFD_LOG_MEMORY, SFD_WARN,
        "%u pages that clients share with the daemon were not there, and no memory for them: what is in them is lost",
        n);
}

/* What one of them does may be work for another. A client or node that never stops does not keep the loop from others.
 */
static bool attend_all(sfd_server_t *server)
{
  bool more = true;
  for (int round = 0; round < ATTENTION_ROUNDS && more; round++) {
    more = sfd_submissions_take(server);
    if (more)
      sfd_server_moved(server);
    tell_of_pages();
    attend_sessions(server);
    more |= sfd_network_attend(server->network);
    more |= !TAILQ_EMPTY(&server->attention);
  }
  return more;
}

void sfd_server_moved(sfd_server_t *server)
{
  server->last_moved_ns = uv_hrtime();
  learn_from_yield(server, server->last_moved_ns);
}

void sfd_server_expect(sfd_server_t *server, uint64_t for_ns)
{
  server->expected_until_ns = for_ns != 0 ? uv_hrtime() + for_ns : 0;
}

/* While data move between nodes, or a graph is being set up, the next message will come soon: for a moment the loop
 * looks for it without sleeping, so that nobody has to be woken by the kernel. Ranks that make a graph yield or sleep
 * while they wait, so that it looks for these where it shares their core, too. */
static bool expects_more(const sfd_server_t *server)
{
  uint64_t now = uv_hrtime();
  if (now < server->expected_until_ns)
    return true;
  return server->last_moved_ns != 0 && now - server->last_moved_ns < MOVED_NS && now >= server->crowded_until_ns;
}

static void on_attend(uv_prepare_t *prepare)
{
  sfd_server_t *server = prepare->data;
  bool awake = attend_all(server) || expects_more(server);
  if (server->ending) {
    sfd_server_stop(server);
    return;
  }
  awake |= sfd_network_flush(server->network, !awake);
  if (!awake) {
    server->last_moved_ns = server->expected_until_ns = 0;
    awake = !sfd_submissions_arm(server);
  }
  if (awake)
    uv_idle_start(&server->busy, on_busy);
  else
    uv_idle_stop(&server->busy);
}

/* ---- Descriptors ---- */

static int64_t max_fds(void)
{
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT32_MAX ? (int64_t)limit.rlim_cur : INT32_MAX;
}

/* The kernel gives the lowest descriptor that is free: those below are in use. */
bool sfd_server_is_out_of_fds(const sfd_server_t *server, const sfd_session_t *session)
{
  int64_t reserve = server->max_fds / 8 < 2 * TOOLS_RESERVE ? server->max_fds / 8 : 2 * TOOLS_RESERVE;
  return sfproto_conn_fd(session->conn) >= server->max_fds - reserve;
}

bool sfd_server_lacks_fds(const sfd_server_t *server)
{
  return server->nheld_fds + SESSION_FDS * server->nsessions + LARGEST_READ_FDS > server->max_fds / 2;
}

/* ---- Accepting ---- */

static void on_listen(uv_poll_t *poll, int status, int events);

static void resume_accepting(sfd_server_t *server)
{
  if (server->stopping || server->accepting)
    return;
  server->accepting = true;
  uv_timer_stop(&server->accept_retry);
  uv_poll_start(&server->listen_poll, UV_READABLE, on_listen);
}

static void on_accept_retry(uv_timer_t *timer)
{
  resume_accepting(timer->data);
}

static void pause_accepting(sfd_server_t *server)
{
  server->accepting = false;
  uv_poll_stop(&server->listen_poll);
}

/* Out of something: until a connection closes, or, if it is others who use it up, for a second. */
static void out_of_resources(sfd_server_t *server)
{
  sfd_log(SFD_LOG_SESSION, SFD_WARN, "cannot accept connections for now: %s", strerror(errno));
  pause_accepting(server);
  uv_timer_start(&server->accept_retry, on_accept_retry, ACCEPT_RETRY_MS, 0);
}

static int64_t count_sessions(const sfd_server_t *server, uid_t uid)
{
  const sfd_session_t *session;
  int64_t count = 0;
  TAILQ_FOREACH(session, &server->sessions, entry)
  count += session->uid == uid;
  return count;
}

/* Above max-clients there are some for tools of root and of the daemon's user. The session counts already. */
static void check_room(sfd_server_t *server, sfd_session_t *session)
{
  int64_t most = server->options->max_clients, others = server->nsessions - 1;
  bool is_free = sfd_share_is_free(server, session->uid);
  if (!is_free && sfd_server_is_out_of_fds(server, session)) {
    sfd_session_refuse(session, 0, SF_ERR_LIMIT, SFD_TOO_MANY_FILES, (long long)server->max_fds);
    return;
  }
  if (server->nsessions > most + (is_free ? TOOLS_RESERVE : 0)) {
    sfd_session_refuse(session, 0, SF_ERR_LIMIT, SFD_TOO_MANY_CLIENTS, (long long)most);
    return;
  }
  if (is_free || sfd_share_allows(others, others, most))
    return;
  int64_t has = count_sessions(server, session->uid) - 1;
  if (!sfd_share_allows(has, others, most))
    sfd_session_refuse(session, 0, SF_ERR_LIMIT,
                       "uid %u has %lld of %lld connections (option max-clients), the rest is for other users",
                       session->uid, (long long)has, (long long)most);
}

static void begin_session(sfd_server_t *server, int fd)
{
  sfd_session_t *session;
  if (sfd_session_create(server, fd, &session) != SF_OK) {
    sfd_log(SFD_LOG_SESSION, SFD_WARN, "connection closed: %s", sfshm_error_detail());
    return;
  }
  sfd_log(SFD_LOG_SESSION, SFD_DEBUG, "connection of pid %d, uid %u", (int)session->pid, session->uid);
  check_room(server, session);
}

/* Whether there may be more to accept. */
static bool accept_one(sfd_server_t *server)
{
  int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    if (server->stopping)
      sfd_closing_connection(fd); /* who comes now is not to wait for a daemon that ends */
    else
      begin_session(server, fd);
    return true;
  }
  if (errno == ECONNABORTED || errno == EINTR)
    return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK)
    out_of_resources(server);
  return false;
}

static void on_listen(uv_poll_t *poll, int status, int events)
{
  sfd_server_t *server = poll->data;
  (void)events;
  if (status < 0) { /* libuv has stopped the handle */
    server->accepting = false;
    uv_timer_start(&server->accept_retry, on_accept_retry, ACCEPT_RETRY_MS, 0);
    return;
  }
  for (int i = 0; i < ACCEPTS_AT_ONCE && accept_one(server); i++)
    ;
}

void sfd_server_session_freed(sfd_server_t *server)
{
  server->nsessions--;
  resume_accepting(server);
}

/* ---- Beginning and end ---- */

static void on_signal(uv_signal_t *signal, int number)
{
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "ending on signal %d", number);
  sfd_server_stop(signal->data);
}

/* The loop makes its signal pipe with the first of them; after that the second cannot fail. */
static sf_status_t init_handles(sfd_server_t *server)
{
  int error = uv_signal_init(server->loop, &server->terminate);
  if (error != 0)
    return sfshm_error(SF_ERR_SYS, "cannot receive signals: %s", uv_strerror(error));
  uv_signal_init(server->loop, &server->interrupt);
  error = uv_poll_init(server->loop, &server->listen_poll, server->listen_fd);
  if (error != 0) {
    uv_close((uv_handle_t *)&server->terminate, NULL);
    uv_close((uv_handle_t *)&server->interrupt, NULL);
    uv_run(server->loop, UV_RUN_NOWAIT);
    return sfshm_error(SF_ERR_SYS, "cannot wait for connections: %s", uv_strerror(error));
  }
  uv_prepare_init(server->loop, &server->attend);
  uv_idle_init(server->loop, &server->busy);
  uv_timer_init(server->loop, &server->accept_retry);
  uv_timer_init(server->loop, &server->stalls);
  uv_timer_init(server->loop, &server->calls);
  return SF_OK;
}

static void start_handles(sfd_server_t *server)
{
  server->listen_poll.data = server;
  server->attend.data = server;
  server->busy.data = server;
  server->accept_retry.data = server;
  server->calls.data = server;
  server->terminate.data = server;
  server->interrupt.data = server;
  uv_prepare_start(&server->attend, on_attend);
  uv_signal_start(&server->terminate, on_signal, SIGTERM);
  uv_signal_start(&server->interrupt, on_signal, SIGINT);
  resume_accepting(server);
  sfd_stalls_watch(server);
}

/* Threads that copy for clients, as many as the options or the cores allow. Clients can do without. */
static void make_workers(sfd_server_t *server)
{
  sfd_board_set_workers(server->board, (int32_t)server->options->offload_workers);
  int32_t n = sfd_board_max_workers(server->board);
  if (n == 0 || sfd_workers_create(server->loop, n, &server->workers) == SF_OK)
    return;
  sfd_log(SFD_LOG_MAIN, SFD_WARN, "nothing will be offloaded: %s", sfshm_error_detail());
  sfd_board_set_workers(server->board, 0);
}

sf_status_t sfd_server_create(uv_loop_t *loop, const sfd_options_t *options, int listen_fd, const sfshm_costs_t *costs,
                              sfd_server_t **server_p)
{
  sfd_server_t *server = calloc(1, sizeof *server);
  if (server == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the server");
  *server = (sfd_server_t){
      .loop = loop, .options = options, .uid = geteuid(), .listen_fd = listen_fd, .started_ms = uv_now(loop)};
  TAILQ_INIT(&server->sessions);
  TAILQ_INIT(&server->attention);
  TAILQ_INIT(&server->jobs);
  TAILQ_INIT(&server->assemblies);
  TAILQ_INIT(&server->submissions);
  LIST_INIT(&server->remotes);
  server->max_fds = max_fds();
  server->max_held_fds = server->max_fds / 4 * 3; /* the rest is for connections, and for what is under way */
  sf_status_t status = sfd_board_create(costs, &server->board);
  if (status != SF_OK)
    goto err_free;
  status = init_handles(server);
  if (status != SF_OK)
    goto err_board;
  sfd_closing_begin();
  make_workers(server);
  start_handles(server);
  *server_p = server;
  return SF_OK;
err_board:
  sfd_board_destroy(server->board);
err_free:
  free(server);
  return status;
}

sf_status_t sfd_server_connect(sfd_server_t *server)
{
  sf_status_t status = sfd_network_create(server, &server->network);
  return status == SF_OK ? sfd_metrics_server_create(server, &server->metrics) : status;
}

static void close_handles(sfd_server_t *server)
{
  sfd_workers_close(server->workers);
  server->workers = NULL;
  uv_close((uv_handle_t *)&server->listen_poll, NULL);
  uv_close((uv_handle_t *)&server->attend, NULL);
  uv_close((uv_handle_t *)&server->busy, NULL);
  uv_close((uv_handle_t *)&server->accept_retry, NULL);
  uv_close((uv_handle_t *)&server->stalls, NULL);
  uv_close((uv_handle_t *)&server->calls, NULL);
  uv_close((uv_handle_t *)&server->terminate, NULL);
  uv_close((uv_handle_t *)&server->interrupt, NULL);
}

void sfd_server_stop(sfd_server_t *server)
{
  if (server->stopping)
    return;
  server->stopping = true;
  for (sfd_session_t *session = TAILQ_FIRST(&server->sessions), *next; session != NULL; session = next) {
    next = TAILQ_NEXT(session, entry);
    sfd_session_close(session);
  }
  sfd_devices_stop(server);
  sfd_assemblies_free(server);
  sfd_metrics_server_close(server->metrics);
  server->metrics = NULL;
  if (server->network != NULL)
    sfd_network_close(server->network, close_handles);
  else
    close_handles(server);
}

void sfd_server_end(sfd_server_t *server)
{
  server->ending = true;
}

void sfd_server_destroy(sfd_server_t *server)
{
  if (server == NULL)
    return;
  sfd_network_destroy(server->network);
  sfd_network_destroy_abandoned(server);
  free(server->unanswered);
  sfd_trace_forget(server);
  sfd_board_destroy(server->board);
  sfd_closing_end();
  free(server);
}
