/* Making a graph, together with the other ranks of its group and the daemon:
 *
 *   check and sort the edges, freeze the list        each rank, in parallel
 *   GraphCreate  ──▶ daemon ──▶  GraphPeers          who has leaves on whose roots, and the lists that say where
 *   check the roots, make links, prepare slots       each rank, in parallel
 *   GraphCommit  ──▶ daemon ──▶  GraphReady          all succeeded: where each other's slots are
 *
 * An error of any rank, in either half, becomes the error of all. In a group on one node, or two, each rank prepares
 * slots for those of its node to whose roots its edges lead before it sends GraphCreate. If edges lead back from just
 * these, everywhere, the graph is ready with GraphPeers, and has no second half: what a rank then finds wrong makes the
 * graph fail, for all. A graph whose edges all ranks have given before is made otherwise: see reuse.h. */
#include "client/setup/create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/call_site.h"
#include "client/core/context.h"
#include "client/core/group.h"
#include "client/graph/failure.h"
#include "client/graph/retired_memory.h"
#include "client/graph/trace.h"
#include "client/setup/create_internal.h"
#include "client/setup/edge_loans.h"
#include "client/setup/lanes.h"
#include "client/setup/trunk_memory.h"
#include "shm/base/error.h"

#define OFFERED_MAX 4096

void sfc_setup_note_error(sfc_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf)
{
  if (setup->status != SF_OK && (setup->error_rank < rank || (setup->error_rank == rank && setup->error_leaf <= leaf)))
    return;
  setup->status = status;
  setup->error_rank = rank;
  setup->error_leaf = leaf;
  char where[64];
  if (leaf >= 0)
    snprintf(where, sizeof where, "rank %d, leaf %lld", rank, (long long)leaf);
  else
    snprintf(where, sizeof where, "rank %d", rank);
  snprintf(setup->error_detail, sizeof setup->error_detail, "%s: %s: %s", setup->caller, where, sfshm_error_detail());
}

static void fill_error(const sfc_setup_t *setup, Sfproto__SetupError *error)
{
  sfproto__setup_error__init(error);
  error->status = setup->status;
  error->rank = setup->error_rank;
  error->leaf = setup->error_leaf;
  error->detail = (char *)(uintptr_t)setup->error_detail; /* only read; protobuf-c has no const */
}

/* Whether ranks of the node have to share cores. */
static bool shares_cores(const sf_context_t *context)
{
  return atomic_load_explicit(&context->board->participants, memory_order_relaxed) >
         atomic_load_explicit(&context->board->cores, memory_order_relaxed);
}

/* The daemon's answer, for which all ranks have to do something first. Over nodes it takes messages between them, and
 * who looks for it meanwhile takes the core in turns from those with work to do. */
static sf_status_t receive_answer(const sfc_setup_t *setup, uint64_t request, Sfproto__Message__BodyCase expected,
                                  sfproto_incoming_t *incoming)
{
  sf_context_t *context = setup->group->context;
  if (!sfc_group_is_local(setup->group) && shares_cores(context))
    return sfc_control_receive_late(&context->control, request, expected, incoming);
  return sfc_control_receive(&context->control, request, expected, incoming);
}

/* ---- First half -------------------------------------------------------------------------------------------------- */

/* What the others, who are in the set-up, are told as any error in the edges. */
static void check_call(sfc_setup_t *setup, uint32_t flags, sf_graph_t *const *graph_p)
{
  sf_status_t status = SF_OK;
  if (graph_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "there is no place for the result");
  else if ((flags & ~(uint32_t)(SF_GRAPH_COPY | SF_GRAPH_REPRODUCIBLE | SF_GRAPH_UNORDERED)) != 0)
    status = sfshm_error(SF_ERR_ARG, "unknown flags 0x%x", flags);
  if (status != SF_OK && setup->status == SF_OK)
    sfc_setup_note_error(setup, status, setup->group->rank, -1);
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

static void make_own_list(sfc_setup_t *setup, const sfc_edge_input_t *input)
{
  int64_t bad_leaf = -1;
  if (setup->status != SF_OK) /* found before */
    return;
  sf_status_t status = check_input(input);
  if (status == SF_OK)
    status = sfc_edge_list_make(input, setup->group->rank, setup->group->size, &setup->lists.own, &bad_leaf);
  if (status == SF_OK)
    status = sfc_lists_hand_out(&setup->lists);
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, setup->group->rank, bad_leaf);
}

/* Slots before it is known who else needs some, so that the graph may be ready at once. Of very many lanes the message
 * would become too long. */
static void offer_lanes(sfc_setup_t *setup)
{
  if (setup->status != SF_OK || setup->lists.own.nparts > OFFERED_MAX || setup->group->spread > 2)
    return;
  sf_status_t status = sfc_ends_offer(setup->graph, &setup->lists.own, &setup->offered);
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, setup->group->rank, -1);
}

/* Sends a message with what has been made, or with the error if there is one. */
typedef sf_status_t send_fn_t(sfc_setup_t *setup, const void *made, uint64_t *request_p);

/* What can't be sent is an error, which is shorter. */
static sf_status_t send_or_error(sfc_setup_t *setup, send_fn_t *send, const void *made, uint64_t *request_p)
{
  bool good = setup->status == SF_OK;
  sf_status_t status = send(setup, made, request_p);
  if (status == SF_OK || !good)
    return status;
  sfc_setup_note_error(setup, status, setup->group->rank, -1);
  return send(setup, made, request_p);
}

/* The input, and room for the description of its blocks for other ranks. */
typedef struct described {
  const sfc_edge_input_t *input;
  Sfproto__EdgeBlock *blocks;
  Sfproto__EdgeBlock **pointers;
} described_t;

static sf_status_t send_create(sfc_setup_t *setup, const void *made, uint64_t *request_p)
{
  const described_t *described = made;
  const sfc_edge_input_t *input = described->input;
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  Sfproto__SetupError error;
  create.group = setup->group->number;
  create.nroots = input->nroots < 0 ? 0 : input->nroots;
  create.nleaves = input->nleaves < 0 ? 0 : input->nleaves;
  create.flags = setup->graph->flags;
  create.has_number = setup->reuse.asked;
  create.number = setup->reuse.asked_number;
  if (setup->status == SF_OK) {
    create.n_blocks = sfc_lists_describe(&setup->lists, described->blocks, described->pointers);
    create.blocks = described->pointers;
    create.has_at_once = create.at_once = setup->offered.ends != NULL;
    create.lanes = setup->offered.pointers;
    create.n_lanes = setup->offered.n;
  } else {
    fill_error(setup, &error);
    create.error = &error;
  }
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &create;
  sf_status_t status = sfc_control_send(&setup->group->context->control, &message, &setup->lists.own.region.fd,
                                        create.n_blocks > 0 && !described->blocks[0].has_segment ? 1 : 0);
  *request_p = message.request;
  return status;
}

static sf_status_t begin_first_half(sfc_setup_t *setup, const sfc_edge_input_t *input, uint64_t *request_p)
{
  size_t nparts = (size_t)setup->lists.own.nparts;
  described_t described = {input, calloc(nparts + 1, sizeof *described.blocks),
                           calloc(nparts + 1, sizeof *described.pointers)};
  if (described.blocks == NULL || described.pointers == NULL)
    sfc_setup_note_error(setup, sfshm_error(SF_ERR_NOMEM, "message about %zu root ranks", nparts), setup->group->rank,
                         -1);
  sf_status_t status = send_or_error(setup, send_create, &described, request_p);
  free(described.blocks);
  free(described.pointers);
  return status;
}

/* An error is noted, for the commit to tell. */
static void add_peers(sfc_setup_t *setup, const sfproto_incoming_t *incoming)
{
  int32_t rank;
  setup->graph->number = incoming->message->graph_peers->graph;
  sf_status_t status = sfc_lists_take_in(&setup->lists, incoming, &rank);
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, rank, -1);
}

/* What the last message says of trunks. */
static void take_sides(sfc_setup_t *setup, sfproto_incoming_t *incoming)
{
  Sfproto__GraphPeers *told = incoming->message->graph_peers;
  if (told->n_sides == 0 || setup->status != SF_OK)
    return;
  setup->sides = malloc(told->n_sides * sizeof *setup->sides);
  if (setup->sides == NULL) {
    sfc_setup_note_error(setup, sfshm_error(SF_ERR_NOMEM, "table of trunks"), setup->group->rank, -1);
    return;
  }
  memcpy(setup->sides, told->sides, told->n_sides * sizeof *setup->sides);
  setup->nsides = told->n_sides;
  sf_status_t status = sfc_given_map_take(&setup->map, incoming, told->has_map ? &told->map : NULL);
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, setup->group->rank, -1);
}

/* The daemon has failed the graph, which others have: so does this rank. */
static void take_failure(sfc_setup_t *setup, const Sfproto__SetupError *error)
{
  if (error != NULL)
    sfc_setup_note_error(setup, sfshm_error((sf_status_t)error->status, "%s", error->detail), setup->group->rank, -1);
}

static sf_status_t receive_peers(sfc_setup_t *setup, uint64_t request)
{
  sfproto_incoming_t *told = &setup->told;
  do {
    sfproto_incoming_free(told);
    sf_status_t status = receive_answer(setup, request, SFPROTO__MESSAGE__BODY_GRAPH_PEERS, told);
    if (status != SF_OK)
      return status;
    add_peers(setup, told);
    take_sides(setup, told);
    take_failure(setup, told->message->graph_peers->error);
  } while (told->message->graph_peers->more);
  setup->ready = told->message->graph_peers->ready;
  sfc_lists_sort(&setup->lists);
  return SF_OK;
}

/* ---- Second half ------------------------------------------------------------------------------------------------- */

/* The graph is ready. */
static void keep_plan(sfc_setup_t *setup)
{
  sfc_watch_write_phases(setup->graph, &setup->phases);
  sfc_plan_make(setup->graph, setup->given);
  setup->given = NULL;
}

static sf_status_t send_commit(sfc_setup_t *setup, const void *made, uint64_t *request_p)
{
  const sfc_ends_t *ends = made;
  Sfproto__GraphCommit commit = SFPROTO__GRAPH_COMMIT__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  Sfproto__SetupError error;
  commit.graph = setup->graph->number;
  if (setup->status == SF_OK) {
    commit.n_lanes = ends->n;
    commit.lanes = ends->pointers;
  } else {
    fill_error(setup, &error);
    commit.error = &error;
  }
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_COMMIT;
  message.graph_commit = &commit;
  sf_status_t status = sfc_control_send(&setup->group->context->control, &message, NULL, 0);
  *request_p = message.request;
  return status;
}

static sf_status_t commit(sfc_setup_t *setup, sfproto_incoming_t *ready)
{
  uint64_t request;
  sfc_ends_t ends = {.n = 0};
  if (setup->status == SF_OK && sfc_ends_of_lanes(setup->graph, &ends) != SF_OK)
    sfc_setup_note_error(setup, SF_ERR_NOMEM, setup->group->rank, -1);
  sf_status_t status = send_or_error(setup, send_commit, &ends, &request);
  sfc_ends_free(&ends);
  if (status != SF_OK)
    return status;
  return receive_answer(setup, request, SFPROTO__MESSAGE__BODY_GRAPH_READY, ready);
}

static sf_status_t run_second_half(sfc_setup_t *setup)
{
  sfproto_incoming_t ready;
  const sf_context_t *context = setup->group->context;
  /* First: once it is ready others may fail it, and the listener must find it then. */
  if (setup->status == SF_OK && sfc_instance_enter(setup->graph, false) != SF_OK)
    sfc_setup_note_error(setup, SF_ERR_NOMEM, setup->group->rank, -1);
  sf_status_t status = commit(setup, &ready);
  if (status != SF_OK)
    return status;
  sfc_watch_phase(&setup->phases, context, SFSHM_TRACE_PHASE_COMMIT);
  status = sfc_instance_connect(setup->graph, &ready);
  sfproto_incoming_free(&ready);
  sfc_watch_phase(&setup->phases, context, SFSHM_TRACE_PHASE_CONNECT);
  if (status != SF_OK) /* the others believe that the graph is ready: let them know */
    sfc_graph_fail_everywhere(setup->graph, status, sfshm_error_detail());
  else
    keep_plan(setup);
  return SF_OK;
}

/* ---- Ready at once ----------------------------------------------------------------------------------------------- */

/* The others have the graph already. So that all know the same, this rank has it too; it fails for all of them. What
 * was made of it is thrown away, but for the memory that others may be using. */
static void fail_at_once(sfc_setup_t *setup)
{
  setup->graph->lent = setup->lists.handed;
  setup->lists.handed.address = NULL;
  sfc_graph_fail_everywhere(setup->graph, setup->status, setup->error_detail);
}

static void finish_at_once(sfc_setup_t *setup)
{
  if (setup->status != SF_OK)
    sfc_instance_strip(setup->graph);
  if (sfc_instance_enter(setup->graph, true) != SF_OK)
    sfc_setup_note_error(setup, SF_ERR_NOMEM, setup->group->rank, -1);
  if (setup->status != SF_OK) {
    fail_at_once(setup);
    return;
  }
  if (setup->lists.handed.address != NULL)
    sfc_lent_add(setup->graph, &setup->lists.handed);
  setup->lists.handed.address = NULL;
  keep_plan(setup);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static void free_setup(sfc_setup_t *setup)
{
  sfc_ends_free(&setup->offered);
  sfproto_incoming_free(&setup->told);
  free(setup->remote);
  free(setup->sides);
  sfc_given_map_free(&setup->map);
  sfc_lists_free(&setup->lists);
  sfc_given_free(setup->given);
}

static sf_status_t run_full_setup(sfc_setup_t *setup, const sfc_edge_input_t *input)
{
  uint64_t request;
  sf_context_t *context = setup->group->context;
  sfc_watch_phases_t *phases = &setup->phases;
  sfc_watch_phase(phases, context, 0);
  sfc_lent_collect(context);
  make_own_list(setup, input);
  offer_lanes(setup);
  sfc_watch_phase(phases, context, SFSHM_TRACE_PHASE_SORT);
  sfc_graph_expect(context);
  sf_status_t status = begin_first_half(setup, input, &request);
  if (status == SF_OK && setup->status == SF_OK)
    setup->given = sfc_given_make(input); /* while others are busy, too */
  if (status == SF_OK)
    status = receive_peers(setup, request);
  sfc_watch_phase(phases, context, SFSHM_TRACE_PHASE_GATHER);
  if (!setup->ready)
    sfc_graph_give_up(context);
  if (status != SF_OK)
    return status;
  sfc_setup_make_plan(setup);
  sfc_watch_phase(phases, context, SFSHM_TRACE_PHASE_PLAN);
  if (!setup->ready)
    return run_second_half(setup);
  finish_at_once(setup);
  return SF_OK;
}

static sf_status_t run_setup(sfc_setup_t *setup, const sfc_edge_input_t *input)
{
  sf_status_t status = SF_OK;
  if (setup->status == SF_OK)
    status = sfc_reuse_try(setup->graph, input, &setup->reuse);
  if (status != SF_OK || setup->reuse.done)
    return status;
  return run_full_setup(setup, input);
}

sf_status_t sfc_graph_create(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags,
                             const sfc_finding_t *finding, sf_graph_t **graph_p)
{
  const char *caller = finding->caller, *place = sfc_place_take();
  if (group == NULL) /* there is nobody to tell */
    return sfshm_error(SF_ERR_ARG, "%s: group is NULL", caller);
  sf_context_t *context = group->context;
  sf_status_t status = sfc_context_check(context, caller);
  if (status == SF_OK)
    status = sfc_context_failure(context);
  if (status != SF_OK)
    return status;
  sfc_graphs_tell_destroyed(context);
  sf_graph_t *graph = calloc(1, sizeof *graph);
  sfc_retiring_t *retiring = sfc_retiring_new();
  if (graph == NULL || retiring == NULL) {
    free(graph);
    free(retiring);
    return sfc_control_give_up(&context->control, sfshm_error(SF_ERR_NOMEM, "%s: graph", caller));
  }
  graph->context = context;
  graph->retiring = retiring;
  graph->group = sfc_group_hold(group);
  graph->generation = context->generation;
  graph->flags = flags;
  graph->place = place;
  graph->rank = group->rank;
  graph->size = group->size;
  graph->nroots = input->nroots;
  graph->nleaves = input->nleaves;
  sfc_setup_t setup = {.caller = caller,
                       .group = group,
                       .graph = graph,
                       .lists = {.group = group, .own = {.region = {.fd = -1}}},
                       .map = {.fd = -1}};
  if (finding->status != SF_OK)
    sfc_setup_note_error(&setup, sfshm_error(finding->status, "%s", finding->detail), group->rank, finding->leaf);
  check_call(&setup, flags, graph_p);
  sfc_counters_block(&context->counters, SFSHM_BLOCKED_IN_GRAPH, place);
  status = run_setup(&setup, input);
  sfc_counters_unblock(&context->counters);
  free_setup(&setup);
  if (status != SF_OK) {
    if (graph->shared.address != NULL)
      sfc_heap_give(&context->inbox, &graph->shared); /* nobody has been told of it */
    sfc_graph_unlink(graph);
    sfc_group_let_go(group);
    sfc_graph_free(graph);
    return status;
  }
  *graph_p = graph;
  return SF_OK;
}

static const sfc_finding_t plain = {.caller = "sf_graph_create"};

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
