/* What daemons keep for clients that exchange data with other nodes is counted: one user's does not take the memory of
 * the node, nor one job's the descriptors that the daemon needs for others. */
#include <sys/resource.h>

#include "client/core/context.h"
#include "client/graph/graph.h"
#include "tests/system/cluster.h"
#include "tests/system/work.h"

#define NODES 2
#define N 1000
#define GRAPHS 500
#define FILES 256 /* of each daemon */
#define MIB "16"
#define SMALL_GRAPHS 40
#define CLASSES 10 /* of units, the largest 4 KiB */

static sftest_cluster_t cluster;

static void run(sftest_rank_fn_t run_rank, int32_t size, void *argument)
{
  static const int32_t places[] = {0, 1};
  sftest_run_over(cluster.nodes, places, size, run_rank, argument);
}

/* As a client may that is not ours. */
static sf_status_t get_exchange(sf_context_t *context, const sf_graph_t *graph, uint64_t class_bytes)
{
  sfproto_incoming_t incoming;
  Sfproto__ExchangeGet get = SFPROTO__EXCHANGE_GET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  get.graph = graph->number;
  get.class_bytes = class_bytes;
  message.body_case = SFPROTO__MESSAGE__BODY_EXCHANGE_GET;
  message.exchange_get = &get;
  sf_status_t status =
      sfc_daemon_call(&context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_EXCHANGE, &incoming);
  if (status == SF_OK)
    sfproto_incoming_free(&incoming);
  return status;
}

static sf_graph_t *make_graph(sftest_rank_t *self, sf_context_t *context, int64_t n)
{
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), n, SF_GRAPH_DEFAULT, &graph));
  return graph;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Each rank asks its own daemon, until it is refused; *n_p: graphs that have got some. */
static void take_memory(sftest_rank_t *self, sf_context_t *context, sf_graph_t *graphs[], int *n_p)
{
  int n = 0;
  sf_status_t status = SF_OK;
  for (; status == SF_OK; n++) {
    SFTEST_REQUIRE(self, n < GRAPHS);
    graphs[n] = make_graph(self, context, N);
    status = get_exchange(context, graphs[n], 256); /* 4 slots for each direction of both sides */
  }
  SFTEST_EXPECT(self, status, SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "max-exchange-memory");
  *n_p = n;
}

SFTEST_JOINED(use_memory)
{
  static sf_graph_t *graphs[GRAPHS];
  int n, first = 0;
  sf_graph_t *graph = make_graph(self, context, N);
  for (uint64_t bytes = 1 << 20; bytes <= UINT64_C(1) << 25; bytes <<= 1) {
    SFTEST_EXPECT(self, get_exchange(context, graph, bytes), SF_ERR_LIMIT);
    SFTEST_DETAIL(self, "16777216 bytes");
  }
  for (int round = 0; round < 3; round++) {
    take_memory(self, context, graphs, &n);
    first = round == 0 ? n : first;
    SFTEST_REQUIRE(self, n == first); /* all has come back */
    for (int i = 0; i < n; i++)
      SFTEST_OK(self, sf_graph_destroy(graphs[i]));
    sftest_ring_expect_working(self, world, graph, N); /* of which all hear behind that */
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Twice: a job's that is over counts no longer. */
SFTEST(memory)
{
  setenv("SFD_MAX_EXCHANGE_MEMORY", MIB, 1);
  sftest_cluster_start(&cluster, NODES);
  for (int i = 0; i < 2; i++)
    run(use_memory, NODES, NULL);
  sftest_cluster_stop(&cluster);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

typedef struct shared {
  _Atomic int full, served;
} shared_t;

SFTEST_JOINED(use_descriptors)
{
  shared_t *shared = self->argument;
  sf_graph_t *graphs[SMALL_GRAPHS];
  sf_status_t status = SF_OK;
  for (int i = 0; i < SMALL_GRAPHS; i++)
    graphs[i] = make_graph(self, context, 1);
  for (int i = 0; i < SMALL_GRAPHS * CLASSES && status == SF_OK; i++)
    status = get_exchange(context, graphs[i / CLASSES], UINT64_C(8) << i % CLASSES);
  SFTEST_EXPECT(self, status, SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "descriptors");
  shared->full++;
  sftest_await(&shared->served, 1);
}

SFTEST(descriptors)
{
  struct rlimit few;
  sftest_job_t job;
  static const int32_t places[] = {0, 1};
  shared_t *shared = sftest_shared(sizeof *shared);
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &few), 0);
  few.rlim_cur = few.rlim_max = FILES; /* it raises what it may */
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
  sftest_cluster_start(&cluster, NODES);
  for (int i = 0; i < 2; i++) {
    shared->full = shared->served = 0;
    sftest_job_start_over(&job, cluster.nodes, places, NODES, use_descriptors, shared);
    sftest_await(&shared->full, NODES);
    for (int node = 0; node < NODES; node++)
      sftest_expect_serving(&cluster.nodes[node]);
    shared->served = 1;
    sftest_job_end_well(&job);
  }
  sftest_cluster_stop(&cluster);
}
