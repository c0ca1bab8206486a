/* Edge lists that ranks give to the daemon for its workers (GraphEdges): what is refused, and that lists end with their
 * graph. */
#include "daemon/data/match_offers.h"
#include "daemon/jobs/graph.h"
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/daemon_job.h"

#define SIZE 3

typedef struct given {
  int32_t rank;
  int64_t nedges;
  int64_t nvalues;
  uint64_t offset;
  sfshm_region_kind_t kind;
} given_t;

static const given_t good = {1, 5, 5, 128, SFSHM_REGION_EDGES};

/* One block of rank 0 for another rank. */
static void give(uint64_t graph, const given_t *given)
{
  Sfproto__EdgeBlock block = SFPROTO__EDGE_BLOCK__INIT, *blocks[] = {&block};
  Sfproto__GraphEdges edges = SFPROTO__GRAPH_EDGES__INIT;
  Sfproto__Message message = sftest_message(&clients[0]);
  block.rank = given->rank;
  block.nedges = given->nedges;
  block.nvalues = given->nvalues;
  block.offset = given->offset;
  edges.graph = graph;
  edges.blocks = blocks;
  edges.n_blocks = 1;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_EDGES;
  message.graph_edges = &edges;
  int fd = sftest_region(given->kind, 4096);
  sftest_send(&clients[0], &message, &fd, 1);
  close(fd);
}

/* Whether the daemon knows the graph, and something of it that workers use. */
static bool has_lists(uint64_t number)
{
  const sfd_job_t *job = TAILQ_FIRST(&daemon_.server->jobs->list);
  const sfd_graph_t *graph = sfd_graph_find(job, number);
  return graph != NULL && graph->offers != NULL;
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

SFTEST(lists_are_not_taken_at_set_up)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  int64_t nheld = daemon_.server->nheld_fds;
  ck_assert(!has_lists(graph));
  give(graph, &good);
  sftest_expect_done(&clients[0]);
  ck_assert(has_lists(graph));
  ck_assert_int_eq(daemon_.server->nheld_fds, nheld);
  for (int r = 0; r < SIZE; r++) {
    sftest_send_graph_destroy(&clients[r], graph);
    sftest_expect_done(&clients[r]);
  }
  ck_assert(!has_lists(graph));
}

SFTEST(unknown_graphs_are_no_violation)
{
  give(4711, &good);
  sftest_expect_error(&clients[0], SF_ERR_NOT_FOUND, "rank 0 has no graph 4711");
  give(sftest_ring(clients, SIZE), &good);
  sftest_expect_done(&clients[0]);
}

SFTEST_FOR(violations, 5)
{
  static const struct {
    given_t given;
    const char *text;
  } cases[] = {
      {{0, 5, 5, 128, SFSHM_REGION_EDGES}, "GraphEdges of group rank 0: block for rank 0"},
      {{SIZE, 5, 5, 128, SFSHM_REGION_EDGES}, "block for rank 3 of a group of 3"},
      {{1, 4, 5, 128, SFSHM_REGION_EDGES}, "with 4 edges and 5 values"},
      {{1, 5, 5, 4096, SFSHM_REGION_EDGES}, "block at 4096 of 4096 bytes"},
      {{1, 5, 5, 128, SFSHM_REGION_INBOX}, "edges region"},
  };
  uint64_t graph = sftest_ring(clients, SIZE);
  give(graph, &cases[_i].given);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, cases[_i].text);
  sftest_expect_closed(&clients[0]);
  sftest_drop(&clients[0]);
}

SFTEST(second_list)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  give(graph, &good);
  sftest_expect_done(&clients[0]);
  give(graph, &good);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, "second GraphEdges of group rank 0");
  sftest_expect_closed(&clients[0]);
  sftest_drop(&clients[0]);
}

/* Each takes a mapping of the daemon. */
SFTEST(number_of_lists)
{
  uint64_t first = sftest_ring(clients, SIZE), second = sftest_ring(clients, SIZE);
  int64_t max = daemon_.server->max_held_fds;
  daemon_.server->max_held_fds = 4;
  give(first, &good);
  sftest_expect_done(&clients[0]);
  give(second, &good);
  sftest_expect_error(&clients[0], SF_ERR_LIMIT, "edge list of graph");
  for (int r = 0; r < SIZE; r++) {
    sftest_send_graph_destroy(&clients[r], first);
    sftest_expect_done(&clients[r]);
  }
  give(second, &good);
  sftest_expect_done(&clients[0]);
  daemon_.server->max_held_fds = max;
}
