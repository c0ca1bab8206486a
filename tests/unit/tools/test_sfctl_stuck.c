/* Finding what is stuck in given states of ranks, and reading states out of counters. */
#include "proto/report/stuck.h"

#include <time.h>

#include "proto/report/state.h"
#include "shm/lane/message.h"
#include "shm/observe/counters.h"
#include "tests/unit/runner.h"
#include "tools/sfctl/stuck.h"

#define SECOND UINT64_C(1000000000)

static sfreport_list_t states;
static sfreport_stalls_t stalls;

static char *copy(const char *text)
{
  char *result = strdup(text);
  ck_assert_ptr_nonnull(result);
  return result;
}

static Sfproto__RankState *add_rank(uint64_t job_id, int32_t rank, const char *process)
{
  Sfproto__Message *message = malloc(sizeof *message);
  Sfproto__RankState *state = malloc(sizeof *state);
  sfreport_item_t *item;
  sfproto__message__init(message);
  sfproto__rank_state__init(state);
  message->body_case = SFPROTO__MESSAGE__BODY_RANK_STATE;
  message->rank_state = state;
  state->job_id = job_id;
  state->rank = rank;
  state->pid = 100 + rank;
  state->job = copy("cg");
  state->program = copy("cg");
  state->process = copy(process);
  state->graphs = calloc(4, sizeof(Sfproto__GraphState *));
  ck_assert_int_eq(sfreport_list_add(&states, message, &item), SF_OK);
  return state;
}

/* wait_s 0: it does not wait there. */
static void add_graph(Sfproto__RankState *rank, uint64_t graph, uint64_t begun, uint64_t completed, uint64_t wait_s,
                      uint64_t sequence)
{
  Sfproto__GraphState *state = malloc(sizeof *state);
  sfproto__graph_state__init(state);
  state->graph = graph;
  state->place = copy("cg.c:12");
  state->size = 3;
  state->begun = begun;
  state->completed = completed;
  state->has_waiting_ns = state->has_wait_sequence = wait_s > 0;
  state->waiting_ns = wait_s * SECOND;
  state->wait_sequence = sequence;
  state->wait_call = wait_s > 0 ? copy("bcast(double, replace)") : NULL;
  rank->graphs[rank->n_graphs++] = state;
}

static void find(uint64_t threshold_s)
{
  sfreport_stalls_clear(&stalls);
  ck_assert_int_eq(sfreport_stalls_find(&states, threshold_s * SECOND, &stalls), SF_OK);
}

static void teardown(void)
{
  sfreport_stalls_clear(&stalls);
  sfreport_list_clear(&states);
}

SFTEST_FIXTURE(NULL, teardown);

/* Of that many ranks none waits. */
static void expect_none_of(const char *ranks)
{
  char *text, expected[80];
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_int_eq(sfctl_stuck_print_text(&(sfctl_states_t){.list = states}, &stalls, 1000, 0, file), SF_OK);
  fclose(file);
  snprintf(expected, sizeof expected, "nothing is stuck: none of %s has waited for 1 s\n", ranks);
  ck_assert_str_eq(text, expected);
  free(text);
}

SFTEST(printing_nothing)
{
  expect_none_of("0 ranks");
  add_rank(1, 0, "running");
  expect_none_of("1 rank");
  add_rank(1, 1, "running");
  expect_none_of("2 ranks");
}

SFTEST(nothing)
{
  find(1);
  ck_assert_uint_eq(stalls.count, 0);
  add_graph(add_rank(1, 0, "running"), 5, 3, 2, 0, 0);
  add_graph(add_rank(1, 1, "running"), 5, 3, 2, 1, 3);
  find(2);
  ck_assert_uint_eq(stalls.count, 0);
}

/* Rank 2 has not begun operation 7, for which 1 waits; 0 is ahead and waits for 1. Other jobs have a graph 5, too. */
SFTEST(who_has_not_begun)
{
  char text[512];
  add_graph(add_rank(1, 0, "sleeping"), 5, 8, 7, 9, 8);
  add_graph(add_rank(1, 1, "sleeping"), 5, 7, 6, 10, 7);
  add_graph(add_rank(1, 2, "stopped"), 5, 6, 6, 0, 0);
  add_graph(add_rank(2, 0, "running"), 5, 1, 1, 0, 0);
  find(2);
  ck_assert_uint_eq(stalls.count, 1);
  const sfreport_stall_t *stall = &stalls.stalls[0];
  ck_assert_uint_eq(stall->job_id, 1);
  ck_assert_uint_eq(stall->graph, 5);
  ck_assert_uint_eq(stall->sequence, 7);
  ck_assert_uint_eq(stall->waiting_ns, 10 * SECOND);
  ck_assert_uint_eq(stall->nranks, 3);
  ck_assert_uint_eq(stall->nculprits, 1);
  ck_assert_int_eq(stall->ranks[0].rank->rank, 2);
  ck_assert_int_eq(stall->ranks[0].part, SFREPORT_NOT_BEGUN);
  ck_assert_int_eq(stall->ranks[1].rank->rank, 0);
  ck_assert_int_eq(stall->ranks[1].part, SFREPORT_WAITS);
  sfreport_stall_describe(stall, text, sizeof text);
  ck_assert_str_eq(text, "graph 5, made at cg.c:12: bcast(double, replace) number 7 has kept ranks waiting for 10 s; "
                         "rank 2 (pid 102, stopped) has not begun it");
  char cut[20];
  sfreport_stall_describe(stall, cut, sizeof cut);
  ck_assert_str_eq(cut, "graph 5, made at cg");
}

static void await_node(Sfproto__RankState *rank, int32_t node)
{
  Sfproto__GraphState *graph = rank->graphs[rank->n_graphs - 1];
  graph->awaited_nodes = realloc(graph->awaited_nodes, (graph->n_awaited_nodes + 1) * sizeof(int32_t));
  graph->awaited_nodes[graph->n_awaited_nodes++] = node;
}

/* As the log of node 0 sees it, all of whose ranks wait. */
SFTEST(which_nodes)
{
  char text[512];
  for (int32_t r = 0; r < 2; r++) {
    Sfproto__RankState *rank = add_rank(1, r, "sleeping");
    add_graph(rank, 5, 7, 6, 3, 7);
    await_node(rank, 0);
    await_node(rank, 3 - r);
    await_node(rank, 3);
  }
  find(2);
  ck_assert_uint_eq(stalls.count, 1);
  sfreport_stall_describe(&stalls.stalls[0], text, sizeof text);
  ck_assert_str_eq(text, "graph 5, made at cg.c:12: bcast(double, replace) number 7 has kept ranks waiting for 3.0 s; "
                         "ranks wait for node 2, 3");
}

SFTEST(who_has_begun_or_ended)
{
  add_graph(add_rank(1, 0, "running"), 5, 7, 7, 0, 0);
  add_graph(add_rank(1, 1, "running"), 5, 7, 6, 0, 0);
  add_graph(add_rank(1, 2, "sleeping"), 5, 7, 6, 3, 7);
  find(2);
  ck_assert_uint_eq(stalls.count, 1);
  ck_assert_uint_eq(stalls.stalls[0].nculprits, 1);
  ck_assert_int_eq(stalls.stalls[0].ranks[0].part, SFREPORT_BEGUN);
  ck_assert_int_eq(stalls.stalls[0].ranks[1].part, SFREPORT_ENDED);
  ck_assert_int_eq(stalls.stalls[0].ranks[2].part, SFREPORT_WAITS);
}

/* All ranks that have not ended it wait: one has been stopped. */
SFTEST(who_is_stopped_while_it_waits)
{
  add_graph(add_rank(1, 0, "sleeping"), 5, 7, 6, 9, 7);
  add_graph(add_rank(1, 1, "stopped"), 5, 7, 6, 9, 7);
  add_graph(add_rank(1, 2, "stopped"), 5, 7, 7, 0, 0);
  find(2);
  ck_assert_uint_eq(stalls.stalls[0].nculprits, 1);
  ck_assert_int_eq(stalls.stalls[0].ranks[0].rank->rank, 1);
}

/* Ranks of two nodes, whose messages the link has not carried yet. */
SFTEST(nobody_is_behind)
{
  char text[512];
  for (int32_t r = 0; r < 3; r++) {
    Sfproto__RankState *rank = add_rank(1, r, "sleeping");
    rank->node = r < 2 ? 0 : 1;
    add_graph(rank, 5, 7, r == 0 ? 7 : 6, r == 0 ? 0 : 3, 7);
    if (r > 0)
      await_node(rank, 1 - rank->node);
    rank->graphs[0]->size = 3;
  }
  find(2);
  ck_assert_uint_eq(stalls.stalls[0].nculprits, 0);
  sfreport_stall_describe(&stalls.stalls[0], text, sizeof text);
  ck_assert_str_eq(text,
                   "graph 5, made at cg.c:12: bcast(double, replace) number 7 has kept ranks waiting for 3.0 s; no "
                   "rank is behind: what they wait for is on the way between nodes, see sfctl peers");
}

/* Two ranks wait for each other on two graphs, which they use in different order. */
SFTEST(who_waits_elsewhere)
{
  char text[128];
  Sfproto__RankState *a = add_rank(1, 0, "sleeping"), *b = add_rank(1, 1, "sleeping");
  add_graph(a, 5, 1, 0, 4, 1);
  add_graph(a, 6, 0, 0, 0, 0);
  add_graph(b, 5, 0, 0, 0, 0);
  add_graph(b, 6, 1, 0, 3, 1);
  find(2);
  ck_assert_uint_eq(stalls.count, 2);
  ck_assert_uint_eq(stalls.stalls[0].graph, 5);
  ck_assert_uint_eq(stalls.stalls[0].ranks[0].elsewhere, 6);
  ck_assert_uint_eq(stalls.stalls[1].graph, 6);
  sfreport_stalled_rank_describe(&stalls.stalls[1].ranks[0], text, sizeof text);
  ck_assert_str_eq(text, "rank 0 (pid 100, sleeping) has not begun it: it waits on graph 5");
}

SFTEST(states_of_counters)
{
  sfshm_region_t region;
  Sfproto__Message *message;
  struct timespec now;
  ck_assert_int_eq(sfshm_region_create("counters", SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t),
                                       SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL, &region),
                   SF_OK);
  sfshm_counters_t *shared = region.base;
  shared->graphs_used = 2;
  shared->lanes_used = 3;
  strcpy(shared->job_name, "cg");
  shared->rank = 3;
  sfshm_graph_counters_t *graph = &shared->graphs[1];
  graph->graph = 8;
  strcpy(graph->place, "cg.c:99");
  graph->begun[SFSHM_BCAST] = 4;
  graph->begun[SFSHM_REDUCE] = 1;
  graph->ended[SFSHM_KIND_BCAST] = 3;
  graph->nlanes = 3;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t ago_s = (uint64_t)now.tv_sec / 2; /* a machine that has started just now has no more */
  graph->wait_since_ns = ((uint64_t)now.tv_sec - ago_s) * SECOND;
  graph->wait_sequence = 4;
  graph->wait_desc = sfshm_desc_signature(SFSHM_CALL_REDUCE, (sfshm_unit_t){SFSHM_BASE_DOUBLE, 1}, SFSHM_OP_SUM) | 4;
  for (int i = 0; i < 3; i++)
    shared->lanes[i] = (sfshm_lane_counters_t){.kind = i == 2 ? SFSHM_PEER_NODE : SFSHM_PEER_RANK,
                                               .peer = 10 + i,
                                               .awaiting = i > 0 ? SFSHM_AWAITS_MESSAGE : 0};
  ck_assert_int_eq(sfreport_state_read(region.fd, 0, &message), SF_OK);
  const Sfproto__RankState *state = message->rank_state;
  ck_assert_str_eq(state->job, "cg");
  ck_assert_int_eq(state->rank, 3);
  ck_assert_int_eq(state->pid, (int)getpid());
  ck_assert_str_eq(state->process, "running");
  ck_assert_uint_eq(state->n_graphs, 1);
  ck_assert_uint_eq(state->graphs[0]->begun, 5);
  ck_assert_uint_eq(state->graphs[0]->completed, 3);
  ck_assert_uint_ge(state->graphs[0]->waiting_ns, ago_s * SECOND);
  ck_assert_str_eq(state->graphs[0]->wait_call, "reduce(double, sum)");
  ck_assert_uint_eq(state->graphs[0]->n_awaited_ranks, 1);
  ck_assert_int_eq(state->graphs[0]->awaited_ranks[0], 11);
  ck_assert_uint_eq(state->graphs[0]->n_awaited_nodes, 1);
  ck_assert_int_eq(state->graphs[0]->awaited_nodes[0], 12);
  sfproto__message__free_unpacked(message, NULL);
  memset((char *)shared + sizeof shared->header, 0xff, sizeof *shared - sizeof shared->header); /* nonsense */
  ck_assert_int_eq(sfreport_state_read(region.fd, 0, &message), SF_OK);
  ck_assert_uint_eq(message->rank_state->n_graphs, SFSHM_COUNTED_GRAPHS);
  sfproto__message__free_unpacked(message, NULL);
  sfshm_region_destroy(&region);
}
