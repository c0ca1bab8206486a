/* Creates a graph together with the other ranks of its group and the daemon. With GraphCreate each rank proposes that
 * the graph be ready in one round:
 *
 *   NAME    an equal plan is cached: sends its lanes and the earlier graph for which it was made
 *   EDGES   else: sends the edges, as a sorted list, and lanes to the ranks of the node to whose roots the edges lead
 *
 * The graph is ready with the answer if all ranks named the same graph, or if edges lead back exactly from where lanes
 * were offered. Otherwise ranks that named a graph are asked for their edges, and ranks that lack lanes make their plan
 * and go through a second round:
 *
 *   COMMIT  sends lanes to all ranks of the node with which there are edges
 *
 * An error that a rank sends becomes the error of all ranks. An error found when the graph is ready fails the graph for
 * all ranks. */
#include "client/setup/create.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup/create_internal.h"
#include "client/setup/edge_loans.h"
#include "client/setup/lanes.h"
#include "client/setup/trunk_memory.h"
#include "shm/base/error.h"

#define OFFERED_MAX 4096

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

void sfc_setup_note_error(sfc_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf)
{
  sfc_setup_error_t *error = &setup->error;
  if (error->status != SF_OK && (error->rank < rank || (error->rank == rank && error->leaf <= leaf)))
    return;
  error->status = status;
  error->rank = rank;
  error->leaf = leaf;
  char where[64];
  if (leaf >= 0)
    snprintf(where, sizeof where, "rank %d, leaf %lld", rank, (long long)leaf);
  else
    snprintf(where, sizeof where, "rank %d", rank);
  snprintf(error->detail, sizeof error->detail, "%s: %s: %s", setup->caller, where, sfshm_error_detail());
}

/* Arguments that are reported like errors in the edges, because the other ranks are in the set-up. */
static void check_call(sfc_setup_t *setup, const sfc_setup_caller_t *finding, sf_graph_t *const *graph_p)
{
  uint32_t flags = setup->graph->flags;
  if (finding->status != SF_OK)
    sfc_setup_note_error(setup, sfshm_error(finding->status, "%s", finding->detail), setup->group->rank, finding->leaf);
  else if (graph_p == NULL)
    sfc_setup_note(setup, sfshm_error(SF_ERR_ARG, "there is no place for the result"));
  else if ((flags & ~(SF_GRAPH_COPY | SF_GRAPH_REPRODUCIBLE | SF_GRAPH_UNORDERED | SF_GRAPH_TOGETHER |
                      finding->own_flags)) != 0)
    sfc_setup_note(setup, sfshm_error(SF_ERR_ARG, "unknown flags 0x%x", flags));
}

static sf_status_t check_input(const sfc_edge_input_t *input)
{
  if (input->nroots < 0 || input->nleaves < 0)
    return sfshm_error(SF_ERR_ARG, "nroots %lld, nleaves %lld", (long long)input->nroots, (long long)input->nleaves);
  if (input->nleaves > 0 && (input->root_rank == NULL || input->root_index == NULL))
    return sfshm_error(SF_ERR_ARG, "%s is NULL with %lld leaves", input->root_rank == NULL ? "root_rank" : "root_index",
                       (long long)input->nleaves);
  return SF_OK;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

typedef enum step { NAME, EDGES, COMMIT, READY, OVER } step_t;

static void watch(sfc_setup_t *setup, int phase)
{
  sfc_trace_phase(&setup->phases, setup->group->context, phase);
}

/* Resets the graph. The daemon has told nobody of its slots. */
static void drop_plan(sfc_setup_t *setup)
{
  sfc_lane_addresses_free(&setup->offered);
  sfc_lanes_strip(setup->graph);
  sfc_plan_release(setup->group->context, setup->plan);
  setup->plan = NULL;
}

/* Applies a cached plan and makes lanes with slots. Without memory the plan is not used. */
static bool apply_plan(sfc_setup_t *setup)
{
  sf_graph_t *graph = setup->graph;
  setup->plan = sfc_plan_find(graph->group, setup->input, graph->flags);
  if (setup->plan == NULL)
    return false;
  sf_status_t status = sfc_plan_apply(setup->plan, graph);
  if (status == SF_OK)
    status = sfc_lanes_make_tables(graph);
  if (status == SF_OK)
    status = sfc_lanes_make_slots(graph);
  if (status == SF_OK)
    status = sfc_lane_addresses_of_lanes(graph, &setup->offered);
  if (status != SF_OK)
    drop_plan(setup);
  return status == SF_OK;
}

static step_t name_earlier(sfc_setup_t *setup)
{
  if (!sfc_setup_create(setup))
    return OVER;
  if (!sfc_setup_reply(setup)->has_edges_of)
    return READY;
  drop_plan(setup);
  return EDGES;
}

static sf_status_t make_own_list(sfc_setup_t *setup, int64_t *bad_leaf)
{
  sfc_edge_exchange_t *lists = &setup->lists;
  sf_status_t status = check_input(setup->input);
  if (status == SF_OK)
    status = sfc_edge_list_make(setup->input, setup->group->rank, setup->group->size, &lists->own, bad_leaf);
  if (status == SF_OK)
    status = sfc_edge_exchange_publish(lists);
  return status;
}

static step_t tell_edges(sfc_setup_t *setup)
{
  int64_t bad_leaf = -1;
  watch(setup, 0);
  sfc_edge_loans_collect(setup->group->context);
  if (setup->error.status == SF_OK) {
    sf_status_t status = make_own_list(setup, &bad_leaf);
    /* Lanes before it is known which ranks need them, so that one round may suffice; not too many for a message. */
    if (status == SF_OK && setup->lists.own.nparts <= OFFERED_MAX)
      status = sfc_lane_addresses_offer(setup->graph, &setup->lists.own, &setup->offered);
    if (status != SF_OK)
      sfc_setup_note_error(setup, status, setup->group->rank, bad_leaf);
  }
  watch(setup, SFSHM_TRACE_PHASE_SORT);
  if (!sfc_setup_create(setup))
    return OVER;
  watch(setup, SFSHM_TRACE_PHASE_GATHER);
  sfc_setup_make_plan(setup);
  watch(setup, SFSHM_TRACE_PHASE_PLAN);
  return sfc_setup_reply(setup)->ready ? READY : COMMIT;
}

static step_t commit(sfc_setup_t *setup)
{
  sf_graph_t *graph = setup->graph;
  sfc_lane_addresses_free(&setup->offered);
  if (setup->error.status == SF_OK)
    sfc_setup_note(setup, sfc_lane_addresses_of_lanes(graph, &setup->offered));
  /* First: other ranks may fail the graph as soon as it is ready, and the listener must find it. */
  if (setup->error.status == SF_OK)
    sfc_setup_note(setup, sfc_lanes_register_graph(graph));
  if (!sfc_setup_commit(setup))
    return OVER;
  watch(setup, SFSHM_TRACE_PHASE_COMMIT);
  return READY;
}

/* After one round other ranks may still read the list, so it belongs to the graph. */
static void lend_list(sfc_setup_t *setup)
{
  sfc_block_t *list = &setup->lists.handed;
  if (list->address != NULL && setup->error.status == SF_OK)
    sfc_edge_loans_add(setup->graph, list);
  else if (list->address != NULL)
    sfc_graph_retire_block(setup->graph, list);
  list->address = NULL;
}

static void keep_plan(sfc_setup_t *setup)
{
  if (setup->plan != NULL) {
    sfc_plan_used(setup->group->context, setup->plan);
    return;
  }
  sfc_trace_write_phases(setup->graph, &setup->phases);
  sfc_plan_make(setup->graph, setup->snapshot);
  setup->snapshot = NULL;
}

static sf_status_t connect(sfc_setup_t *setup, bool one_round)
{
  sf_status_t status = sfc_lanes_connect(setup->graph, sfc_setup_reply(setup));
  if (status == SF_OK && one_round && setup->plan == NULL)
    sfc_edge_loans_acknowledge(setup->graph);
  return status;
}

/* The other ranks have the graph, so this rank has it too, and any error fails it for all ranks. After one round the
 * plan is then freed, except memory that peers may use. */
static step_t become_ready(sfc_setup_t *setup)
{
  sf_graph_t *graph = setup->graph;
  bool one_round = !sfc_graph_is_linked(graph);
  if (setup->error.status == SF_OK)
    sfc_setup_note(setup, connect(setup, one_round));
  watch(setup, SFSHM_TRACE_PHASE_CONNECT);
  if (one_round && setup->error.status != SF_OK)
    sfc_lanes_strip(graph);
  if (one_round)
    sfc_setup_note(setup, sfc_lanes_register_graph(graph));
  if (one_round)
    lend_list(setup);
  if (setup->error.status == SF_OK)
    keep_plan(setup);
  else
    sfc_graph_fail_everywhere(graph, setup->error.status, setup->error.detail);
  return OVER;
}

static void run(sfc_setup_t *setup)
{
  sfc_graph_expect(setup->group->context);
  for (step_t step = setup->error.status == SF_OK && apply_plan(setup) ? NAME : EDGES; step != OVER;)
    switch (step) {
    case NAME:
      step = name_earlier(setup);
      break;
    case EDGES:
      step = tell_edges(setup);
      break;
    case COMMIT:
      step = commit(setup);
      break;
    default:
      step = become_ready(setup);
      break;
    }
  if (!sfc_graph_is_linked(setup->graph))
    sfc_graph_give_up(setup->group->context);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static sf_status_t new_graph(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags, sf_graph_t **graph_p)
{
  sf_graph_t *graph = calloc(1, sizeof *graph);
  sfc_retired_record_t *record = sfc_retired_record_new();
  if (graph == NULL || record == NULL) {
    free(graph);
    free(record);
    return SF_ERR_NOMEM;
  }
  graph->context = group->context;
  graph->memory.record = record;
  graph->group = sfc_group_hold(group);
  graph->generation = group->context->generation;
  graph->flags = flags;
  graph->rank = group->rank;
  graph->size = group->size;
  graph->nroots = input->nroots;
  graph->nleaves = input->nleaves;
  *graph_p = graph;
  return SF_OK;
}

/* Frees a graph that nobody knows of. */
static void free_graph(sf_graph_t *graph)
{
  if (graph->memory.shared.address != NULL)
    sfc_heap_give(&graph->context->inbox, &graph->memory.shared);
  sfc_graph_unlink(graph);
  sfc_group_release(graph->group);
  sfc_graph_free(graph);
}

static void free_setup(sfc_setup_t *setup)
{
  sfc_lane_addresses_free(&setup->offered);
  sfproto_incoming_free(&setup->reply);
  sfc_edge_exchange_free(&setup->lists);
  sfc_edge_snapshot_free(setup->snapshot);
  if (setup->plan != NULL)
    sfc_plan_release(setup->group->context, setup->plan);
}

static sf_status_t set_up(sf_graph_t *graph, const sfc_edge_input_t *input, const sfc_setup_caller_t *finding,
                          sf_graph_t **graph_p)
{
  sf_group_t *group = graph->group;
  sfc_setup_t setup = {.caller = finding->caller,
                       .group = group,
                       .graph = graph,
                       .input = input,
                       .lists = {.group = group, .own = {.region = {.fd = -1}}}};
  check_call(&setup, finding, graph_p);
  sfc_counters_block(&group->context->counters, SFSHM_BLOCKED_IN_GRAPH, graph->call_site);
  run(&setup);
  sfc_counters_unblock(&group->context->counters);
  free_setup(&setup);
  return setup.error.agreed ? setup.error.status : SF_OK;
}

sf_status_t sfc_graph_create(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags,
                             const sfc_setup_caller_t *finding, sf_graph_t **graph_p)
{
  const char *caller = finding->caller, *place = sfc_call_site_take();
  sf_graph_t *graph;
  if (group == NULL) /* nobody can be told */
    return sfshm_error(SF_ERR_ARG, "%s: group is NULL", caller);
  sf_context_t *context = group->context;
  sf_status_t status = sfc_context_check(context, caller);
  if (status == SF_OK)
    status = sfc_context_failure(context);
  if (status != SF_OK)
    return status;
  sfc_retired_tell_daemon(context);
  if (new_graph(group, input, flags, &graph) != SF_OK)
    return sfc_daemon_give_up(&context->control, sfshm_error(SF_ERR_NOMEM, "%s: graph", caller));
  graph->call_site = place;
  status = set_up(graph, input, finding, graph_p);
  if (status == SF_OK)
    *graph_p = graph;
  else
    free_graph(graph);
  return status;
}

static const sfc_setup_caller_t plain = {.caller = "sf_graph_create"};

sf_status_t sf_graph_create(sf_group_t *group, int64_t nroots, int64_t nleaves, const int64_t leaf_index[],
                            const int32_t root_rank[], const int64_t root_index[], uint32_t flags, sf_graph_t **graph_p)
{
  sfc_edge_input_t input = {nroots, nleaves, leaf_index, root_rank, root_index, true};
  return sfc_graph_create(group, &input, flags, &plain, graph_p);
}

sf_status_t sf_graph_create_i32(sf_group_t *group, int64_t nroots, int64_t nleaves, const int32_t leaf_index[],
                                const int32_t root_rank[], const int32_t root_index[], uint32_t flags,
                                sf_graph_t **graph_p)
{
  sfc_edge_input_t input = {nroots, nleaves, leaf_index, root_rank, root_index, false};
  return sfc_graph_create(group, &input, flags, &plain, graph_p);
}
