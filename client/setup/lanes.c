/* Lanes of a new graph: see lanes.h. The thread that creates the graph. */
#include "client/setup/lanes.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup/plan_cache.h"
#include "client/setup/trunk_plan.h"
#include "shm/base/error.h"

/* Inbox bytes of a lane: slots for the peer's messages, then our control line, which the peer writes. */
#define LANE_BYTES (SFSHM_LANE_SLOTS * sizeof(sfshm_slot_t) + sizeof(sfshm_lane_control_t))

sf_status_t sfc_lanes_make_tables(sf_graph_t *graph)
{
  size_t n = (size_t)graph->nlanes;
  sfc_lane_t **lists = calloc(4 * n + 1, sizeof *lists);
  graph->routes.senders[0] = lists;
  graph->progress.expecting = calloc(n + 1, sizeof *graph->progress.expecting);
  graph->flight.table = calloc(4, sizeof *graph->flight.table);
  if (lists == NULL || graph->progress.expecting == NULL || graph->flight.table == NULL)
    return sfshm_error(SF_ERR_NOMEM, "tables of %zu lanes", n);
  graph->flight.table_mask = 3;
  graph->flight.first_sequence = 1;
  for (int operation = 0; operation < 2; operation++) {
    graph->routes.senders[operation] = lists + (size_t)operation * 2 * n;
    graph->routes.receivers[operation] = graph->routes.senders[operation] + n;
    for (int32_t i = 0; i < graph->nlanes; i++) {
      sfc_lane_t *lane = &graph->lanes[i];
      if (sfc_lane_sends(lane, (sfshm_operation_t)operation))
        graph->routes.senders[operation][graph->routes.nsenders[operation]++] = lane;
      if (sfc_lane_receives(lane, (sfshm_operation_t)operation))
        graph->routes.receivers[operation][graph->routes.nreceivers[operation]++] = lane;
    }
  }
  return SF_OK;
}

int32_t sfc_lanes_nlocal(const sf_graph_t *graph)
{
  return graph->nlanes - (graph->trunks != NULL ? graph->trunks->ntrunks : 0);
}

/* Earlier memory that nobody knows of is reused if it is long enough. */
sf_status_t sfc_lanes_take_slots(sf_graph_t *graph, int32_t n)
{
  sfc_heap_t *inbox = &graph->context->inbox;
  size_t bytes = (size_t)n * LANE_BYTES;
  if (graph->memory.shared.address != NULL && graph->memory.shared.length_bytes >= bytes)
    return SF_OK;
  if (graph->memory.shared.address != NULL)
    sfc_heap_give(inbox, &graph->memory.shared);
  graph->memory.shared.address = NULL;
  return sfc_heap_take(inbox, bytes, true, &graph->memory.shared);
}

sf_status_t sfc_lanes_make_slots(sf_graph_t *graph)
{
  int32_t n = sfc_lanes_nlocal(graph);
  if (n == 0)
    return SF_OK;
  sf_status_t status = sfc_lanes_take_slots(graph, n);
  if (status != SF_OK)
    return status;
  for (int32_t i = 0; i < n; i++) {
    char *memory = (char *)graph->memory.shared.address + (size_t)i * LANE_BYTES;
    graph->lanes[i].rx.slots = (sfshm_slot_t *)(void *)memory;
    graph->lanes[i].tx.control = (sfshm_lane_control_t *)(void *)(memory + SFSHM_LANE_SLOTS * sizeof(sfshm_slot_t));
  }
  return SF_OK;
}

void sfc_lanes_describe(const sf_graph_t *graph, int32_t i, int32_t rank, sfc_peer_t *peer, Sfproto__LaneEnd *end)
{
  uint64_t offset = graph->memory.shared.offset + (uint64_t)i * LANE_BYTES;
  *end = (Sfproto__LaneEnd)SFPROTO_BODY(lane_end, .rank = rank, .job_rank = graph->context->rank,
                                        .segment = graph->memory.shared.segment, .slots = offset,
                                        .control = offset + SFSHM_LANE_SLOTS * sizeof(sfshm_slot_t),
                                        .can_read = sfc_peer_can_read(&graph->context->peers, peer));
}

/* Connects the lane to the peer's slots and control line. */
static sf_status_t connect_lane(sfc_lane_t *lane, const Sfproto__LaneEnd *end)
{
  sfc_peers_t *peers = &lane->graph->context->peers;
  void *base;
  size_t length;
  sf_status_t status = sfc_peer_segment(peers, lane->peer, 0, &base, &length); /* also sets the wake word */
  if (status == SF_OK && end->segment != 0)
    status = sfc_peer_segment(peers, lane->peer, end->segment, &base, &length);
  if (status != SF_OK)
    return status;
  if (length < LANE_BYTES || end->slots > length - LANE_BYTES || end->control > length - sizeof(sfshm_lane_control_t) ||
      end->slots % SFC_BLOCK_ALIGN != 0 || end->control % SFC_BLOCK_ALIGN != 0)
    return sfshm_error(SF_ERR_PROTO, "rank %d says that its slots are outside of its memory", lane->rank);
  lane->tx.slots = (sfshm_slot_t *)(void *)((char *)base + end->slots);
  lane->rx.control = (sfshm_lane_control_t *)(void *)((char *)base + end->control);
  lane->peer_can_read = end->can_read;
  lane->tx_nontemporal = end->has_nontemporal && end->nontemporal;
  return SF_OK;
}

static sf_status_t connect_lanes(sf_graph_t *graph, Sfproto__LaneEnd *const ends[], size_t nends)
{
  sf_status_t status = SF_OK;
  int32_t n = sfc_lanes_nlocal(graph);
  if (nends != (size_t)n)
    return sfshm_error(SF_ERR_PROTO, "%d lanes expected, %zu told", n, nends);
  for (size_t i = 0; i < nends && status == SF_OK; i++) {
    int32_t k = 0;
    if (graph->lanes[i].rank == ends[i]->rank)
      k = (int32_t)i;
    while (k < n && graph->lanes[k].rank != ends[i]->rank)
      k++;
    if (k == n || graph->lanes[k].tx.slots != NULL)
      return sfshm_error(SF_ERR_PROTO, "no lane to rank %d", ends[i]->rank);
    status = connect_lane(&graph->lanes[k], ends[i]);
  }
  return status;
}

sf_status_t sfc_lanes_connect(sf_graph_t *graph, const Sfproto__GraphReply *reply)
{
  sf_status_t status = connect_lanes(graph, reply->lanes, reply->n_lanes);
  if (status != SF_OK || graph->trunks == NULL)
    return status;
  return sfc_trunks_connect(graph, reply->has_board_region && reply->has_board, reply->board_region, reply->board);
}

void sfc_lanes_strip(sf_graph_t *graph)
{
  sf_graph_t empty = {.context = graph->context,
                      .group = graph->group,
                      .number = graph->number,
                      .flags = graph->flags,
                      .rank = graph->rank,
                      .size = graph->size,
                      .nroots = graph->nroots,
                      .nleaves = graph->nleaves,
                      .memory.record = graph->memory.record,
                      .call_site = graph->call_site,
                      .generation = graph->generation,
                      .memory.shared = graph->memory.shared};
  bool owns_plan = !graph->shares_plan;
  sfc_graph_free_attachments(graph);
  if (owns_plan)
    sfc_graph_free_own_plan(graph);
  free(graph->lanes);
  free(graph->routes.senders[0]);
  free(graph->progress.expecting);
  free(graph->flight.table);
  *graph = empty;
}

sf_status_t sfc_lanes_register_graph(sf_graph_t *graph)
{
  sf_context_t *context = graph->context;
  pthread_mutex_lock(&context->lock);
  sf_status_t status = sfc_counters_enter(&context->counters, graph);
  sfc_graph_link(graph);
  int failed = atomic_load_explicit(&context->failed, memory_order_relaxed);
  if (failed != SF_OK)
    sfc_graph_fail(graph, (sf_status_t)failed, context->failure_detail);
  sfc_graph_fail_early(graph);
  sfc_graph_expected(context);
  pthread_mutex_unlock(&context->lock);
  return status;
}
