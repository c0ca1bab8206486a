/* A daemon that has no memory for a job, or for what another one tells it of something new, before its own rank has
 * come to that; and a rank that has none for what others are done with already: the ranks must not wait for what is
 * lost. An allocation of the size of what would be begun fails. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "client/engine/progress.h"
#include "daemon/base/log.h"
#include "daemon/clients/listen.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/jobs/group.h"
#include "daemon/server.h"
#include "daemon/setup/setup.h"
#include "proto/conn.h"
#include "shm/base/error.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define RANKS 3
#define UNITS 100
#define SETUP_BYTES (sizeof(sfd_setup_t) + sizeof(sfd_setup_member_t)) /* of one rank on a node */
#define GROUP_BYTES (sizeof(sfd_group_t) + RANKS * sizeof(sfd_group_member_t))
#define TRUNKS_BYTES (sizeof(struct sfd_trunks) + 2 * sizeof(sfd_trunk_side_t)) /* of a node in a ring */

typedef enum what { ARRIVAL, WANTS, PAIR, GROUP, START, TRUNKS, WHATS } what_t;

/* Each daemon allocates once, for its own rank or when another one tells it of something. */
typedef struct plan {
  int32_t size;
  int32_t stage[RANKS]; /* when each rank comes; 3: when memory has been refused */
  int nth;              /* allocation is refused: the first one of a daemon whose rank comes in stage 3 */
  size_t bytes;
} plan_t;

static const plan_t plans[WHATS] = {
    [ARRIVAL] = {RANKS, {3, 1, 3}, 2, SETUP_BYTES}, /* rank 1 has come */
    [WANTS] = {RANKS, {1, 2, 3}, 3, SETUP_BYTES},   /* rank 1 wants roots of rank 2 */
    [PAIR] = {2, {3, 1}, 2, SETUP_BYTES},           [GROUP] = {RANKS, {3, 1, 3}, 2, GROUP_BYTES},
    [START] = {RANKS, {0}, 0, GROUP_BYTES}, /* of all ranks; nth is the test's, as here: */
    [TRUNKS] = {RANKS, {0}, 0, TRUNKS_BYTES},
};

typedef struct scene {
  what_t what;
  int nth;               /* the plan's */
  _Atomic int refused;   /* ranks that were not taken in */
  _Atomic int ready;     /* ranks */
  _Atomic int stage;     /* whose ranks may go on */
  _Atomic int daemons;   /* their process; 0: memory is there */
  _Atomic int allocated; /* so often, also where it was refused */
} scene_t;

static scene_t *scene;

static int callocs_left = -1;  /* that succeed in this process before one fails */
static int requests_left = -1; /* of operations, that this process allocates before one is refused */

/* The linker has all calls of calloc come here. */
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes)
{
  if (callocs_left >= 0 && callocs_left-- == 0) {
    errno = ENOMEM;
    return NULL;
  }
  if (n * bytes == sizeof(sf_request_t) && requests_left >= 0 && requests_left-- == 0) {
    errno = ENOMEM;
    return NULL;
  }
  if (scene != NULL && getpid() == atomic_load(&scene->daemons) && n * bytes == plans[scene->what].bytes &&
      atomic_fetch_add(&scene->allocated, 1) + 1 == scene->nth) {
    errno = ENOMEM;
    return NULL;
  }
  return __real_calloc(n, bytes);
}

static size_t refused_bytes; /* allocations of this size */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
  if (bytes == refused_bytes && bytes > 0) {
    errno = ENOMEM;
    return NULL;
  }
  return __real_malloc(bytes);
}

static sf_status_t make_together(sf_context_t *context, sf_graph_t **graph_p)
{
  static const int32_t ranks[] = {0, 1, 2};
  sf_group_t *group;
  switch (scene->what) {
  case ARRIVAL:
    return sf_graph_create(sf_group_world(context), 0, 0, NULL, NULL, NULL, SF_GRAPH_DEFAULT, graph_p);
  case GROUP:
    return sf_group_create(context, RANKS, ranks, 0, &group);
  default:
    return sftest_ring_create(sf_group_world(context), UNITS + 1, SF_GRAPH_DEFAULT, graph_p);
  }
}

static void be_told(sftest_rank_t *self)
{
  sf_graph_t *whole, *graph;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &whole));
  sftest_ring_expect_working(self, sf_group_world(context), whole, UNITS);
  atomic_fetch_add(&scene->ready, 1);
  sftest_await(&scene->stage, plans[scene->what].stage[self->rank]);
  sftest_at(self, "together");
  SFTEST_EXPECT(self, make_together(context, &graph), SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "node ");
  SFTEST_OK(self, sf_graph_destroy(whole));
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

SFTEST_FOR(test_told, START)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  const plan_t *plan = &plans[_i];
  scene = sftest_shared(sizeof *scene);
  scene->what = (what_t)_i;
  scene->nth = plan->nth;
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, plan->size, be_told, scene);
  sftest_job_await(&job, &scene->ready, plan->size);
  atomic_store(&scene->daemons, loop.pid);
  for (int stage = 1; stage <= 3; stage++) {
    atomic_store(&scene->stage, stage);
    sftest_job_await(&job, &scene->allocated, stage == 1 ? plan->nth - 1 : plan->nth);
  }
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

/* The failure may come before the start does. */
static void be_started(sftest_rank_t *self)
{
  sf_context_t *context;
  sf_graph_t *graph;
  sf_status_t status = sf_init(&self->options, &context);
  if (status == SF_ERR_NOMEM) {
    atomic_fetch_add(&scene->refused, 1);
  } else if (status != SF_ERR_RANK_FAILED) {
    SFTEST_EXPECT(self, status, SF_OK);
    SFTEST_EXPECT(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph),
                  SF_ERR_RANK_FAILED);
  }
  SFTEST_DETAIL(self, "node ");
  SFTEST_DETAIL(self, "has no memory for job");
  if (status == SF_OK)
    SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

/* All have come; one daemon can't begin the job. */
SFTEST_BETWEEN(test_started, 1, RANKS + 1)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  static sftest_loop_cluster_t loop;
  scene = sftest_shared(sizeof *scene);
  scene->what = START;
  scene->nth = _i;
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  atomic_store(&scene->daemons, loop.pid);
  sftest_run_over(loop.nodes, places, RANKS, be_started, scene);
  ck_assert_int_eq(atomic_load(&scene->refused), 1);
  sftest_loop_cluster_stop(&loop);
}

SFTEST_JOINED(make_without_trunks)
{
  sf_graph_t *graph;
  atomic_fetch_add(&scene->ready, 1);
  sftest_await(&scene->stage, 1);
  SFTEST_EXPECT(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &graph), SF_ERR_NOMEM);
  SFTEST_DETAIL(self, "sides of trunks");
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &graph));
  sftest_ring_expect_working(self, world, graph, UNITS);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* All ranks have said their edges, and one node can't make its part of the graph: over three nodes, where nothing is
 * left for the ranks to say, and over two, where they go through round 2. */
SFTEST_FOR(test_trunks, RANKS + 2)
{
  static const int32_t places[][RANKS] = {{0, 1, 2}, {0, 0, 1}};
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  scene = sftest_shared(sizeof *scene);
  scene->what = TRUNKS;
  scene->nth = 1 + _i % RANKS;
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places[_i / RANKS], RANKS, make_without_trunks, scene);
  sftest_job_await(&job, &scene->ready, RANKS);
  atomic_store(&scene->daemons, loop.pid);
  atomic_store(&scene->stage, 1);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

/* All leaves are on roots of rank 1, which finds out who has them, and waits for the others at that; none waits for it.
 * Having failed it destroys the graph. */
SFTEST_JOINED(lack_request)
{
  static const int32_t owner = 1;
  static const int64_t first = 0;
  bool lacks = self->rank == owner;
  double roots[1] = {0}, leaves[1] = {0};
  sf_graph_t *graph;
  sf_graph_ranks_t ranks;
  SFTEST_OK(self, sf_graph_create(world, 1, !lacks, NULL, &owner, &first, 0, &graph));
  if (lacks)
    requests_left = *(const int *)self->argument;
  sf_status_t status = sf_graph_leaf_ranks(graph, &ranks);
  if (!lacks && status == SF_OK)
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_NOMEM);
  SFTEST_DETAIL(self, "request");
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST_FOR(test_leaf_ranks, 4)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  int left = _i;
  sftest_loop_run_alone(RANKS, places, RANKS, lack_request, &left);
}

/* A daemon that is to be one of several, without memory for the nth thing that this takes: whether it has begun. */
static bool begin_alone(int nth)
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  char name[] = "sfd", fabric[] = "--fabric=tcp", proof[] = "--peer-auth=user", node[] = "--node=0";
  char peers[64], bound[32], *argv[] = {name, fabric, proof, node, peers, bound, NULL}, *environment[] = {NULL};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  char path[64];
  uv_loop_t loop;
  sfd_options_t options;
  sfd_server_t *server;
  sfshm_costs_t costs = {0};
  int listen_fd;
  snprintf(path, sizeof path, "/tmp/sftest-%d.sock", (int)getpid());
  ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
  ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
  snprintf(peers, sizeof peers, "--peers=127.0.0.1:%d,127.0.0.1:1", ntohs(address.sin_port));
  snprintf(bound, sizeof bound, "--fabric-fd=%d", fd);
  ck_assert_int_eq(sfd_options_parse(6, argv, environment, &options), SF_OK);
  ck_assert_int_eq(uv_loop_init(&loop), 0);
  ck_assert_int_eq(sfd_listen(path, &listen_fd), SF_OK);
  ck_assert_int_eq(sfd_server_create(&loop, &options, listen_fd, &costs, &server), SF_OK);
  callocs_left = nth;
  sf_status_t status = sfd_server_connect(server);
  bool refused = callocs_left < 0;
  callocs_left = -1;
  ck_assert_msg(status == (refused ? SF_ERR_NOMEM : SF_OK), "allocation %d: %d (%s)", nth, status,
                sfshm_error_detail());
  sfd_server_stop(server);
  uv_run(&loop, UV_RUN_DEFAULT); /* until no handle is left */
  ck_assert_int_eq(uv_loop_close(&loop), 0);
  sfd_listen_close(listen_fd);
  sfd_server_destroy(server);
  sfd_options_free(&options);
  return !refused;
}

SFTEST(test_network)
{
  int nth = 0;
  ck_assert_int_eq(sfd_log_configure("error"), SF_OK);
  while (!begin_alone(nth))
    nth++;
  ck_assert_int_ge(nth, 3); /* the fabric, the network, its channels */
}

/* It is not taken for a malformed one. */
SFTEST(test_message)
{
  int pair[2];
  sfproto_conn_t *conns[2];
  sfproto_incoming_t incoming;
  Sfproto__Done done = SFPROTO__DONE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.body_case = SFPROTO__MESSAGE__BODY_DONE;
  message.done = &done;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(sfproto_conn_create(pair[i], &conns[i]), SF_OK);
  ck_assert_int_eq(sfproto_conn_send(conns[0], &message, NULL, 0), SF_OK);
  refused_bytes = sizeof(Sfproto__Message);
  ck_assert_int_eq(sfproto_conn_receive(conns[1], 1000, &incoming), SF_ERR_NOMEM);
  refused_bytes = 0;
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "no memory for a message of"));
  for (int i = 0; i < 2; i++)
    sfproto_conn_destroy(conns[i]);
}
