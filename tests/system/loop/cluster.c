/* Daemons over the loop fabric: see loop_cluster.h. */
#include "tests/system/loop/cluster.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "daemon/base/copy_costs.h"
#include "daemon/base/log.h"
#include "daemon/base/options.h"
#include "daemon/jobs/job.h"
#include "daemon/net/network.h"
#include "daemon/peer_messages.h"
#include "daemon/server.h"
#include "tests/common/fabric/loop.h"
#include "tests/system/cluster.h"
#include "tests/system/loop/chaos.h"
#include "tests/system/loop/forge.h"
#include "tests/system/model/graph.h"

#define CHAOS_TICK_MS 1
#define ORDER_LOOK_MS 2

/* The process of the daemons. */
typedef struct sftest_daemons {
  sftest_loop_cluster_t *cluster;
  uv_loop_t loop;
  sftest_fabric_hub_t *hub;
  sfd_server_t *servers[SFTEST_LOOP_NODES_MAX];
  uv_prepare_t step;
  uv_idle_t busy;
  uv_timer_t look;
  uv_timer_t tick; /* of chaos */
  sftest_chaos_t chaos;
  bool chaotic;
  uv_signal_t end;
} sftest_daemons_t;

/* ---- The daemons ------------------------------------------------------------------------------------------------- */

static void must(bool good, const char *what)
{
  if (good)
    return;
  fprintf(stderr, "loop cluster: %s failed\n", what);
  _exit(1);
}

static int listen_at(const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  must(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 64) == 0, "listening");
  return fd;
}

static void on_busy(uv_idle_t *busy)
{
  (void)busy;
}

static void on_step(uv_prepare_t *step)
{
  sftest_daemons_t *daemons = step->data;
  if (sftest_fabric_step(daemons->hub) && daemons->chaotic)
    sftest_chaos_step(&daemons->chaos);
  /* The servers look at what came in their own prepare handles, which may have run before. */
  if (sftest_fabric_pending(daemons->hub))
    uv_idle_start(&daemons->busy, on_busy);
  else
    uv_idle_stop(&daemons->busy);
}

static void hold(void *context, int32_t a, int32_t b, bool held)
{
  const sfd_channels_t *channels = sfd_network_channels(((sftest_daemons_t *)context)->servers[a]);
  sfd_channel_hold((sfd_channels_t *)(uintptr_t)channels, b, held);
}

static void change_version(const sfd_server_t *server)
{
  const sfd_channels_t *channels = sfd_network_channels(server);
  must(sfd_channels_set_greeting((sfd_channels_t *)(uintptr_t)channels, "sfd 0.0.0", server->options->cluster) == SF_OK,
       "changing the version");
}

static void on_tick(uv_timer_t *timer)
{
  sftest_chaos_tick(&((sftest_daemons_t *)timer->data)->chaos);
}

static void set_chaos(sftest_daemons_t *daemons, uint64_t seed, bool chaotic)
{
  if (daemons->chaotic)
    sftest_chaos_end(&daemons->chaos);
  daemons->chaotic = chaotic;
  if (chaotic) {
    sftest_chaos_begin(&daemons->chaos, daemons->cluster->n, seed, hold, daemons);
    uv_timer_start(&daemons->tick, on_tick, CHAOS_TICK_MS, CHAOS_TICK_MS);
  } else {
    uv_timer_stop(&daemons->tick);
  }
}

static uint64_t count_open(const sfd_server_t *server)
{
  const sfd_job_t *job;
  uint64_t n = (uint64_t)server->statistics.ngraphs;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    n += (uint64_t)job->ngroups - (job->world != NULL);
  return n;
}

static uint64_t count_sent(const sfd_channel_counts_t *counts)
{
  uint64_t n = 0;
  for (int kind = 0; kind < SFD_MESSAGE_KINDS; kind++)
    n += counts->messages_sent[kind];
  return n;
}

static uint64_t count_waiting(const sftest_daemons_t *daemons)
{
  uint64_t n = sftest_fabric_pending(daemons->hub);
  for (int32_t a = 0; a < daemons->cluster->n; a++)
    for (int32_t b = 0; b < daemons->cluster->n; b++)
      n += sfd_channel_counts(sfd_network_channels(daemons->servers[a]), b)->queued_messages;
  return n;
}

static uint64_t carry_out(sftest_daemons_t *daemons, sftest_loop_order_t what, int32_t a, int32_t b)
{
  const sfd_server_t *server = what != SFTEST_LOOP_CHAOS ? daemons->servers[a] : NULL;
  switch (what) {
  case SFTEST_LOOP_HOLD:
  case SFTEST_LOOP_LET_GO:
    hold(daemons, a, b, what == SFTEST_LOOP_HOLD);
    return 0;
  case SFTEST_LOOP_FRAMES:
    return sfd_channel_counts(sfd_network_channels(server), b)->frames_sent;
  case SFTEST_LOOP_MESSAGES:
    return count_sent(sfd_channel_counts(sfd_network_channels(server), b));
  case SFTEST_LOOP_QUEUED:
    return sfd_channel_counts(sfd_network_channels(server), b)->queued_messages;
  case SFTEST_LOOP_BYTES:
    return sfd_channel_counts(sfd_network_channels(server), b)->queued_bytes;
  case SFTEST_LOOP_CUT:
    return sftest_fabric_cut(daemons->hub, a, b);
  case SFTEST_LOOP_CHAOS:
    set_chaos(daemons, (uint64_t)a, b != 0);
    return 0;
  case SFTEST_LOOP_OPEN:
    return count_open(server);
  case SFTEST_LOOP_JOBS:
    return (uint64_t)server->statistics.njobs;
  case SFTEST_LOOP_KEPT:
    return sfd_network_kept_bytes(server);
  case SFTEST_LOOP_PENDING:
    return sftest_fabric_pending(daemons->hub);
  case SFTEST_LOOP_WAITING:
    return count_waiting(daemons);
  case SFTEST_LOOP_VERSION:
    change_version(server);
    return 0;
  case SFTEST_LOOP_FORGE:
    break;
  }
  sftest_forge(daemons->servers[a], b, (sftest_forgery_t)(what - SFTEST_LOOP_FORGE));
  return 0;
}

static void on_look(uv_timer_t *timer)
{
  sftest_daemons_t *daemons = timer->data;
  sftest_loop_orders_t *orders = daemons->cluster->orders;
  uint32_t given = atomic_load(&orders->given);
  if (given == atomic_load(&orders->done))
    return;
  sftest_loop_order_t what = (sftest_loop_order_t)atomic_load(&orders->what);
  uint64_t result = carry_out(daemons, what, atomic_load(&orders->a), atomic_load(&orders->b));
  if (what == SFTEST_LOOP_CUT && result == 0)
    return; /* the stream is being made, or what causes it is on its way */
  atomic_store(&orders->result, result);
  atomic_store(&orders->done, given);
}

static void on_end(uv_signal_t *signal, int number)
{
  sftest_daemons_t *daemons = signal->data;
  (void)number;
  for (int32_t i = 0; i < daemons->cluster->n; i++)
    sfd_server_stop(daemons->servers[i]);
  set_chaos(daemons, 0, false);
  uv_close((uv_handle_t *)&daemons->look, NULL);
  uv_close((uv_handle_t *)&daemons->tick, NULL);
  uv_close((uv_handle_t *)&daemons->end, NULL);
  /* The fabrics close in steps: what steps them must not keep the loop alive for itself. */
  uv_unref((uv_handle_t *)&daemons->step);
}

static void run_daemons(sftest_loop_cluster_t *cluster, unsigned delay, uint64_t seed, int ready_fd)
{
  static sftest_daemons_t daemons;
  static sfd_options_t options;
  char *arguments[] = {(char[]){"sfd"},
                       (char[]){"--calibrate=no"},
                       (char[]){"--log-level=error"},
                       (char[]){"--max-ranks=1048576"},
                       (char[]){"--join-timeout=3600"},
                       NULL};
  char *nothing[] = {NULL};
  daemons.cluster = cluster;
  must(uv_loop_init(&daemons.loop) == 0, "uv_loop_init");
  must(sfd_options_parse(5, arguments, nothing, &options) == SF_OK, "options");
  must(sfd_log_configure(options.log_level) == SF_OK, "log");
  daemons.hub = sftest_fabric_hub_create(cluster->n);
  must(daemons.hub != NULL, "hub");
  sftest_fabric_set_delay(daemons.hub, delay);
  sftest_fabric_set_chunks(daemons.hub, seed);
  for (int32_t i = 0; i < cluster->n; i++) {
    sfd_server_t **server = &daemons.servers[i];
    sfshm_costs_t costs = sfd_copy_costs_default;
    costs.nontemporal = i % 2 == 0 ? SFSHM_NONTEMPORAL_ALL : SFSHM_NONTEMPORAL_NONE; /* machines differ */
    must(sfd_server_create(&daemons.loop, &options, listen_at(cluster->nodes[i].socket), &costs, server) == SF_OK,
         "server");
    must(sfd_network_create_over(*server, sftest_fabric_of(daemons.hub, i), &sfd_peer_ops, &(*server)->network) ==
             SF_OK,
         "network");
  }
  uv_prepare_init(&daemons.loop, &daemons.step);
  uv_idle_init(&daemons.loop, &daemons.busy);
  uv_timer_init(&daemons.loop, &daemons.look);
  uv_timer_init(&daemons.loop, &daemons.tick);
  uv_signal_init(&daemons.loop, &daemons.end);
  daemons.step.data = daemons.look.data = daemons.tick.data = daemons.end.data = &daemons;
  uv_prepare_start(&daemons.step, on_step);
  uv_timer_start(&daemons.look, on_look, ORDER_LOOK_MS, ORDER_LOOK_MS);
  uv_signal_start(&daemons.end, on_end, SIGUSR1);
  must(write(ready_fd, "r", 1) == 1, "telling");
  close(ready_fd);
  uv_run(&daemons.loop, UV_RUN_DEFAULT);
  for (int32_t i = 0; i < cluster->n; i++)
    sfd_server_destroy(daemons.servers[i]);
  sftest_fabric_hub_destroy(daemons.hub);
  sfd_options_free(&options);
  _exit(0);
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

void sftest_loop_cluster_start(sftest_loop_cluster_t *cluster, int32_t n, unsigned delay, uint64_t seed)
{
  int ends[2];
  char byte;
  *cluster = (sftest_loop_cluster_t){.n = n};
  cluster->orders = mmap(NULL, sizeof *cluster->orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(cluster->orders, MAP_FAILED);
  for (int32_t i = 0; i < n; i++)
    sftest_node_prepare(&cluster->nodes[i]);
  ck_assert_int_eq(pipe(ends), 0);
  cluster->pid = fork();
  ck_assert_int_ge(cluster->pid, 0);
  if (cluster->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    run_daemons(cluster, delay, seed, ends[1]);
  }
  close(ends[1]);
  ck_assert_int_eq(read(ends[0], &byte, 1), 1);
  close(ends[0]);
}

uint64_t sftest_loop_cluster_order(sftest_loop_cluster_t *cluster, sftest_loop_order_t what, int32_t a, int32_t b)
{
  sftest_loop_orders_t *orders = cluster->orders;
  atomic_store(&orders->what, what);
  atomic_store(&orders->a, a);
  atomic_store(&orders->b, b);
  uint32_t given = atomic_fetch_add(&orders->given, 1) + 1;
  int64_t limit = sftest_now_ms() + SFTEST_HANG_MS;
  while (atomic_load(&orders->done) != given) {
    int status;
    ck_assert_msg(waitpid(cluster->pid, &status, WNOHANG) == 0, "the daemons have ended with status 0x%x",
                  (unsigned)status);
    ck_assert_msg(sftest_now_ms() < limit, "the daemons do not carry out an order");
    usleep(500);
  }
  return atomic_load(&orders->result);
}

void sftest_loop_cluster_stop(sftest_loop_cluster_t *cluster)
{
  int status;
  kill(cluster->pid, SIGUSR1);
  ck_assert_int_eq(waitpid(cluster->pid, &status, 0), cluster->pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the daemons ended with status 0x%x", (unsigned)status);
  for (int32_t i = 0; i < cluster->n; i++) {
    sftest_node_remove(&cluster->nodes[i]);
  }
  munmap(cluster->orders, sizeof *cluster->orders);
}

void sftest_loop_run_alone(int32_t n, const int32_t places[], int32_t size, sftest_rank_fn_t run, void *argument)
{
  sftest_loop_cluster_t cluster;
  sftest_loop_cluster_start(&cluster, n, 0, 0);
  sftest_run_over(cluster.nodes, places, size, run, argument);
  sftest_loop_cluster_stop(&cluster);
}

void sftest_loop_jobs(int32_t nnodes, int njobs, sftest_rank_fn_t run, uint64_t *seed_p)
{
  sftest_loop_cluster_t cluster;
  int32_t places[SFTEST_GROUP_MAX];
  uint64_t random = sftest_seed();
  sftest_use_seed(random);
  sftest_loop_cluster_start(&cluster, nnodes, 1, random | 1);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : njobs); i++) {
    uint64_t placing = *seed_p = sftest_hash2(random, (uint64_t)i);
    int32_t size = 2 + (int32_t)(*seed_p % (SFTEST_GROUP_MAX - 1));
    sftest_places_random(places, size, nnodes, &placing);
    sftest_run_over(cluster.nodes, places, size, run, NULL);
  }
  sftest_loop_cluster_stop(&cluster);
}
