/* Making parts of graphs: see part.h. */
#include "client/part.h"

#include <stdlib.h>
#include <string.h>

#include "client/context.h"
#include "client/edges.h"
#include "client/filter.h"
#include "client/group.h"
#include "client/instance.h"
#include "client/origin.h"
#include "client/turns.h"
#include "shm/error.h"

/* The part in the making. Until lanes without edges are left out the graph's are those of the whole, in their order. */
typedef struct sfc_work {
  const sfc_part_t *part;
  sf_graph_t *graph;
  int64_t nwords;      /* of all sets together */
  uint64_t *sets;      /* edges of this rank's leaves that stay: of all lanes, then those within the rank */
  int64_t *set;        /* where that of a lane begins */
  sfc_edge_list_t own; /* the edges that stay, by root rank */
} sfc_work_t;

bool sfc_part_is_possible(const sf_graph_t *whole)
{
  return sfc_group_is_local(whole->group);
}

/* ---- What stays -------------------------------------------------------------------------------------------------- */

static sf_status_t alloc_work(sfc_work_t *work)
{
  const sf_graph_t *whole = work->part->whole;
  sf_graph_t *graph = work->graph;
  work->set = malloc(((size_t)whole->nlanes + 1) * sizeof *work->set);
  graph->lanes = calloc((size_t)whole->nlanes + 1, sizeof *graph->lanes);
  work->own.parts = calloc((size_t)whole->nlanes + 1, sizeof *work->own.parts);
  if (work->set == NULL || graph->lanes == NULL || work->own.parts == NULL)
    return sfshm_error(SF_ERR_NOMEM, "lanes to %d ranks", whole->nlanes);
  for (int32_t i = 0; i < whole->nlanes; i++) {
    work->set[i] = work->nwords;
    work->nwords += sfc_filter_words(&whole->lanes[i].as_leaf);
    graph->lanes[i] = (sfc_lane_t){.graph = graph, .peer = whole->lanes[i].peer, .rank = whole->lanes[i].rank};
  }
  graph->nlanes = whole->nlanes;
  work->set[whole->nlanes] = work->nwords;
  work->nwords += sfc_filter_words(&whole->self);
  work->sets = calloc((size_t)work->nwords + 1, sizeof *work->sets);
  return work->sets != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)work->nwords * 64);
}

/* Counts the edges to a rank that stay: a block of the list. */
static void count_part(sfc_work_t *work, const sfc_link_t *link, int32_t rank, int32_t lane, size_t *room)
{
  uint64_t *set = work->sets + work->set[lane];
  sfc_filter_by_leaves(link, work->part->leaves, set);
  int64_t n = sfc_filter_count(link, set);
  if (n == 0)
    return;
  work->own.parts[work->own.nparts++] = (sfc_edge_part_t){.rank = rank, .nedges = n};
  work->graph->nleaves += n;
  *room += sfc_filter_room(link, n);
}

static sf_status_t write_part(sfc_work_t *work, const sfc_link_t *from, int32_t lane, sfc_edge_part_t *part,
                              size_t *used, sfc_link_t *to)
{
  sf_status_t status =
      sfc_filter_write(from, work->sets + work->set[lane], part->nedges, work->own.image, *used, &part->block);
  *used += sfc_filter_room(from, part->nedges);
  if (status == SF_OK)
    status = sfshm_edges_open_own(work->own.image, &part->block, &part->edges);
  if (status == SF_OK)
    sfc_link_init(to, &part->edges, NULL);
  return status;
}

/* The first lane to a rank behind this one. */
static int32_t lanes_before(const sf_graph_t *graph)
{
  int32_t lane = 0;
  while (lane < graph->nlanes && graph->lanes[lane].rank < graph->rank)
    lane++;
  return lane;
}

static void count_parts(sfc_work_t *work, size_t *room)
{
  const sf_graph_t *whole = work->part->whole;
  int32_t before = lanes_before(whole), lane = 0;
  work->graph->nleaves = 0;
  for (; lane < before; lane++)
    count_part(work, &whole->lanes[lane].as_leaf, whole->lanes[lane].rank, lane, room);
  count_part(work, &whole->self, whole->rank, whole->nlanes, room);
  for (; lane < whole->nlanes; lane++)
    count_part(work, &whole->lanes[lane].as_leaf, whole->lanes[lane].rank, lane, room);
}

static sf_status_t write_parts(sfc_work_t *work)
{
  const sf_graph_t *whole = work->part->whole;
  sf_graph_t *graph = work->graph;
  sf_status_t status = SF_OK;
  size_t used = 0;
  for (int32_t i = 0, lane = 0; i < work->own.nparts && status == SF_OK; i++) {
    sfc_edge_part_t *part = &work->own.parts[i];
    if (part->rank == whole->rank) {
      status = write_part(work, &whole->self, whole->nlanes, part, &used, &graph->self);
      continue;
    }
    while (whole->lanes[lane].rank < part->rank)
      lane++;
    status = write_part(work, &whole->lanes[lane].as_leaf, lane, part, &used, &graph->lanes[lane].as_leaf);
  }
  return status;
}

/* The edges of this rank's leaves. */
static sf_status_t filter_own(sfc_work_t *work)
{
  size_t room = SFC_EDGE_ALIGN;
  count_parts(work, &room);
  work->own.image = aligned_alloc(SFC_EDGE_ALIGN, room);
  if (work->own.image == NULL)
    return sfshm_error(SF_ERR_NOMEM, "edge list of %zu bytes", room);
  sf_status_t status = write_parts(work);
  return status == SF_OK ? sfc_origin_make(&work->own, &work->graph->origin) : status;
}

/* The edges of another rank's leaves that are in the set. */
static sf_status_t filter_peer(const sfc_link_t *from, const uint64_t set[], sfc_link_t *to)
{
  int64_t n = sfc_filter_count(from, set);
  if (n == 0)
    return SF_OK;
  sfshm_edges_t edges;
  char *image = aligned_alloc(SFC_EDGE_ALIGN, sfc_filter_room(from, n));
  if (image == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)n);
  sfshm_edge_block_t block;
  sf_status_t status = sfc_filter_write(from, set, n, image, 0, &block);
  if (status == SF_OK)
    status = sfshm_edges_open_own(image, &block, &edges);
  if (status == SF_OK)
    sfc_link_init(to, &edges, image);
  else
    free(image);
  return status;
}

static uint64_t *new_set(const sfc_link_t *link)
{
  uint64_t *set = calloc((size_t)sfc_filter_words(link) + 1, sizeof *set);
  if (set == NULL)
    sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)link->nedges);
  return set;
}

static sf_status_t filter_by_roots(const sfc_part_t *part, int32_t lane, sfc_link_t *to)
{
  const sfc_link_t *from = &part->whole->lanes[lane].as_root;
  uint64_t *set = new_set(from);
  if (set == NULL)
    return SF_ERR_NOMEM;
  sfc_filter_by_roots(from, part->roots, set);
  sf_status_t status = filter_peer(from, set, to);
  free(set);
  return status;
}

static void leave_out_empty_lanes(sf_graph_t *graph)
{
  int32_t n = 0;
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (graph->lanes[i].as_root.nedges > 0 || graph->lanes[i].as_leaf.nedges > 0)
      graph->lanes[n++] = graph->lanes[i];
  graph->nlanes = n;
}

/* ---- Marks of others --------------------------------------------------------------------------------------------- */

static const Sfproto__LaneEnd *find_end(const Sfproto__GraphReady *ready, int32_t rank)
{
  for (size_t i = 0; i < ready->n_lanes; i++)
    if (ready->lanes[i]->rank == rank)
      return ready->lanes[i];
  return NULL;
}

/* Copies what the other end has marked of its edges to this rank's roots. */
static sf_status_t read_marks(const sfc_lane_t *lane, const Sfproto__LaneEnd *end, size_t bytes, uint64_t set[])
{
  void *base;
  size_t length;
  sf_status_t status = sfc_peer_segment(&lane->graph->context->peers, lane->peer, end->segment, &base, &length);
  if (status != SF_OK)
    return status;
  if (!end->has_marks || bytes > length || end->marks > length - bytes)
    return sfshm_error(SF_ERR_PROTO, "rank %d says that its marks are outside of its memory", lane->rank);
  memcpy(set, (const char *)base + end->marks, bytes);
  return SF_OK;
}

static sf_status_t filter_by_marks(const sfc_link_t *from, sfc_lane_t *lane, const Sfproto__GraphReady *ready)
{
  const Sfproto__LaneEnd *end = find_end(ready, lane->rank); /* it is there: the lane is connected */
  uint64_t *set = new_set(from);
  if (set == NULL)
    return SF_ERR_NOMEM;
  sf_status_t status = read_marks(lane, end, (size_t)sfc_filter_words(from) * sizeof *set, set);
  if (status == SF_OK)
    status = filter_peer(from, set, &lane->as_root);
  free(set);
  return status;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

/* What is left when all edges are known. */
static sf_status_t finish_plan(sf_graph_t *graph)
{
  leave_out_empty_lanes(graph);
  sfc_graph_find_bounds(graph);
  sf_status_t status = sfc_graph_find_shared_roots(graph);
  if (status == SF_OK)
    status = sfc_instance_make_tables(graph);
  return status == SF_OK ? sfc_graph_order_turns(graph) : status;
}

static sf_status_t filter(sfc_work_t *work)
{
  sf_graph_t *graph = work->graph;
  sf_status_t status = alloc_work(work);
  if (status == SF_OK)
    status = filter_own(work);
  if (work->part->roots == NULL)
    return status;
  for (int32_t i = 0; i < graph->nlanes && status == SF_OK; i++)
    status = filter_by_roots(work->part, i, &graph->lanes[i].as_root);
  return status == SF_OK ? finish_plan(graph) : status;
}

/* Slots, and behind them the sets of edges that others have to know. */
static sf_status_t make_slots(sfc_work_t *work, uint64_t marks[])
{
  sf_graph_t *graph = work->graph;
  uint64_t first = 0;
  size_t bytes = work->part->roots == NULL ? (size_t)work->set[graph->nlanes] * sizeof *work->sets : 0;
  sf_status_t status = sfc_instance_make_slots(graph, bytes, &first);
  if (status != SF_OK || bytes == 0)
    return status;
  memcpy((char *)graph->shared.address + first, work->sets, bytes);
  for (int32_t i = 0; i < graph->nlanes; i++)
    marks[i] = first + (uint64_t)work->set[i] * sizeof *work->sets;
  return SF_OK;
}

/* With what the others have marked. */
static sf_status_t complete(sf_graph_t *graph, const sfproto_incoming_t *ready, void *argument)
{
  const sfc_work_t *work = argument;
  sf_status_t status = SF_OK;
  if (work->part->roots != NULL)
    return SF_OK;
  for (int32_t i = 0; i < graph->nlanes && status == SF_OK; i++) {
    const sfc_link_t *from = &work->part->whole->lanes[i].as_root;
    if (from->nedges > 0)
      status = filter_by_marks(from, &graph->lanes[i], ready->message->graph_ready);
  }
  return status == SF_OK ? finish_plan(graph) : status;
}

static sf_status_t propose(sfc_work_t *work, sfc_reuse_t *reuse_p)
{
  sf_graph_t *graph = work->graph;
  uint64_t *marks = calloc((size_t)graph->nlanes + 1, sizeof *marks);
  sf_status_t status = marks != NULL ? make_slots(work, marks) : SF_ERR_NOMEM;
  sfc_proposal_t proposal = {.of = work->part->whole->number,
                             .part = true,
                             .nroot_ranks = work->own.nparts - (graph->self.nedges > 0),
                             .marks = work->part->roots == NULL ? marks : NULL,
                             .complete = complete,
                             .argument = work};
  if (status == SF_OK)
    status = sfc_reuse_propose(graph, &proposal, reuse_p);
  else
    status = SF_OK; /* it is made the ordinary way then */
  free(marks);
  return status;
}

sf_status_t sfc_part_try(sf_graph_t *graph, const sfc_part_t *part, sfc_reuse_t *reuse_p)
{
  sfc_work_t work = {.part = part, .graph = graph, .own = {.region = {.fd = -1}}};
  sf_status_t status = SF_OK;
  *reuse_p = (sfc_reuse_t){.done = false};
  if (filter(&work) == SF_OK)
    status = propose(&work, reuse_p);
  sfc_edge_list_destroy(&work.own);
  free(work.sets);
  free(work.set);
  if (!reuse_p->done)
    sfc_reuse_take_back(graph);
  return status;
}
