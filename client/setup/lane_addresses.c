/* Lane addresses: see lane_addresses.h. The thread that creates the graph. */
#include "client/setup/lane_addresses.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/setup/lanes.h"
#include "shm/base/error.h"

static sf_status_t alloc_ends(size_t n, sfc_lane_addresses_t *ends)
{
  *ends = (sfc_lane_addresses_t){.ends = calloc(n + 1, sizeof *ends->ends),
                                 .pointers = calloc(n + 1, sizeof(Sfproto__LaneEnd *))};
  if (ends->ends != NULL && ends->pointers != NULL)
    return SF_OK;
  sfc_lane_addresses_free(ends);
  return sfshm_error(SF_ERR_NOMEM, "message about %zu lanes", n);
}

static void add(const sf_graph_t *graph, int32_t rank, sfc_peer_t *peer, sfc_lane_addresses_t *ends)
{
  Sfproto__LaneEnd *end = &ends->ends[ends->n];
  sfc_lanes_describe(graph, (int32_t)ends->n, rank, peer, end);
  ends->pointers[ends->n++] = end;
}

sf_status_t sfc_lane_addresses_of_lanes(const sf_graph_t *graph, sfc_lane_addresses_t *ends_p)
{
  int32_t n = sfc_lanes_nlocal(graph);
  sf_status_t status = alloc_ends((size_t)n, ends_p);
  for (int32_t i = 0; i < n && status == SF_OK; i++)
    add(graph, graph->lanes[i].rank, graph->lanes[i].peer, ends_p);
  return status;
}

/* Whether there will be a lane: another rank of this node. */
static bool needs_lane(const sf_graph_t *graph, int32_t rank)
{
  const sf_context_t *context = graph->context;
  return rank != graph->rank && sfc_group_node_of(graph->group, rank) == context->node;
}

static int32_t count_others(const sf_graph_t *graph, const sfc_edge_list_t *list)
{
  int32_t n = 0;
  for (int32_t i = 0; i < list->nparts; i++)
    n += needs_lane(graph, list->parts[i].rank);
  return n;
}

static sf_status_t add_part(const sf_graph_t *graph, int32_t rank, sfc_lane_addresses_t *ends)
{
  sfc_peer_t *peer;
  sf_status_t status = sfc_peers_find(&graph->context->peers, sfc_group_job_rank(graph->group, rank), &peer);
  if (status == SF_OK)
    add(graph, rank, peer, ends);
  return status;
}

sf_status_t sfc_lane_addresses_offer(sf_graph_t *graph, const sfc_edge_list_t *list, sfc_lane_addresses_t *ends_p)
{
  int32_t n = count_others(graph, list);
  sf_status_t status = alloc_ends((size_t)n, ends_p);
  if (status == SF_OK && n > 0)
    status = sfc_lanes_take_slots(graph, n);
  for (int32_t i = 0; i < list->nparts && status == SF_OK; i++)
    if (needs_lane(graph, list->parts[i].rank))
      status = add_part(graph, list->parts[i].rank, ends_p);
  if (status != SF_OK)
    sfc_lane_addresses_free(ends_p);
  return status;
}

void sfc_lane_addresses_free(sfc_lane_addresses_t *ends)
{
  free(ends->ends);
  free(ends->pointers);
  *ends = (sfc_lane_addresses_t){.ends = NULL};
}
