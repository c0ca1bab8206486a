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
#include "client/progress.h"
#include "client/trunk.h"
#include "client/turns.h"
#include "shm/error.h"

/* Edges of this rank's leaves to one rank, in the whole. */
typedef struct sfc_source {
  int32_t rank;
  int32_t node;
  const sfc_link_t *link;
  int64_t set;    /* where that of the edges that stay begins */
  sfc_link_t *to; /* NULL: another node */
  sfc_link_t far; /* then: of the whole's edge list */
} sfc_source_t;

/* Another node with roots of leaves here. Its ranks' values are marked one behind the other. */
typedef struct sfc_far {
  int32_t node;
  int64_t first_word;
  int64_t nvalues; /* so far */
} sfc_far_t;

/* The part in the making. Until lanes without edges are left out the graph's are those of the whole, in their order. */
typedef struct sfc_work {
  const sfc_part_t *part;
  sf_graph_t *graph;
  bool spread;           /* over nodes */
  int64_t nwords;        /* of all sets together */
  uint64_t *sets;        /* edges of this rank's leaves that stay: of all lanes, then of other sources */
  int64_t *set;          /* where that of a lane begins */
  int32_t nlanes;        /* with sets: to ranks of this node */
  sfc_source_t *sources; /* by rank */
  int32_t nsources;
  sfc_far_t *fars; /* by node */
  int32_t nfars;
  int64_t nfar_words;
  uint64_t *far_sets;  /* of the values from other nodes, those that stay */
  sfc_edge_list_t own; /* the edges that stay, by root rank */
} sfc_work_t;

bool sfc_part_is_possible(const sf_graph_t *whole)
{
  return sfc_group_is_local(whole->group) || (whole->flags & SF_GRAPH_REPRODUCIBLE) == 0;
}

/* ---- What there is ----------------------------------------------------------------------------------------------- */

static sf_status_t alloc_work(sfc_work_t *work)
{
  const sf_graph_t *whole = work->part->whole;
  sf_graph_t *graph = work->graph;
  size_t nparts = (size_t)whole->origin->nparts + 1;
  work->nlanes = graph->nlanes = sfc_instance_nends(whole);
  work->set = malloc(((size_t)work->nlanes + 1) * sizeof *work->set);
  work->sources = calloc(nparts, sizeof *work->sources);
  work->own.parts = calloc(nparts, sizeof *work->own.parts);
  work->fars = calloc((size_t)whole->nlanes + 1, sizeof *work->fars);
  graph->lanes = calloc((size_t)whole->nlanes + 1, sizeof *graph->lanes); /* with room for those of trunks */
  if (work->set == NULL || work->sources == NULL || work->own.parts == NULL || work->fars == NULL ||
      graph->lanes == NULL) {
    graph->nlanes = 0;
    return sfshm_error(SF_ERR_NOMEM, "lanes to %d ranks", whole->nlanes);
  }
  for (int32_t i = 0; i < work->nlanes; i++) {
    work->set[i] = work->nwords;
    work->nwords += sfc_filter_words(&whole->lanes[i].as_leaf);
    graph->lanes[i] = (sfc_lane_t){.graph = graph, .peer = whole->lanes[i].peer, .rank = whole->lanes[i].rank};
  }
  work->set[work->nlanes] = work->nwords;
  return SF_OK;
}

/* Edges that lead within the process, or to other nodes: their sets are behind those of the lanes. */
static void add_behind(sfc_work_t *work, sfc_source_t *source, const sfc_link_t *link)
{
  source->link = link;
  source->set = work->nwords;
  work->nwords += sfc_filter_words(link);
}

static sf_status_t add_far(sfc_work_t *work, sfc_source_t *source, const sfc_origin_part_t *part)
{
  sfshm_edges_t edges = {.memory = NULL};
  sf_status_t status = sfshm_edges_open_own(work->part->whole->origin->base, &part->block, &edges);
  if (status != SF_OK)
    return status;
  sfc_link_init(&source->far, &edges, NULL);
  add_behind(work, source, &source->far);
  return SF_OK;
}

/* The edges of this rank, as the whole knows them. */
static sf_status_t find_sources(sfc_work_t *work)
{
  const sf_graph_t *whole = work->part->whole;
  sf_graph_t *graph = work->graph;
  sf_status_t status = SF_OK;
  for (int32_t i = 0, lane = 0; i < whole->origin->nparts && status == SF_OK; i++) {
    const sfc_origin_part_t *part = &whole->origin->parts[i];
    sfc_source_t *source = &work->sources[work->nsources++];
    source->rank = part->rank;
    source->node = sfc_group_node_of(graph->group, part->rank);
    if (part->rank == whole->rank) {
      add_behind(work, source, &whole->self);
      source->to = &graph->self;
    } else if (source->node != graph->context->node) {
      status = add_far(work, source, part);
    } else {
      while (whole->lanes[lane].rank < part->rank)
        lane++;
      source->link = &whole->lanes[lane].as_leaf;
      source->set = work->set[lane];
      source->to = &graph->lanes[lane].as_leaf;
    }
  }
  return status;
}

/* ---- What stays -------------------------------------------------------------------------------------------------- */

/* Counts the edges to a rank that stay: a block of the list. */
static void count_part(sfc_work_t *work, const sfc_source_t *source, size_t *room)
{
  uint64_t *set = work->sets + source->set;
  sfc_filter_by_leaves(source->link, work->part->leaves, set);
  int64_t n = sfc_filter_count(source->link, set);
  if (n == 0)
    return;
  work->own.parts[work->own.nparts++] = (sfc_edge_part_t){.rank = source->rank, .nedges = n};
  work->graph->nleaves += n;
  *room += sfc_filter_room(source->link, n);
}

static sf_status_t write_part(sfc_work_t *work, const sfc_source_t *from, sfc_edge_part_t *part, size_t *used)
{
  sf_status_t status =
      sfc_filter_write(from->link, work->sets + from->set, part->nedges, work->own.image, *used, &part->block);
  *used += sfc_filter_room(from->link, part->nedges);
  if (status == SF_OK)
    status = sfshm_edges_open_own(work->own.image, &part->block, &part->edges);
  if (status == SF_OK && from->to != NULL)
    sfc_link_init(from->to, &part->edges, NULL);
  return status;
}

static sf_status_t write_parts(sfc_work_t *work)
{
  sf_status_t status = SF_OK;
  size_t used = 0;
  for (int32_t i = 0, source = 0; i < work->own.nparts && status == SF_OK; i++) {
    while (work->sources[source].rank < work->own.parts[i].rank)
      source++;
    status = write_part(work, &work->sources[source], &work->own.parts[i], &used);
  }
  return status;
}

/* The edges of this rank's leaves. */
static sf_status_t filter_own(sfc_work_t *work)
{
  size_t room = SFC_EDGE_ALIGN;
  work->sets = calloc((size_t)work->nwords + 1, sizeof *work->sets);
  if (work->sets == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)work->nwords * 64);
  work->graph->nleaves = 0;
  for (int32_t i = 0; i < work->nsources; i++)
    count_part(work, &work->sources[i], &room);
  work->own.image = aligned_alloc(SFC_EDGE_ALIGN, room);
  if (work->own.image == NULL)
    return sfshm_error(SF_ERR_NOMEM, "edge list of %zu bytes", room);
  sf_status_t status = write_parts(work);
  return status == SF_OK ? sfc_origin_make(&work->own, &work->graph->origin) : status;
}

static int by_node(const void *a, const void *b)
{
  const sfc_far_t *x = a, *y = b;
  return (x->node > y->node) - (x->node < y->node);
}

/* Other nodes, with room for what stays of the values from there. */
static void find_fars(sfc_work_t *work)
{
  const sfc_trunks_t *trunks = work->part->whole->trunks;
  for (int32_t i = 0; trunks != NULL && i < trunks->ntrunks; i++)
    if (trunks->trunks[i].as_leaf.in_use)
      work->fars[work->nfars++] = (sfc_far_t){.node = trunks->trunks[i].node, .nvalues = trunks->trunks[i].nvalues};
  qsort(work->fars, (size_t)work->nfars, sizeof *work->fars, by_node);
  for (int32_t i = 0; i < work->nfars; i++) {
    work->fars[i].first_word = work->nfar_words;
    work->nfar_words += (work->fars[i].nvalues + 63) / 64;
    work->fars[i].nvalues = 0;
  }
}

static sf_status_t mark_far_values(sfc_work_t *work)
{
  find_fars(work);
  work->far_sets = calloc((size_t)work->nfar_words + 1, sizeof *work->far_sets);
  if (work->far_sets == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%lld values", (long long)work->nfar_words * 64);
  for (int32_t i = 0; i < work->nsources; i++) {
    const sfc_source_t *source = &work->sources[i];
    if (source->to != NULL)
      continue;
    sfc_far_t *far = bsearch(&(sfc_far_t){.node = source->node}, work->fars, (size_t)work->nfars, sizeof *far, by_node);
    sfc_filter_values(source->link, work->sets + source->set, far->nvalues, work->far_sets + far->first_word);
    far->nvalues += source->link->nvalues;
  }
  return SF_OK;
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
    status = find_sources(work);
  if (status == SF_OK)
    status = filter_own(work);
  if (status == SF_OK && work->spread)
    status = mark_far_values(work);
  if (work->part->roots == NULL)
    return status;
  for (int32_t i = 0; i < work->nlanes && status == SF_OK; i++)
    status = filter_by_roots(work->part, i, &graph->lanes[i].as_root);
  if (status != SF_OK)
    return status;
  leave_out_empty_lanes(graph);
  return work->spread ? SF_OK : finish_plan(graph);
}

/* Slots, and behind them the sets of edges, and of values, that others have to know. */
static sf_status_t make_slots(sfc_work_t *work, uint64_t marks[], uint64_t *far_p)
{
  sf_graph_t *graph = work->graph;
  uint64_t first = 0;
  size_t near = work->part->roots == NULL ? (size_t)work->set[work->nlanes] * sizeof *work->sets : 0;
  size_t far = (size_t)work->nfar_words * sizeof *work->far_sets;
  sf_status_t status = sfc_instance_make_slots(graph, near + far, &first);
  if (status != SF_OK || near + far == 0)
    return status;
  char *sets = (char *)graph->shared.address + first;
  memcpy(sets, work->sets, near);
  if (far > 0)
    memcpy(sets + near, work->far_sets, far);
  for (int32_t i = 0; i < graph->nlanes && near > 0; i++)
    marks[i] = first + (uint64_t)work->set[i] * sizeof *work->sets;
  *far_p = first + near;
  return SF_OK;
}

/* ---- When the others have answered ------------------------------------------------------------------------------- */

static sf_status_t open_far_blocks(sfc_work_t *work, sfc_given_map_t *map, const Sfproto__GraphReady *told)
{
  sf_graph_t *graph = work->graph;
  sfc_trunk_block_t *blocks = calloc((size_t)work->own.nparts + 1, sizeof *blocks);
  int32_t n = 0;
  if (blocks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "edges to other nodes");
  for (int32_t i = 0; i < work->own.nparts; i++) {
    int32_t node = sfc_group_node_of(graph->group, work->own.parts[i].rank);
    if (node != graph->context->node)
      blocks[n++] = (sfc_trunk_block_t){node, work->own.parts[i].edges};
  }
  sf_status_t status = SF_OK;
  if (told->n_sides > 0)
    status = sfc_trunks_open(graph, map, told->sides, told->n_sides, blocks, n);
  else if (n > 0)
    status = sfshm_error(SF_ERR_PROTO, "no trunks for edges to other nodes");
  free(blocks);
  return status;
}

static sf_status_t make_trunks(sfc_work_t *work, sfproto_incoming_t *ready)
{
  Sfproto__GraphReady *told = ready->message->graph_ready;
  sfc_given_map_t map = {.fd = -1};
  sf_status_t status = SF_OK;
  if (told->n_sides > 0)
    status = sfc_given_map_take(&map, ready, told->has_map ? &told->map : NULL);
  if (status == SF_OK)
    status = open_far_blocks(work, &map, told);
  sfc_given_map_free(&map);
  if (status != SF_OK || work->graph->trunks == NULL)
    return status;
  status = sfc_submitter_open(&work->graph->context->submitter, work->graph->context->board);
  if (status == SF_OK)
    sfc_trunks_add_lanes(work->graph);
  return status;
}

static sf_status_t read_all_marks(sfc_work_t *work, const Sfproto__GraphReady *ready)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < work->nlanes && status == SF_OK; i++) {
    const sfc_link_t *from = &work->part->whole->lanes[i].as_root;
    if (from->nedges > 0)
      status = filter_by_marks(from, &work->graph->lanes[i], ready);
  }
  leave_out_empty_lanes(work->graph);
  return status;
}

/* With what the others have marked. */
static sf_status_t complete(sf_graph_t *graph, sfproto_incoming_t *ready, void *argument)
{
  sfc_work_t *work = argument;
  const Sfproto__GraphReady *told = ready->message->graph_ready;
  sf_status_t status = work->part->roots == NULL ? read_all_marks(work, told) : SF_OK;
  if (status == SF_OK && work->spread)
    status = make_trunks(work, ready);
  if (status == SF_OK && (work->part->roots == NULL || work->spread))
    status = finish_plan(graph);
  if (status == SF_OK && graph->trunks != NULL)
    status = sfc_trunks_connect(graph, told->has_board_region && told->has_board, told->board_region, told->board);
  return status;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static sf_status_t propose(sfc_work_t *work, sfc_reuse_t *reuse_p)
{
  sf_graph_t *graph = work->graph;
  uint64_t *marks = calloc((size_t)graph->nlanes + 1, sizeof *marks), far = 0;
  sf_status_t status = marks != NULL ? make_slots(work, marks, &far) : SF_ERR_NOMEM;
  sfc_proposal_t proposal = {.of = work->part->whole->number,
                             .part = true,
                             .nroot_ranks = work->own.nparts - (graph->self.nedges > 0),
                             .marks = work->part->roots == NULL ? marks : NULL,
                             .has_far = work->nfars > 0,
                             .far_marks = far,
                             .complete = complete,
                             .argument = work};
  if (status == SF_OK)
    status = sfc_reuse_propose(graph, &proposal, reuse_p);
  else
    status = SF_OK; /* it is made the ordinary way then */
  free(marks);
  return status;
}

static void free_work(sfc_work_t *work)
{
  for (int32_t i = 0; i < work->nsources; i++)
    sfc_link_destroy(&work->sources[i].far);
  sfc_edge_list_destroy(&work->own);
  free(work->sources);
  free(work->fars);
  free(work->far_sets);
  free(work->sets);
  free(work->set);
}

sf_status_t sfc_part_try(sf_graph_t *graph, const sfc_part_t *part, sfc_reuse_t *reuse_p)
{
  sfc_work_t work = {
      .part = part, .graph = graph, .spread = !sfc_group_is_local(graph->group), .own = {.region = {.fd = -1}}};
  sf_status_t status = SF_OK;
  *reuse_p = (sfc_reuse_t){.done = false};
  /* A whole that has failed may not even have all its lanes; its error comes when its edges are read. */
  if (!sfc_graph_is_failed(part->whole) && filter(&work) == SF_OK)
    status = propose(&work, reuse_p);
  free_work(&work);
  if (!reuse_p->done)
    sfc_reuse_take_back(graph);
  return status;
}
