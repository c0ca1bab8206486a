/* Trunk plan: see trunk_plan.h. The thread that creates the graph. */
#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup/trunk_memory.h"
#include "client/setup/trunk_plan.h"
#include "shm/base/error.h"

_Static_assert(SF_GRAPH_REPRODUCIBLE == SFSHM_GRAPH_UNCOMBINED, "the daemon reads this flag");

/* ---- Arrays of indices ------------------------------------------------------------------------------------------- */

/* Memory for n indices, freed with the trunk. */
static void *take_indices(sfc_trunk_t *trunk, int64_t n, bool narrow)
{
  void *array = malloc(((size_t)n + 1) * (narrow ? sizeof(uint32_t) : sizeof(int64_t)));
  if (array == NULL)
    sfshm_error(SF_ERR_NOMEM, "plan of %lld values", (long long)n);
  else
    trunk->arrays[trunk->narrays++] = array;
  return array;
}

static int64_t *take_array(sfc_trunk_t *trunk, int64_t n)
{
  return take_indices(trunk, n, false);
}

static sfshm_pattern_t pattern_of(const void *array, int64_t first, int64_t n, bool narrow)
{
  return narrow ? sfshm_pattern_from_index32((const uint32_t *)array + first, n)
                : sfshm_pattern_from_index64((const int64_t *)array + first, n);
}

/* Whether 32 bits hold all indices, as far as visible without reading them. */
static bool is_narrow(const sfshm_pattern_t *pattern)
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32 || pattern->n == 0)
    return true;
  return pattern->kind != SFSHM_PATTERN_INDEX64 && sfshm_pattern_at(pattern, 0) <= UINT32_MAX &&
         sfshm_pattern_at(pattern, pattern->n - 1) <= UINT32_MAX;
}

/* result[i] = pattern[at[i]] */
static sf_status_t look_up(sfc_trunk_t *trunk, const sfshm_pattern_t *pattern, const sfshm_pattern_t *at,
                           sfshm_pattern_t *result_p)
{
  int64_t *array = take_array(trunk, at->n);
  if (array == NULL)
    return SF_ERR_NOMEM;
  for (int64_t i = 0; i < at->n; i++)
    array[i] = sfshm_pattern_at(pattern, sfshm_pattern_at(at, i));
  *result_p = sfshm_pattern_from_index64(array, at->n);
  return SF_OK;
}

/* ---- Leaves here ------------------------------------------------------------------------------------------------- */

typedef struct sfc_counted {
  bool narrow; /* leaves */
  int32_t nblocks;
  int64_t nvalues;
  int64_t nextras;
} sfc_counted_t;

static sfc_counted_t count_edges(const sfc_trunk_t *trunk, const sfc_trunk_block_t blocks[], int32_t nblocks)
{
  sfc_counted_t counted = {.narrow = true};
  for (int32_t i = 0; i < nblocks; i++) {
    if (blocks[i].node != trunk->node)
      continue;
    counted.nblocks++;
    counted.narrow &= is_narrow(&blocks[i].edges.leaf);
    counted.nvalues += blocks[i].edges.value_root.n;
    counted.nextras += blocks[i].edges.extra_value.n;
  }
  return counted;
}

/* Joins the leaves of the blocks: those that carry values, then extra ones with the numbers of their values. */
static sf_status_t join_blocks(sfc_trunk_t *trunk, const sfc_trunk_block_t blocks[], int32_t nblocks,
                               const sfc_counted_t *counted, sfshm_pattern_t *extra_value_p)
{
  char *leaf = take_indices(trunk, counted->nvalues, counted->narrow);
  size_t width = counted->narrow ? sizeof(uint32_t) : sizeof(int64_t);
  int64_t *extra_leaf = take_array(trunk, counted->nextras);
  int64_t *extra_value = take_array(trunk, counted->nextras);
  int64_t value = 0, extra = 0;
  if (leaf == NULL || extra_leaf == NULL || extra_value == NULL)
    return SF_ERR_NOMEM;
  for (int32_t i = 0; i < nblocks; i++) {
    const sfshm_edges_t *edges = &blocks[i].edges;
    int64_t n = edges->value_root.n;
    if (blocks[i].node != trunk->node)
      continue;
    for (int64_t e = 0; e < edges->extra_value.n; e++, extra++) {
      extra_leaf[extra] = sfshm_pattern_at(&edges->leaf, n + e);
      extra_value[extra] = value + sfshm_pattern_at(&edges->extra_value, e);
    }
    sfshm_pattern_t of_values = sfshm_pattern_slice(&edges->leaf, 0, n);
    sfshm_pattern_copy(&of_values, NULL, !counted->narrow, leaf + (size_t)value * width);
    value += n;
  }
  trunk->nvalues = value;
  trunk->leaf = pattern_of(leaf, 0, value, counted->narrow);
  sfshm_pattern_find_box(&trunk->leaf);
  trunk->extra_leaf = sfshm_pattern_from_index64(extra_leaf, extra);
  *extra_value_p = sfshm_pattern_from_index64(extra_value, extra);
  return SF_OK;
}

/* Uncombined, the image lists the targets of all edges, block by block: separates values from extra edges. */
static sf_status_t split_targets(sfc_trunk_t *trunk, const sfc_trunk_block_t blocks[], int32_t nblocks,
                                 const sfc_counted_t *counted, const sfshm_pattern_t *to)
{
  int64_t *value_to = take_array(trunk, counted->nvalues);
  int64_t *extra_to = take_array(trunk, counted->nextras);
  int64_t value = 0, extra = 0, edge = 0;
  if (value_to == NULL || extra_to == NULL)
    return SF_ERR_NOMEM;
  for (int32_t i = 0; i < nblocks; i++) {
    if (blocks[i].node != trunk->node)
      continue;
    for (int64_t v = 0; v < blocks[i].edges.value_root.n; v++)
      value_to[value++] = sfshm_pattern_at(to, edge++);
    for (int64_t e = 0; e < blocks[i].edges.extra_value.n; e++)
      extra_to[extra++] = sfshm_pattern_at(to, edge++);
  }
  trunk->to = sfshm_pattern_from_index64(value_to, value);
  trunk->extra_to = sfshm_pattern_from_index64(extra_to, extra);
  return SF_OK;
}

static sf_status_t open_leaves(sfc_trunk_t *trunk, int32_t rank, const sfshm_image_t *image,
                               const sfc_trunk_block_t blocks[], int32_t nblocks)
{
  sfc_counted_t counted = count_edges(trunk, blocks, nblocks);
  int64_t part = sfshm_image_find(image, rank);
  sfshm_leaf_positions_t positions;
  sfshm_pattern_t extra_value;
  if (part < 0 || counted.nvalues == 0)
    return sfshm_error(SF_ERR_PROTO, "trunk to node %d: %lld values here, the map has %s", trunk->node,
                       (long long)counted.nvalues, part < 0 ? "none" : "some");
  sf_status_t status =
      sfshm_leaf_part_open(image, (uint32_t)part, counted.nvalues, counted.nvalues + counted.nextras, &positions);
  if (status == SF_OK)
    status = join_blocks(trunk, blocks, nblocks, &counted, &extra_value);
  if (status != SF_OK)
    return status;
  trunk->leaf_image = *image;
  trunk->nroot_ranks = counted.nblocks;
  trunk->uncombined = image->header.uncombined != 0;
  trunk->from = positions.from;
  trunk->to = positions.to;
  if (trunk->uncombined)
    status = split_targets(trunk, blocks, nblocks, &counted, &positions.to);
  if (status == SF_OK && counted.nextras > 0)
    status = look_up(trunk, &trunk->from, &extra_value, &trunk->extra_from);
  if (status == SF_OK && counted.nextras > 0 && !trunk->uncombined)
    status = look_up(trunk, &trunk->to, &extra_value, &trunk->extra_to);
  return status;
}

/* ---- Roots here -------------------------------------------------------------------------------------------------- */

/* to[k] = root[position[k] - first] */
static void look_up_roots(const sfshm_pattern_t *root, int64_t first, const sfshm_pattern_t *position, bool narrow,
                          void *to)
{
  uint32_t *to32 = to;
  int64_t *to64 = to;
  if (root->kind == SFSHM_PATTERN_INDEX32 && position->kind == SFSHM_PATTERN_INDEX32)
    for (int64_t k = 0; k < position->n; k++)
      to32[k] = root->index32[position->index32[k] - first];
  else if (narrow)
    for (int64_t k = 0; k < position->n; k++)
      to32[k] = (uint32_t)sfshm_pattern_at(root, sfshm_pattern_at(position, k) - first);
  else
    for (int64_t k = 0; k < position->n; k++)
      to64[k] = sfshm_pattern_at(root, sfshm_pattern_at(position, k) - first);
}

/* Appends the turns applied again by a reduce with replace. */
static sf_status_t open_winners(sfc_trunk_t *trunk, const sfshm_image_t *image, const sfshm_root_roots_t *part)
{
  bool narrow = is_narrow(&part->root);
  char *root = part->nwinners > 0 ? take_indices(trunk, part->root.n, narrow) : NULL;
  sf_status_t status = part->nwinners == 0 || root != NULL ? SF_OK : SF_ERR_NOMEM;
  int64_t n = 0;
  for (uint32_t i = 0; i < part->nwinners && status == SF_OK; i++) {
    sfc_trunk_turn_t *turn = &trunk->turns[trunk->nturns + trunk->nwinners];
    status = sfshm_root_winner_open(image, part, i, &turn->rank, &turn->position);
    if (status == SF_OK && turn->position.n > part->root.n - n)
      status = sfshm_error(SF_ERR_PROTO, "trunk to node %d: too many contributions are won", trunk->node);
    if (status != SF_OK)
      break;
    look_up_roots(&part->root, part->first, &turn->position, narrow,
                  root + (size_t)n * (narrow ? sizeof(uint32_t) : sizeof(int64_t)));
    turn->root = pattern_of(root, n, turn->position.n, narrow);
    n += turn->position.n;
    trunk->nwinners++;
  }
  return status;
}

static sf_status_t open_turns(sfc_trunk_t *trunk, const sf_graph_t *graph, const sfshm_image_t *image,
                              const sfshm_root_roots_t *part)
{
  sf_status_t status = SF_OK;
  size_t most = (size_t)part->nsegments + part->nwinners + 1;
  trunk->turns = calloc(most, sizeof *trunk->turns);
  if (trunk->turns == NULL)
    return sfshm_error(SF_ERR_NOMEM, "turns of %zu ranks", most);
  for (uint32_t i = 0; i < part->nsegments; i++) {
    sfshm_root_turn_t turn;
    status = sfshm_root_segment_open(image, part, i, graph->nroots, &turn);
    if (status != SF_OK)
      return status;
    trunk->turns[trunk->nturns++] = (sfc_trunk_turn_t){
        .rank = turn.rank, .position = sfshm_pattern_contiguous(turn.first, turn.root.n), .root = turn.root};
    sfshm_pattern_find_box(&trunk->turns[i].root);
  }
  return open_winners(trunk, image, part);
}

static sf_status_t open_roots(sfc_trunk_t *trunk, const sf_graph_t *graph, const sfshm_image_t *image)
{
  int64_t i = sfshm_image_find(image, graph->rank);
  sfshm_root_roots_t part;
  if (i < 0)
    return sfshm_error(SF_ERR_PROTO, "trunk to node %d: the map has no roots of rank %d", trunk->node, graph->rank);
  sf_status_t status = sfshm_root_part_open(image, (uint32_t)i, graph->nroots, &part);
  if (status != SF_OK)
    return status;
  trunk->uncombined = image->header.uncombined != 0;
  trunk->first = part.first;
  trunk->root = part.root;
  sfshm_pattern_find_box(&trunk->root);
  return open_turns(trunk, graph, image, &part);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static sfc_trunk_t *trunk_to(sfc_trunks_t *trunks, int32_t node)
{
  sfc_trunk_t *last = trunks->ntrunks > 0 ? &trunks->trunks[trunks->ntrunks - 1] : NULL;
  if (last != NULL && last->node == node)
    return last;
  last = &trunks->trunks[trunks->ntrunks++];
  last->node = node;
  return last;
}

static sf_status_t open_side(sf_graph_t *graph, uint32_t number, const sfc_trunk_block_t blocks[], int32_t nblocks)
{
  sfc_trunks_t *trunks = graph->trunks;
  if (number >= trunks->map->nsides)
    return sfshm_error(SF_ERR_PROTO, "side %u of a map that has %u", number, trunks->map->nsides);
  const sfshm_trunk_side_t *told = &trunks->map->sides[number];
  sfc_trunk_t *trunk = trunk_to(trunks, told->node);
  bool as_root = told->role == SFSHM_AS_ROOT;
  sfc_trunk_side_t *side = as_root ? &trunk->as_root : &trunk->as_leaf;
  if (side->in_use || told->nmembers < 1)
    return sfshm_error(SF_ERR_PROTO, "side %u of the map is told twice, or has no members", number);
  *side = (sfc_trunk_side_t){.number = number, .in_use = true, .told = told};
  sfshm_image_t image;
  sf_status_t status = sfshm_image_open((const char *)trunks->map + told->image, told->image_bytes,
                                        as_root ? SFSHM_ROOT_IMAGE_MAGIC : SFSHM_LEAF_IMAGE_MAGIC, &image);
  if (status != SF_OK)
    return status;
  return as_root ? open_roots(trunk, graph, &image) : open_leaves(trunk, graph->rank, &image, blocks, nblocks);
}

sf_status_t sfc_trunks_open(sf_graph_t *graph, sfc_trunk_map_input_t *input, const uint32_t sides[], size_t nsides,
                            const sfc_trunk_block_t blocks[], int32_t nblocks)
{
  sfc_trunks_t *trunks = calloc(1, sizeof *trunks);
  if (trunks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "trunks");
  sfc_trunks_attach(graph, trunks);
  trunks->trunks = calloc(nsides + 1, sizeof *trunks->trunks);
  if (trunks->trunks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%zu trunks", nsides);
  sfshm_region_t region;
  sf_status_t status = sfc_trunk_map_open(graph->context, trunks, input, &region);
  if (status == SF_OK)
    status = sfshm_trunk_map_open(&region, &trunks->map);
  for (size_t i = 0; i < nsides && status == SF_OK; i++)
    status = open_side(graph, sides[i], blocks, nblocks);
  return status;
}

/* ---- Lanes --------------------------------------------------------------------------------------------------------
 */

/* Sending order: by distance on the ring of nodes, next before previous, so that not all nodes send to one node at a
 * time (K. Shafie Khorassani et al., "Designing and Optimizing GPU-aware Nonblocking MPI Neighborhood Collective
 * Communication for PETSc", algorithms 2 and 3). */
static int32_t sending_order(const sf_context_t *context, int32_t node)
{
  int32_t n = context->nnodes, after = (node - context->node + n) % n, before = n - after;
  if (context->sends_by_number)
    return node;
  return after <= before ? 2 * after : 2 * before + 1;
}

static int by_sending_order(const void *a, const void *b, void *context)
{
  int32_t x = sending_order(context, ((const sfc_trunk_t *)a)->node);
  int32_t y = sending_order(context, ((const sfc_trunk_t *)b)->node);
  return (x > y) - (x < y);
}

static int64_t count_contributions(const sfc_trunk_t *trunk)
{
  int64_t n = 0;
  for (int32_t i = 0; i < trunk->nturns; i++)
    n += trunk->turns[i].root.n;
  return n;
}

void sfc_trunks_add_lanes(sf_graph_t *graph)
{
  qsort_r(graph->trunks->trunks, (size_t)graph->trunks->ntrunks, sizeof graph->trunks->trunks[0], by_sending_order,
          graph->context);
  for (int32_t i = 0; i < graph->trunks->ntrunks; i++) {
    sfc_trunk_t *trunk = &graph->trunks->trunks[i];
    sfc_lane_t *lane = &graph->lanes[graph->nlanes++];
    *lane = (sfc_lane_t){.graph = graph, .trunk = trunk, .rank = trunk->node};
    if (trunk->as_root.in_use)
      lane->as_root = (sfc_link_t){.nvalues = trunk->root.n,
                                   .nedges = count_contributions(trunk),
                                   .value_root = trunk->root,
                                   .root_max = sfshm_pattern_max(&trunk->root)};
    if (trunk->as_leaf.in_use) {
      int64_t leaf = sfshm_pattern_max(&trunk->leaf), extra = sfshm_pattern_max(&trunk->extra_leaf);
      lane->as_leaf = (sfc_link_t){.nvalues = trunk->nvalues,
                                   .nedges = trunk->nvalues + trunk->extra_leaf.n,
                                   .leaf_max = leaf > extra ? leaf : extra};
    }
  }
}

sf_status_t sfc_trunks_connect(sf_graph_t *graph, bool told, uint64_t board_region, uint64_t board)
{
  sfc_trunks_t *trunks = graph->trunks;
  if (!told)
    return sfshm_error(SF_ERR_PROTO, "trunks without their board");
  sf_status_t status = sfc_trunk_board_open(graph, board_region, board);
  for (int32_t i = 0; i < trunks->ntrunks && status == SF_OK; i++) {
    sfc_trunk_t *trunk = &trunks->trunks[i];
    trunk->as_root.flow = &trunks->board->flows[trunk->as_root.number];
    trunk->as_leaf.flow = &trunks->board->flows[trunk->as_leaf.number];
  }
  return status;
}

sfc_trunks_t *sfc_trunks_copy(const sfc_trunks_t *trunks)
{
  sfc_trunks_t *copy = calloc(1, sizeof *copy);
  sfc_trunk_t *each = malloc(((size_t)trunks->ntrunks + 1) * sizeof *each);
  if (copy == NULL || each == NULL) {
    free(copy);
    free(each);
    return NULL;
  }
  memcpy(each, trunks->trunks, (size_t)trunks->ntrunks * sizeof *each);
  *copy = (sfc_trunks_t){.shares_plan = true,
                         .map_region = trunks->map_region,
                         .map_memory = trunks->map_memory,
                         .map = trunks->map,
                         .trunks = each,
                         .ntrunks = trunks->ntrunks};
  return copy;
}

void sfc_trunks_own_plan(sfc_trunks_t *copy, sfc_trunks_t *trunks)
{
  copy->shares_plan = false;
  trunks->shares_plan = true;
}

static void free_plan(sf_context_t *context, sfc_trunks_t *trunks)
{
  for (int32_t i = 0; i < trunks->ntrunks; i++) {
    sfc_trunk_t *trunk = &trunks->trunks[i];
    for (int32_t k = 0; k < trunk->narrays; k++)
      sfc_device_free_array(trunk->arrays[k]);
    free(trunk->turns);
  }
  sfc_device_free_array(trunks->map_memory);
  sfc_trunk_regions_give(&context->trunk_regions, trunks->map_region);
}

void sfc_trunks_free(sf_context_t *context, sfc_trunks_t *trunks)
{
  if (trunks == NULL)
    return;
  if (!trunks->shares_plan)
    free_plan(context, trunks);
  while (trunks->exchanges != NULL) {
    sfc_exchange_t *exchange = trunks->exchanges;
    trunks->exchanges = exchange->next;
    sfshm_region_destroy(&exchange->region);
    free(exchange);
  }
  sfc_trunk_regions_give(&context->trunk_regions, trunks->board_region);
  free(trunks->trunks);
  free(trunks);
}

/* Before any thread can report the graph destroyed. */
static void tear_down(sfc_attachment_t *attachment)
{
  sfc_submit_ring_settle(&attachment->graph->context->submit_ring);
}

static void free_trunks(sfc_attachment_t *attachment)
{
  sfc_trunks_free(attachment->graph->context, (sfc_trunks_t *)attachment);
}

void sfc_trunks_attach(sf_graph_t *graph, sfc_trunks_t *trunks)
{
  static const sfc_attachment_ops_t ops = {.tear_down = tear_down, .free = free_trunks};
  sfc_graph_attach(graph, &trunks->attachment, &ops);
  graph->trunks = trunks;
}
