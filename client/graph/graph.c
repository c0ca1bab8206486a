/* Graphs after set-up: failing, information, destruction. */
#include "client/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/compound/composite.h"
#include "client/compound/multigraph.h"
#include "client/core/context.h"
#include "client/core/device.h"
#include "client/core/group.h"
#include "client/engine/device_staging.h"
#include "client/engine/eager.h"
#include "client/engine/offload.h"
#include "client/engine/operation.h"
#include "client/engine/trunk.h"
#include "client/plan/edge_readback.h"
#include "client/setup/edge_loans.h"
#include "client/setup/lanes.h"
#include "client/setup/plan_cache.h"
#include "client/streams/operation.h"
#include "shm/base/error.h"

/* A multi-graph is made where its graph was. */
void sfc_graph_text(const sf_graph_t *graph, char text[SFC_GRAPH_TEXT_BYTES])
{
  const sf_graph_t *made = graph;
  while (made->parent != NULL && (made->counts == NULL || made->counts->place[0] == '\0'))
    made = made->parent;
  const char *place = made->counts != NULL ? made->counts->place : "";
  snprintf(text, SFC_GRAPH_TEXT_BYTES, place[0] != '\0' ? "graph %llu (%s)" : "graph %llu",
           (unsigned long long)graph->number, place);
}

sf_status_t sfc_graph_failure(const sf_graph_t *graph)
{
  /* Pairs with the release in sfc_graph_fail: who sees the status sees the text. */
  int failed = atomic_load_explicit(&graph->failed, memory_order_acquire);
  return failed == SF_OK ? SF_OK : sfshm_error((sf_status_t)failed, "%s", graph->failure_detail);
}

void sfc_graph_fail(sf_graph_t *graph, sf_status_t status, const char *detail)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the owner and the listener may both find a reason */
  pthread_mutex_lock(&lock);
  if (atomic_load_explicit(&graph->failed, memory_order_relaxed) == SF_OK) {
    strncpy(graph->failure_detail, detail, sizeof graph->failure_detail - 1);
    atomic_store_explicit(&graph->failed, status, memory_order_seq_cst); /* see watchdog.c */
  }
  pthread_mutex_unlock(&lock);
  sfc_streams_alarm();
}

/* These first: who sees the one fail finds the others failed. */
static void fail_with_parents(sf_graph_t *graph, sf_status_t status, const char *detail)
{
  if (graph->parent != NULL)
    fail_with_parents(graph->parent, status, detail);
  sfc_graph_fail(graph, status, detail);
}

void sfc_graph_fail_family(sf_graph_t *graph, sf_status_t status, const char *detail)
{
  sf_graph_t *multi = sfc_multi_of(graph);
  fail_with_parents(graph, status, detail);
  if (multi != NULL)
    sfc_graph_fail(multi, status, detail);
}

static const sf_graph_t *oldest_of(const sf_graph_t *graph)
{
  while (graph->parent != NULL)
    graph = graph->parent;
  return graph;
}

/* All that descend from the same graph, under the context's lock. */
static void fail_kin(const sf_graph_t *graph, sf_status_t status, const char *detail)
{
  const sf_graph_t *oldest = oldest_of(graph);
  for (sf_graph_t *kin = graph->context->graphs; kin != NULL; kin = kin->next)
    if (oldest_of(kin) == oldest)
      fail_with_parents(kin, status, detail);
}

/* The one of these in whose meeting this rank waits; 0: in none. */
static uint64_t find_meeting(const sf_graph_t *graph)
{
  const sf_graph_t *oldest = oldest_of(graph), *kin = graph->context->graphs;
  while (kin != NULL && (oldest_of(kin) != oldest || !kin->is_meeting))
    kin = kin->next;
  return kin != NULL ? kin->number : 0;
}

static void fail_as(const sf_graph_t *failed, const sf_graph_t *graph)
{
  int status = atomic_load_explicit(&failed->failed, memory_order_acquire);
  if (status != SF_OK)
    fail_kin(graph, (sf_status_t)status, failed->failure_detail);
}

/* Either may have failed before the listener knew that they belong together. */
void sfc_graph_set_parent(sf_graph_t *graph, sf_graph_t *parent)
{
  pthread_mutex_lock(&graph->context->lock);
  graph->parent = parent;
  if (parent != NULL) {
    fail_as(parent, graph);
    fail_as(graph, graph);
  }
  pthread_mutex_unlock(&graph->context->lock);
}

void sfc_graph_tell_failure(sf_context_t *context, uint64_t graph, sf_status_t status, const char *detail)
{
  Sfproto__GraphFail fail = SFPROTO__GRAPH_FAIL__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  fail.graph = graph;
  fail.detail = (char *)(uintptr_t)detail; /* only read */
  fail.has_status = true;
  fail.status = status;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_FAIL;
  message.graph_fail = &fail;
  (void)sfc_control_tell(&context->control, &message, NULL, 0); /* the failure itself is what counts */
}

void sfc_graph_failed(sf_context_t *context, uint64_t number, sf_status_t status, const char *detail)
{
  pthread_mutex_lock(&context->lock);
  const sf_graph_t *graph = context->graphs;
  uint64_t meeting = 0;
  while (graph != NULL && graph->number != number)
    graph = graph->next;
  if (graph != NULL) {
    fail_kin(graph, status, detail);
    meeting = find_meeting(graph);
  } else {
    sfc_instance_keep_failure(context, number, status, detail);
  }
  pthread_mutex_unlock(&context->lock);
  sfshm_wake_always(context->wake);
  if (meeting != 0 && meeting != number)
    sfc_graph_tell_failure(context, meeting, status, detail);
}

/* Remembers the graph's shared memory until the daemon says that nobody touches it. */
static void retire_memory(sf_graph_t *graph)
{
  if (graph->shared.address != NULL)
    sfc_graph_leave_block(graph, &graph->shared);
  if (graph->lent.address != NULL)
    sfc_graph_leave_block(graph, &graph->lent);
  for (int32_t i = 0; i < graph->nlanes; i++) {
    if (graph->lanes[i].rx_cells.address != NULL)
      sfc_graph_leave_block(graph, &graph->lanes[i].rx_cells);
    sfc_lane_leave_eager(&graph->lanes[i]);
  }
  sfc_retiring_enter(graph);
}

void sfc_graph_link(sf_graph_t *graph)
{
  sf_context_t *context = graph->context;
  graph->next = context->graphs;
  graph->link = &context->graphs;
  if (graph->next != NULL)
    graph->next->link = &graph->next;
  context->graphs = graph;
}

void sfc_graph_unlink(sf_graph_t *graph)
{
  sf_context_t *context = graph->context;
  pthread_mutex_lock(&context->lock);
  if (graph->link != NULL) {
    *graph->link = graph->next;
    if (graph->next != NULL)
      graph->next->link = graph->link;
    graph->link = NULL;
  }
  sfc_lent_forget(graph);
  sfc_counters_settle(&context->counters, graph);
  pthread_mutex_unlock(&context->lock);
}

static void free_request(sf_request_t *request)
{
  if (request == NULL)
    return;
  sfc_stage_free(request);
  free(request);
}

static void free_requests(sf_request_t *request)
{
  while (request != NULL) {
    sf_request_t *next = request->next;
    free_request(request);
    request = next;
  }
}

void sfc_graph_free_own_plan(sf_graph_t *graph)
{
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_link_destroy(&graph->lanes[i].as_root);
    sfc_link_destroy(&graph->lanes[i].as_leaf);
  }
  sfc_link_destroy(&graph->self);
  for (int32_t i = 0; i < graph->nlists; i++)
    sfc_device_destroy_region(&graph->lists[i]);
  if (graph->winner_turns != graph->turns)
    free(graph->winner_turns);
  free(graph->turns);
  free(graph->lists);
  sfc_origin_free(graph->origin);
}

void sfc_graph_free(sf_graph_t *graph)
{
  if (graph == NULL)
    return;
  sfc_left_free(graph->left, NULL);
  free(graph->retiring);
  free_requests(graph->free_requests);
  sfc_composites_drop(graph->persistent);
  free_requests(graph->persistent);
  free_request(graph->recent[0]);
  free_request(graph->recent[1]);
  sfc_composites_free(graph->composites);
  sfc_multi_free(graph);
  if (graph->plan == NULL)
    sfc_graph_free_own_plan(graph);
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_offload_free_lane(&graph->lanes[i]);
    sfc_lane_free_eager(&graph->lanes[i]);
  }
  free(graph->lanes);
  free(graph->senders[0]);
  sfc_trunks_free(graph->context, graph->trunks);
  free(graph->expecting);
  free(graph->table);
  if (graph->plan != NULL)
    sfc_plan_let_go(graph->context, graph->plan);
  free(graph);
}

/* The graph's, those of its multi-graph, and so on. */
static bool streams_are_busy(const sf_graph_t *graph)
{
  return graph != NULL && (sfc_streams_are_busy(graph) || streams_are_busy(sfc_multi_of(graph)));
}

/* While the listener knows the graphs, and that they belong together: what streams wait for may fail. */
static void tear_streams_down(sf_graph_t *graph)
{
  if (graph == NULL)
    return;
  tear_streams_down(sfc_multi_of(graph));
  sfc_streams_tear_down(graph);
}

sf_status_t sf_graph_destroy(sf_graph_t *graph)
{
  if (graph == NULL)
    return SF_OK;
  sf_context_t *context = graph->context;
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  if (graph->parent != NULL)
    return sfshm_error(SF_ERR_ARG, "sf_graph_destroy: the multi-graph of graph %llu goes with that",
                       (unsigned long long)graph->parent->number);
  if (graph->in_flight > 0 || sfc_multi_is_busy(graph))
    return sfshm_error(SF_ERR_STATE, "sf_graph_destroy: operations are in flight");
  if (!sfc_graph_is_failed(graph) && streams_are_busy(graph))
    return sfshm_error(SF_ERR_STATE, "sf_graph_destroy: operations on streams have not been ended");
  tear_streams_down(graph);
  sfc_multi_destroy(graph);
  sfc_graph_unlink(graph);
  if (graph->trunks != NULL) { /* before any thread can tell that it is destroyed */
    sfc_submitter_settle(&context->submitter);
    sfc_trunk_slots_close(&graph->trunks->slots);
  }
  retire_memory(graph);
  sfc_graphs_tell_destroyed(context);
  sfc_group_let_go(graph->group);
  sfc_graph_free(graph);
  sfc_plans_make_room(context);
  return SF_OK;
}

sf_status_t sf_graph_info(const sf_graph_t *graph, sf_graph_info_t *info_p)
{
  if (graph == NULL || info_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_graph_info: %s is NULL", graph == NULL ? "graph" : "info_p");
  sf_graph_info_t info = {.nroots = graph->nroots,
                          .nleaves = graph->nleaves,
                          .leaf_space = graph->leaf_max + 1,
                          .nleaves_self = graph->self.nedges,
                          .operations = graph->last_sequence};
  for (int32_t i = 0; i < graph->nlanes; i++) {
    const sfc_lane_t *lane = &graph->lanes[i];
    info.nroot_ranks += lane->trunk != NULL ? lane->trunk->nroot_ranks : lane->as_leaf.nedges > 0;
    info.nleaf_ranks += lane->trunk != NULL ? lane->trunk->nturns : lane->as_root.nedges > 0;
    info.nroot_values_sent += lane->as_root.nvalues;
    info.nroot_contributions += lane->as_root.nedges;
  }
  *info_p = info;
  return SF_OK;
}
