/* Event loop: handles, turns, begin and end of the daemon. The daemon's thread. */
#include "daemon/server.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/admin.h"
#include "daemon/base.h"
#include "daemon/client_requests.h"
#include "daemon/clients.h"
#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/life.h"
#include "daemon/membership.h"
#include "daemon/memory.h"
#include "daemon/net.h"
#include "daemon/onesided.h"
#include "daemon/peer_messages.h"
#include "daemon/setup.h"
#include "shm/base/error.h"

#define ATTENTION_ROUNDS 16

/* ---- Attention ---- */

/* An active idle handle keeps the loop from sleeping. */
static void on_busy(uv_idle_t *busy)
{
  sfd_server_t *server = busy->data;
  if (sfd_sessions_need_attention(server)) /* answers are sent next, and others may wait for them */
    return;
  sfd_idle_yield(&server->idle);
  if (sfd_idle_may_move(&server->idle))
    sfd_submit_rings_keep_apart(server);
}

static void log_lost_pages(void)
{
  uint32_t n = sfd_sigbus_guard_take();
  if (n > 0)
    sfd_log(
        SFD_LOG_MEMORY, SFD_WARN,
        "%u pages that clients share with the daemon were not there, and no memory for them: what is in them is lost",
        n);
}

/* Work may cause more work. The number of rounds is bounded, so that no client or node keeps the loop from others. */
static bool attend_all(sfd_server_t *server)
{
  bool more = true;
  for (int round = 0; round < ATTENTION_ROUNDS && more; round++) {
    more = sfd_submit_rings_take(server);
    if (more)
      sfd_idle_moved(&server->idle);
    log_lost_pages();
    sfd_sessions_attend(server);
    more |= sfd_network_attend(server->network);
    more |= sfd_sessions_need_attention(server);
  }
  return more;
}

static void on_attend(uv_prepare_t *prepare)
{
  sfd_server_t *server = prepare->data;
  bool awake = sfd_onesided_attend(server);
  awake |= attend_all(server);
  awake = awake || sfd_idle_expects_more(&server->idle);
  if (server->ending) {
    sfd_server_stop(server);
    return;
  }
  awake |= sfd_network_flush(server->network, !awake);
  if (!awake) {
    sfd_idle_sleep(&server->idle);
    awake = !sfd_submit_rings_arm(server);
  }
  if (awake)
    uv_idle_start(&server->busy, on_busy);
  else
    uv_idle_stop(&server->busy);
}

/* ---- Beginning and end ---- */

static void on_signal(uv_signal_t *signal, int number)
{
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "ending on signal %d", number);
  sfd_server_stop(signal->data);
}

/* The first signal handle creates the loop's signal pipe; the second can't fail then. */
static sf_status_t init_handles(sfd_server_t *server, int listen_fd)
{
  int error = uv_signal_init(server->loop, &server->terminate);
  if (error != 0)
    return sfshm_error(SF_ERR_SYS, "cannot receive signals: %s", uv_strerror(error));
  uv_signal_init(server->loop, &server->interrupt);
  sf_status_t status = sfd_clients_create(server, listen_fd, sfd_client_requests_handle);
  if (status != SF_OK) {
    uv_close((uv_handle_t *)&server->terminate, NULL);
    uv_close((uv_handle_t *)&server->interrupt, NULL);
    uv_run(server->loop, UV_RUN_NOWAIT);
    return status;
  }
  uv_prepare_init(server->loop, &server->attend);
  uv_idle_init(server->loop, &server->busy);
  uv_timer_init(server->loop, &server->admin->stalls);
  uv_timer_init(server->loop, &server->calls->timer);
  return SF_OK;
}

static void start_handles(sfd_server_t *server)
{
  server->attend.data = server;
  server->busy.data = server;
  server->calls->timer.data = server;
  server->terminate.data = server;
  server->interrupt.data = server;
  uv_prepare_start(&server->attend, on_attend);
  uv_signal_start(&server->terminate, on_signal, SIGTERM);
  uv_signal_start(&server->interrupt, on_signal, SIGINT);
  sfd_clients_start(server);
  sfd_stalls_watch(server);
}

static int64_t max_fds(void)
{
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT32_MAX ? (int64_t)limit.rlim_cur : INT32_MAX;
}

/* Descriptors of clients' memory: a quarter of all is left to connections. Most of the memory can be mapped, and the
 * kernel bounds the mappings of a process: half of them are left to the daemon. */
static int64_t max_held_fds(int64_t nfds)
{
  int64_t nmaps = 65530; /* the kernel's default */
  FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
  if (file != NULL && fscanf(file, "%" SCNd64, &nmaps) != 1)
    nmaps = 65530;
  if (file != NULL)
    fclose(file);
  return nfds / 4 * 3 < nmaps / 2 ? nfds / 4 * 3 : nmaps / 2;
}

/* Workers copy for clients, as many as options and cores allow. Without them clients copy. */
static void make_workers(sfd_server_t *server)
{
  sfd_node_board_set_workers(server->board, (int32_t)server->options->offload_workers);
  int32_t n = sfd_node_board_max_workers(server->board);
  if (n == 0 || sfd_workers_create(server->loop, n, &server->workers) == SF_OK)
    return;
  sfd_log(SFD_LOG_MAIN, SFD_WARN, "nothing will be offloaded: %s", sfshm_error_detail());
  sfd_node_board_set_workers(server->board, 0);
}

static void free_rooms(sfd_server_t *server)
{
  free(server->jobs);
  free(server->data);
  free(server->calls);
  free(server->membership);
  free(server->admin);
}

/* State of each room, empty. On failure the caller frees it. */
static sf_status_t create_rooms(sfd_server_t *server)
{
  server->jobs = calloc(1, sizeof *server->jobs);
  server->data = calloc(1, sizeof *server->data);
  server->calls = calloc(1, sizeof *server->calls);
  server->membership = calloc(1, sizeof *server->membership);
  server->admin = calloc(1, sizeof *server->admin);
  if (server->jobs == NULL || server->data == NULL || server->calls == NULL || server->membership == NULL ||
      server->admin == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the server");
  TAILQ_INIT(&server->jobs->list);
  TAILQ_INIT(&server->data->submit_rings);
  TAILQ_INIT(&server->membership->coordinators);
  return SF_OK;
}

sf_status_t sfd_server_create(uv_loop_t *loop, const sfd_options_t *options, int listen_fd, const sfshm_costs_t *costs,
                              sfd_server_t **server_p)
{
  sfd_server_t *server = calloc(1, sizeof *server);
  if (server == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the server");
  *server =
      (sfd_server_t){.loop = loop, .options = options, .life = &sfd_life, .uid = geteuid(), .started_ms = uv_now(loop)};
  sf_status_t status = create_rooms(server);
  if (status != SF_OK)
    goto err_rooms;
  server->max_fds = max_fds();
  server->max_held_fds = max_held_fds(server->max_fds);
  status = sfd_node_board_create(costs, &server->board);
  if (status != SF_OK)
    goto err_rooms;
  status = init_handles(server, listen_fd);
  if (status != SF_OK)
    goto err_board;
  sfd_deferred_close_begin();
  make_workers(server);
  start_handles(server);
  *server_p = server;
  return SF_OK;
err_board:
  sfd_node_board_destroy(server->board);
err_rooms:
  free_rooms(server);
  free(server);
  return status;
}

sf_status_t sfd_server_connect(sfd_server_t *server)
{
  sf_status_t status = sfd_network_create(server, &sfd_peer_ops, &server->network);
  return status == SF_OK ? sfd_metrics_http_create(server, &server->admin->metrics) : status;
}

static void close_handles(sfd_server_t *server)
{
  sfd_workers_close(server->workers);
  server->workers = NULL;
  sfd_clients_close(server);
  uv_close((uv_handle_t *)&server->attend, NULL);
  uv_close((uv_handle_t *)&server->busy, NULL);
  uv_close((uv_handle_t *)&server->admin->stalls, NULL);
  uv_close((uv_handle_t *)&server->calls->timer, NULL);
  uv_close((uv_handle_t *)&server->terminate, NULL);
  uv_close((uv_handle_t *)&server->interrupt, NULL);
}

void sfd_server_stop(sfd_server_t *server)
{
  if (server->stopping)
    return;
  server->stopping = true;
  SFD_FOREACH_SAFE (sfd_session_t, session, &server->clients->sessions, entry)
    sfd_session_close(session);
  sfd_coordinators_free(server);
  sfd_metrics_http_close(server->admin->metrics);
  server->admin->metrics = NULL;
  if (server->network != NULL)
    sfd_network_close(server->network, close_handles);
  else
    close_handles(server);
}

void sfd_server_destroy(sfd_server_t *server)
{
  if (server == NULL)
    return;
  sfd_network_destroy(server->network);
  sfd_network_destroy_abandoned(server);
  free(server->admin->unanswered);
  sfd_trace_forget(server);
  sfd_node_board_destroy(server->board);
  sfd_clients_destroy(server);
  sfd_deferred_close_end();
  free_rooms(server);
  free(server);
}
