/* The serial model of bcast and reduce: see operation.h. */
#include "tests/system/model/operation.h"

static void value_at(const sftest_operation_t *operation, sftest_side_t side, int32_t rank, int64_t vertex, void *value)
{
  uint64_t side_seed = sftest_hash2(operation->seed, (uint64_t)rank * 2 + (side == SFTEST_LEAVES));
  if (operation->graph->one_array)
    side_seed = sftest_hash2(operation->seed, (uint64_t)rank); /* both sides are one array */
  sftest_make_value(operation->unit, operation->op, sftest_hash2(side_seed, (uint64_t)vertex), value);
}

int64_t sftest_operation_vertices(const sftest_operation_t *operation, sftest_side_t side, int32_t rank)
{
  const sftest_part_t *part = &operation->graph->parts[rank];
  if (operation->graph->one_array)
    return sftest_graph_space(operation->graph, rank);
  return side == SFTEST_ROOTS ? part->nroots : part->leaf_space;
}

void sftest_operation_fill(const sftest_operation_t *operation, sftest_side_t side, int32_t rank, char *array)
{
  size_t unit_bytes = sftest_unit_size(operation->unit);
  int64_t n = sftest_operation_vertices(operation, side, rank);
  for (int64_t vertex = 0; vertex < n; vertex++)
    value_at(operation, side, rank, vertex, array + (size_t)vertex * unit_bytes);
}

/* What has been combined for the roots of one rank. */
typedef struct partial {
  const sftest_operation_t *operation;
  char *values;
  int32_t *lowest; /* rank that contributed; -1: nobody */
} partial_t;

static partial_t new_partial(const sftest_operation_t *operation, int64_t nroots)
{
  partial_t partial = {operation, malloc(((size_t)nroots + 1) * sftest_unit_size(operation->unit)),
                       malloc(((size_t)nroots + 1) * sizeof(int32_t))};
  for (int64_t root = 0; root < nroots; root++)
    partial.lowest[root] = -1;
  return partial;
}

static void free_partial(partial_t *partial)
{
  free(partial->values);
  free(partial->lowest);
}

static void add_to_partial(partial_t *partial, int64_t root, int32_t rank, const char *value)
{
  size_t unit_bytes = sftest_unit_size(partial->operation->unit);
  char *present = partial->values + (size_t)root * unit_bytes;
  if (partial->lowest[root] >= 0) {
    sftest_combine(partial->operation->unit, partial->operation->op, present, value);
    return;
  }
  partial->lowest[root] = rank;
  memcpy(present, value, unit_bytes);
}

/* The contributions of one rank to another one's roots. */
static void combine_rank(const sftest_operation_t *operation, int32_t leaf_rank, int32_t root_rank, partial_t *partial)
{
  const sftest_part_t *part = &operation->graph->parts[leaf_rank];
  char *value = malloc(sftest_unit_size(operation->unit));
  for (int64_t i = 0; i < part->nleaves; i++) {
    if (part->edges[i].root_rank != root_rank)
      continue;
    value_at(operation, SFTEST_LEAVES, leaf_rank, part->edges[i].leaf, value);
    add_to_partial(partial, part->edges[i].root, leaf_rank, value);
  }
  free(value);
}

/* Those of the node of which first is the lowest rank. */
static partial_t combine_node(const sftest_operation_t *operation, int32_t first, int32_t root_rank)
{
  int64_t nroots = operation->graph->parts[root_rank].nroots;
  size_t unit_bytes = sftest_unit_size(operation->unit);
  partial_t whole = new_partial(operation, nroots);
  for (int32_t rank = first; rank < operation->graph->size; rank++) {
    if (operation->places[rank] != operation->places[first])
      continue;
    partial_t one = new_partial(operation, nroots);
    combine_rank(operation, rank, root_rank, &one);
    for (int64_t root = 0; root < nroots; root++)
      if (one.lowest[root] >= 0)
        add_to_partial(&whole, root, rank, one.values + (size_t)root * unit_bytes);
    free_partial(&one);
  }
  return whole;
}

static int32_t lowest_of_node(const sftest_operation_t *operation, int32_t rank)
{
  int32_t lowest = 0;
  while (operation->places[lowest] != operation->places[rank])
    lowest++;
  return lowest;
}

/* One rank's leaves in turn, into what the owner of the roots has. */
static void apply_edges(const sftest_operation_t *operation, int32_t leaf_rank, int32_t rank, char *target)
{
  size_t unit_bytes = sftest_unit_size(operation->unit);
  const sftest_part_t *part = &operation->graph->parts[leaf_rank];
  char *value = malloc(unit_bytes);
  for (int64_t i = 0; i < part->nleaves; i++) {
    const sftest_edge_t *edge = &part->edges[i];
    if (operation->bcast) {
      value_at(operation, SFTEST_ROOTS, edge->root_rank, edge->root, value);
      sftest_combine(operation->unit, operation->op, target + (size_t)edge->leaf * unit_bytes, value);
    } else if (edge->root_rank == rank) {
      value_at(operation, SFTEST_LEAVES, leaf_rank, edge->leaf, value);
      sftest_combine(operation->unit, operation->op, target + (size_t)edge->root * unit_bytes, value);
    }
  }
  free(value);
}

static void apply_partial(const sftest_operation_t *operation, const partial_t *partial, int32_t turn, int64_t nroots,
                          char *target)
{
  size_t unit_bytes = sftest_unit_size(operation->unit);
  for (int64_t root = 0; root < nroots; root++)
    if (partial->lowest[root] == turn)
      sftest_combine(operation->unit, operation->op, target + (size_t)root * unit_bytes,
                     partial->values + (size_t)root * unit_bytes);
}

static void reduce_over_nodes(const sftest_operation_t *operation, int32_t rank, char *target)
{
  partial_t partials[SFTEST_GROUP_MAX]; /* at the lowest rank of each node */
  int64_t nroots = operation->graph->parts[rank].nroots;
  for (int32_t turn = 0; turn < operation->graph->size; turn++) {
    if (operation->places[turn] == operation->places[rank]) {
      apply_edges(operation, turn, rank, target);
      continue;
    }
    int32_t lowest = lowest_of_node(operation, turn);
    if (lowest == turn)
      partials[lowest] = combine_node(operation, lowest, rank);
    apply_partial(operation, &partials[lowest], turn, nroots, target);
  }
  for (int32_t turn = 0; turn < operation->graph->size; turn++)
    if (operation->places[turn] != operation->places[rank] && lowest_of_node(operation, turn) == turn)
      free_partial(&partials[turn]);
}

/* The others give the same however contributions are combined before they come to the root. */
static bool depends_on_places(sftest_op_t op)
{
  return op == SFTEST_SUM || op == SFTEST_PROD;
}

void sftest_operation_apply(const sftest_operation_t *operation, int32_t rank, char *target)
{
  if (operation->bcast) {
    apply_edges(operation, rank, rank, target);
  } else if (operation->places != NULL && depends_on_places(operation->op)) {
    reduce_over_nodes(operation, rank, target);
  } else {
    for (int32_t leaf_rank = 0; leaf_rank < operation->graph->size; leaf_rank++)
      apply_edges(operation, leaf_rank, rank, target);
  }
}

int64_t sftest_first_difference(const char *a, const char *b, int64_t bytes)
{
  if (bytes == 0 || memcmp(a, b, (size_t)bytes) == 0)
    return -1;
  int64_t i = 0;
  while (a[i] == b[i])
    i++;
  return i;
}
