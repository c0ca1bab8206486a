/* Makes the plan of a new graph: see create_internal.h. The thread that creates the graph. */

#include <stdlib.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/plan.h"
#include "client/setup/create_internal.h"
#include "client/setup/lanes.h"
#include "client/setup/trunk_memory.h"
#include "client/setup/trunk_plan.h"
#include "shm/base/error.h"

/* Opens a leaf rank's list; a bad root index is an error of that rank's leaf. */
static void peer_link(sfc_setup_t *setup, sfc_peer_list_t *peer, sfc_link_t *link)
{
  int64_t bad_leaf;
  sf_status_t status = sfc_edge_exchange_open(&setup->lists, peer, setup->graph->nroots, link, &bad_leaf);
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, peer->rank, bad_leaf);
}

/* Blocks of this rank's list for other nodes, by rank. The list owns their memory. */
typedef struct remote {
  sfc_trunk_block_t *blocks;
  int32_t n;
} remote_t;

/* Makes a lane for each rank of the node with edges in either direction, by merging the two lists, both by rank.
 * Collects blocks for other nodes. */
static sf_status_t make_lanes(sfc_setup_t *setup, remote_t *remote)
{
  sf_graph_t *graph = setup->graph;
  int32_t own = 0, peer = 0;
  size_t nown = (size_t)setup->lists.own.nparts, nsides = sfc_setup_reply(setup)->n_sides;
  graph->lanes = calloc(nown + (size_t)setup->lists.npeers + nsides + 1, sizeof *graph->lanes);
  remote->blocks = malloc((nown + 1) * sizeof *remote->blocks);
  if (graph->lanes == NULL || remote->blocks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "lanes to other ranks");
  while (own < setup->lists.own.nparts || peer < setup->lists.npeers) {
    int32_t own_rank = own < setup->lists.own.nparts ? setup->lists.own.parts[own].rank : INT32_MAX;
    int32_t peer_rank = peer < setup->lists.npeers ? setup->lists.peers[peer].rank : INT32_MAX;
    if (own_rank == graph->rank) {
      sfc_link_init(&graph->plan.self, &setup->lists.own.parts[own++].edges, NULL);
      continue;
    }
    int32_t node = own < setup->lists.own.nparts ? sfc_group_node_of(setup->group, own_rank) : graph->context->node;
    if (node != graph->context->node) {
      remote->blocks[remote->n++] = (sfc_trunk_block_t){node, setup->lists.own.parts[own++].edges};
      continue;
    }
    sfc_lane_t *lane = &graph->lanes[graph->nlanes++];
    *lane = (sfc_lane_t){.graph = graph, .rank = own_rank < peer_rank ? own_rank : peer_rank};
    if (own_rank == lane->rank)
      sfc_link_init(&lane->as_leaf, &setup->lists.own.parts[own++].edges, NULL);
    if (peer_rank == lane->rank)
      peer_link(setup, &setup->lists.peers[peer++], &lane->as_root);
    sf_status_t status =
        sfc_peers_find(&graph->context->peers, sfc_group_job_rank(setup->group, lane->rank), &lane->peer);
    if (status != SF_OK)
      return status;
  }
  return SF_OK;
}

static void keep_list(sf_graph_t *graph, sfshm_region_t *region)
{
  if (region->length_bytes == 0)
    return;
  graph->plan.lists[graph->plan.nlists++] = *region;
  *region = (sfshm_region_t){.fd = -1};
}

/* The graph keeps the mapped lists, because its patterns are in them. The last process to close a list frees it; nobody
 * waits for that now. */
static sf_status_t keep_lists(sfc_setup_t *setup)
{
  sf_graph_t *graph = setup->graph;
  graph->plan.lists = calloc((size_t)setup->lists.npeers + 1, sizeof *graph->plan.lists);
  if (graph->plan.lists == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of edge lists");
  for (int32_t i = 0; i < setup->lists.npeers; i++)
    keep_list(graph, &setup->lists.peers[i].region);
  return sfc_edge_readback_make(&setup->lists.own, &graph->plan.readback);
}

static sf_status_t make_trunks(sfc_setup_t *setup, const remote_t *remote)
{
  sf_graph_t *graph = setup->graph;
  Sfproto__GraphReply *reply = setup->reply.message->graph_reply;
  sfc_trunk_map_input_t map = {.fd = -1};
  if (reply->n_sides == 0)
    return remote->n == 0 ? SF_OK : sfshm_error(SF_ERR_PROTO, "no trunks for edges to other nodes");
  sf_status_t status = sfc_trunk_map_input_take(&map, &setup->reply, reply->has_map ? &reply->map : NULL);
  if (status == SF_OK)
    status = sfc_trunks_open(graph, &map, reply->sides, reply->n_sides, remote->blocks, remote->n);
  sfc_trunk_map_input_free(&map);
  if (status == SF_OK)
    status = sfc_submit_ring_open(&graph->context->submit_ring, graph->context->board);
  if (status == SF_OK)
    sfc_trunks_add_lanes(graph);
  return status;
}

void sfc_setup_make_plan(sfc_setup_t *setup)
{
  sf_graph_t *graph = setup->graph;
  if (setup->error.status != SF_OK)
    return;
  remote_t remote = {.n = 0};
  sf_status_t status = make_lanes(setup, &remote);
  bool sound = setup->error.status == SF_OK; /* lists of peers */
  if (status == SF_OK && sound)
    status = make_trunks(setup, &remote);
  free(remote.blocks);
  if (!sound)
    return;
  sfc_graph_find_bounds(graph);
  if (status == SF_OK)
    status = keep_lists(setup);
  if (status == SF_OK)
    status = sfc_graph_find_shared_roots(graph);
  if (status == SF_OK)
    status = sfc_lanes_make_tables(graph);
  if (status == SF_OK)
    status = sfc_graph_order_turns(graph);
  if (status == SF_OK)
    status = sfc_lanes_make_slots(graph);
  sfc_setup_note(setup, status);
}
