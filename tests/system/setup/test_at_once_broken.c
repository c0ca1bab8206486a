/* Graphs that are ready after one round of set-up when ranks are late to read an edge list, lie about their edges, or
 * die, where no second round would notice. Such ranks say by hand what the library would. */
#include "client/core/context.h"
#include "client/core/group.h"
#include "client/setup/edge_exchange.h"
#include "client/setup/edge_loans.h"
#include "client/setup/lane_addresses.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/setup/crossed_edges.h"

static const char *const workers[2][2] = {{"--offload-workers=0"}, {"--offload-workers=1"}};

/* ---- Graphs made by hand ----------------------------------------------------------------------------------------- */

#define BY_HAND 1 /* the rank that does */

typedef struct hand_made {
  sf_graph_t graph;
  sfc_edge_exchange_t lists;
  sfc_lane_addresses_t ends;
  uint64_t request;
  sfproto_incoming_t told;
} hand_made_t;

/* Sends the edges as the library would, but for the highest root. */
static void send_edges(sftest_rank_t *self, sf_context_t *context, const sftest_crossed_t *edges, int64_t nroots,
                       int64_t root_max, hand_made_t *made)
{
  sf_group_t *world = sf_group_world(context);
  sfc_edge_input_t input = {nroots, edges->n, NULL, edges->rank, edges->root, true};
  int64_t bad_leaf;
  Sfproto__EdgeBlock blocks[SFTEST_CROSSED_RANKS], *pointers[SFTEST_CROSSED_RANKS];
  *made = (hand_made_t){.graph = {.context = context, .group = world, .rank = self->rank, .size = SFTEST_CROSSED_RANKS},
                        .lists = {.group = world, .own = {.region = {.fd = -1}}}};
  SFTEST_OK(self, sfc_edge_list_make(&input, self->rank, SFTEST_CROSSED_RANKS, &made->lists.own, &bad_leaf));
  SFTEST_OK(self, sfc_edge_exchange_publish(&made->lists));
  SFTEST_OK(self, sfc_lane_addresses_offer(&made->graph, &made->lists.own, &made->ends));
  Sfproto__GraphCreate message_create = SFPROTO__GRAPH_CREATE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message_create.n_blocks = sfc_edge_exchange_describe(&made->lists, blocks, pointers);
  for (size_t i = 0; i < message_create.n_blocks; i++)
    blocks[i].root_max = root_max;
  message_create.group = world->number;
  message_create.nroots = nroots;
  message_create.nleaves = edges->n;
  message_create.blocks = pointers;
  message_create.has_proposes = message_create.proposes = true;
  message_create.lanes = made->ends.pointers;
  message_create.n_lanes = made->ends.n;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &message_create;
  SFTEST_OK(self, sfc_daemon_send(&context->control, &message, &made->lists.own.region.fd, !blocks[0].has_segment));
  made->request = message.request;
}

static void receive_ready(sftest_rank_t *self, hand_made_t *made)
{
  SFTEST_OK(self, sfc_daemon_receive(&made->graph.context->control, made->request, false,
                                     SFPROTO__MESSAGE__BODY_GRAPH_REPLY, &made->told));
  SFTEST_REQUIRE(self, made->told.message->graph_reply->ready);
  made->graph.number = made->told.message->graph_reply->graph;
}

static void destroy_hand_made(sftest_rank_t *self, hand_made_t *made)
{
  Sfproto__GraphDestroy destroy = SFPROTO__GRAPH_DESTROY__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  destroy.graph = made->graph.number;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_DESTROY;
  message.graph_destroy = &destroy;
  SFTEST_OK(self, sfc_daemon_tell(&made->graph.context->control, &message, NULL, 0));
  sfproto_incoming_free(&made->told);
  sfc_lane_addresses_free(&made->ends);
  sfc_edge_exchange_free(&made->lists);
}

/* ---- A list that is read late ------------------------------------------------------------------------------------ */

typedef struct steps {
  _Atomic int made; /* graphs, by the others */
  _Atomic int read; /* lists, by the rank that is late */
} steps_t;

static int count_loans(const sf_context_t *context)
{
  int n = 0;
  for (const sfc_loan_t *loan = context->loans; loan != NULL; loan = loan->next)
    n++;
  return n;
}

/* The list of that rank in the graph is what it was. */
static void expect_list(sftest_rank_t *self, hand_made_t *made, int64_t number)
{
  sftest_crossed_t edges;
  int32_t bad_rank;
  SFTEST_OK(self, sfc_edge_exchange_receive(&made->lists, &made->told, &bad_rank));
  SFTEST_REQUIRE(self, made->lists.npeers == SFTEST_CROSSED_RANKS - 1);
  for (int32_t p = 0; p < made->lists.npeers; p++) {
    sfc_link_t link;
    int64_t bad_leaf, n = 0;
    SFTEST_OK(self,
              sfc_edge_exchange_open(&made->lists, &made->lists.peers[p], SFTEST_CROSSED_ROOTS, &link, &bad_leaf));
    sftest_crossed_edges(made->lists.peers[p].rank, number, true, &edges);
    for (int64_t i = 0; i < edges.n; i++)
      if (edges.rank[i] == self->rank)
        SFTEST_REQUIRE(self, sfshm_pattern_at(&link.value_root, n++) == edges.root[i]);
    SFTEST_REQUIRE(self, n == SFTEST_CROSSED_EDGES && link.nvalues == SFTEST_CROSSED_EDGES);
    sfc_link_destroy(&link);
  }
}

static void say_read(sftest_rank_t *self, const hand_made_t *made)
{
  const Sfproto__GraphReply *told = made->told.message->graph_reply;
  sfc_peers_t *peers = &made->graph.context->peers;
  for (size_t i = 0; i < told->n_lanes; i++) {
    const Sfproto__LaneEnd *end = told->lanes[i];
    sfc_peer_t *peer;
    void *base;
    size_t length;
    SFTEST_OK(self, sfc_peers_find(peers, end->job_rank, &peer));
    SFTEST_OK(self, sfc_peer_segment(peers, peer, end->segment, &base, &length));
    sfshm_lane_rx_t rx = {.control = (sfshm_lane_control_t *)(void *)((char *)base + end->control)};
    sfshm_lane_say_edges_read(&rx);
  }
}

enum { LATE = 4 }; /* graphs that are made before the first list is read */

static void be_late(sftest_rank_t *self, sf_context_t *context, steps_t *steps)
{
  static hand_made_t made[LATE + 1];
  sftest_crossed_t edges;
  for (int64_t k = 0; k <= LATE; k++) {
    sftest_crossed_edges(self->rank, k, true, &edges);
    send_edges(self, context, &edges, SFTEST_CROSSED_ROOTS, SFTEST_CROSSED_ROOTS - 1, &made[k]);
    receive_ready(self, &made[k]);
    if (k != LATE - 1)
      continue;
    sftest_await(&steps->made,
                 LATE * (SFTEST_CROSSED_RANKS - 1)); /* they have had every chance to write over their lists */
    for (int64_t i = 0; i < LATE; i++)
      expect_list(self, &made[i], i);
    say_read(self, &made[0]);
    say_read(self, &made[2]);
    steps->read = 1;
  }
  sftest_await(&steps->made, (LATE + 1) * (SFTEST_CROSSED_RANKS - 1));
  for (int64_t k = 0; k <= LATE; k++)
    destroy_hand_made(self, &made[k]);
}

static void lend(sftest_rank_t *self)
{
  steps_t *steps = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graphs[LATE + 1];
  if (self->rank == BY_HAND) {
    be_late(self, context, steps);
    sftest_leave(self, context);
    return;
  }
  for (int64_t k = 0; k <= LATE; k++) {
    if (k == LATE)
      sftest_await(&steps->read, 1);
    SFTEST_OK(self, sftest_crossed_create(self, context, k, true, &graphs[k]));
    SFTEST_REQUIRE(self, count_loans(context) == (k < LATE ? k + 1 : LATE - 1)); /* two of the first four were read */
    steps->made++;
  }
  for (int64_t k = 0; k <= LATE; k++)
    SFTEST_OK(self, sf_graph_destroy(graphs[k]));
  SFTEST_REQUIRE(self, context->loans == NULL);
  sftest_leave(self, context);
}

/* Whether the daemon has workers or not: a list is in the inbox. */
SFTEST_FOR(lists_stay_until_they_are_read, 2)
{
  steps_t *steps = sftest_shared(sizeof *steps);
  sftest_node_t node;
  sftest_node_start(&node, workers[_i]);
  sftest_run_job(&node, SFTEST_CROSSED_RANKS, lend, steps);
  sftest_node_stop(&node);
}

/* ---- A lie ------------------------------------------------------------------------------------------------------- */

#define BAD_ROOT 5000

/* The edges of leaf 3 and one more lead nowhere; the highest root that is said is there. */
static void lie(sftest_rank_t *self, sf_context_t *context, const steps_t *steps)
{
  hand_made_t made;
  sftest_crossed_t edges;
  sftest_crossed_edges(self->rank, 0, true, &edges);
  edges.root[3] = edges.root[7] = BAD_ROOT;
  SFTEST_REQUIRE(self, edges.rank[3] == 0 && edges.rank[7] == 0);
  send_edges(self, context, &edges, SFTEST_CROSSED_ROOTS, SFTEST_CROSSED_ROOTS - 1, &made);
  receive_ready(self, &made);
  sftest_await(&steps->made, SFTEST_CROSSED_RANKS - 1); /* they have read the list, whose memory the next one takes */
  destroy_hand_made(self, &made);
}

/* Who reads the list finds out; the graph fails for all, also for those who had nothing to do with it. */
SFTEST_JOINED(hear_a_lie)
{
  steps_t *steps = self->argument;
  double leaves[SFTEST_CROSSED_LEAVES];
  sf_graph_t *graph = NULL;
  if (self->rank == BY_HAND) {
    lie(self, context, steps);
  } else {
    SFTEST_OK(self, sftest_crossed_create(self, context, 0, true, &graph));
    steps->made++;
    SFTEST_EXPECT(self, sftest_crossed_bcast(self->rank, graph, leaves), SF_ERR_RANGE);
    SFTEST_DETAIL(self, "sf_graph_create: rank 1, leaf 3: root index 5000 on rank 0, which has 1000 roots");
    sf_status_t status = sf_graph_edges(graph, NULL, NULL, NULL);
    SFTEST_EXPECT(self, status, self->rank == 0 ? SF_ERR_RANGE : SF_OK);
    SFTEST_OK(self, sf_graph_destroy(graph));
  }
  SFTEST_OK(self, sftest_crossed_create(self, context, 1, true, &graph));
  sftest_crossed_expect(self, graph, 1, true);
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_REQUIRE(self, context->loans == NULL && context->nexpected == 0);
}

SFTEST(a_lie_fails_the_graph)
{
  steps_t *steps = sftest_shared(sizeof *steps);
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, SFTEST_CROSSED_RANKS, hear_a_lie, steps);
  sftest_expect_serving(&node);
  sftest_node_stop(&node);
}

/* ---- Death ------------------------------------------------------------------------------------------------------- */

typedef enum step { SENT, ANSWERED, READ, STEPS } step_t;

static void die_at(sftest_rank_t *self, sf_context_t *context, step_t step)
{
  hand_made_t made;
  sftest_crossed_t edges;
  sftest_crossed_edges(self->rank, 0, true, &edges);
  send_edges(self, context, &edges, SFTEST_CROSSED_ROOTS, SFTEST_CROSSED_ROOTS - 1, &made);
  if (step > SENT)
    receive_ready(self, &made);
  if (step == READ)
    say_read(self, &made);
  kill(getpid(), SIGKILL);
}

static void see_one_die(sftest_rank_t *self)
{
  const step_t *step = self->argument;
  sf_context_t *context = sftest_join(self);
  double leaves[SFTEST_CROSSED_LEAVES];
  sf_graph_t *graph = NULL;
  if (self->rank == BY_HAND)
    die_at(self, context, *step);
  sf_status_t status = sftest_crossed_create(self, context, 0, true, &graph);
  if (status == SF_OK)
    status = sftest_crossed_bcast(self->rank, graph, leaves);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "rank 1 ");
  if (graph != NULL)
    SFTEST_OK(self, sf_graph_destroy(graph));
  (void)sf_finalize(context);
}

SFTEST_FOR(one_dies, STEPS)
{
  step_t *step = sftest_shared(sizeof *step);
  sftest_node_t node;
  sftest_job_t job;
  *step = (step_t)_i;
  sftest_node_start(&node, NULL);
  int fds = sftest_node_rest(&node, 0);
  sftest_job_start(&job, &node, SFTEST_CROSSED_RANKS, see_one_die, step);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, BY_HAND);
  sftest_expect_serving(&node);
  sftest_node_settle(&node, fds);
  sftest_node_stop(&node);
}
