/* Random graphs and the serial model of operations: see model_graph.h. */
#include "tests/system/model_graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making ------------------------------------------------------------------------------------------------------ */

typedef enum root_style {
  ROOTS_RANDOM,
  ROOTS_ONE,
  ROOTS_NEXT,
  ROOTS_STRIDED,
  ROOTS_SELF,
  ROOTS_FEW,
  ROOTS_REVERSED,
  ROOT_STYLES
} root_style_t;
typedef enum leaf_style {
  LEAVES_ALL,
  LEAVES_PERMUTED,
  LEAVES_GAPS,
  LEAVES_GAPS_PERMUTED,
  LEAVES_STRIDED,
  LEAVES_REVERSED,
  LEAF_STYLES
} leaf_style_t;

/* Small numbers are as likely as large ones, and nothing at all is. */
static int64_t random_size(uint64_t *random, int64_t max)
{
  switch (sftest_below(random, 6)) {
  case 0:
    return 0;
  case 1:
    return 1 + sftest_below(random, max < 4 ? max : 4);
  case 2:
    return 1 + sftest_below(random, max / 8 + 1);
  default:
    return 1 + sftest_below(random, max);
  }
}

/* The next rank, from first on, that has roots; -1 if none does. */
static int32_t rank_with_roots(const sftest_graph_t *graph, int32_t first)
{
  for (int32_t i = 0; i < graph->size; i++)
    if (graph->parts[(first + i) % graph->size].nroots > 0)
      return (first + i) % graph->size;
  return -1;
}

static sftest_edge_t choose_root(const sftest_graph_t *graph, root_style_t style, int32_t rank, int64_t i,
                                 uint64_t *random, uint64_t choice)
{
  int32_t first = rank + 1;
  if (style == ROOTS_RANDOM || style == ROOTS_FEW)
    first = (int32_t)sftest_below(random, graph->size);
  else if (style == ROOTS_ONE)
    first = (int32_t)(choice % (uint64_t)graph->size);
  else if (style == ROOTS_SELF)
    first = rank;
  int32_t root_rank = rank_with_roots(graph, first);
  int64_t nroots = graph->parts[root_rank].nroots;
  int64_t root = 0;
  switch (style) {
  case ROOTS_ONE:
    root = (int64_t)(choice >> 8) % nroots;
    break;
  case ROOTS_NEXT:
    root = i % nroots;
    break;
  case ROOTS_STRIDED:
    root = i * 3 % nroots;
    break;
  case ROOTS_FEW:
    root = sftest_below(random, nroots < 3 ? nroots : 3);
    break;
  case ROOTS_REVERSED:
    root = nroots - 1 - i % nroots;
    break;
  default:
    root = sftest_below(random, nroots);
    break;
  }
  return (sftest_edge_t){.root_rank = root_rank, .root = root};
}

static void permute(sftest_edge_t edges[], int64_t n, uint64_t *random)
{
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t k = sftest_below(random, i + 1);
    int64_t leaf = edges[i].leaf;
    edges[i].leaf = edges[k].leaf;
    edges[k].leaf = leaf;
  }
}

static void choose_leaves(sftest_part_t *part, leaf_style_t style, int64_t base, uint64_t *random)
{
  int64_t leaf = base, n = part->nleaves, stride = style == LEAVES_STRIDED ? 2 + sftest_below(random, 4) : 1;
  bool gaps = style == LEAVES_GAPS || style == LEAVES_GAPS_PERMUTED;
  for (int64_t i = 0; i < n; i++) {
    part->input[i].leaf = style == LEAVES_REVERSED ? base + n - 1 - i : leaf;
    leaf += gaps ? 1 + sftest_below(random, 4) : stride;
  }
  if (style == LEAVES_PERMUTED || style == LEAVES_GAPS_PERMUTED)
    permute(part->input, n, random);
  part->leaves_given = style != LEAVES_ALL || base > 0;
}

static int by_leaf(const void *a, const void *b)
{
  int64_t x = ((const sftest_edge_t *)a)->leaf, y = ((const sftest_edge_t *)b)->leaf;
  return (x > y) - (x < y);
}

static void make_part(sftest_graph_t *graph, int32_t rank, uint64_t seed, int64_t max_vertices, uint64_t choice)
{
  sftest_part_t *part = &graph->parts[rank];
  uint64_t random = seed;
  root_style_t roots =
      (root_style_t)(choice % 3 == 0 ? choice / 3 % ROOT_STYLES : (uint64_t)sftest_below(&random, ROOT_STYLES));
  leaf_style_t leaves = (leaf_style_t)sftest_below(&random, LEAF_STYLES);
  part->nleaves = rank_with_roots(graph, 0) < 0 ? 0 : random_size(&random, max_vertices);
  part->input = calloc((size_t)part->nleaves + 1, sizeof *part->input);
  part->edges = calloc((size_t)part->nleaves + 1, sizeof *part->edges);
  for (int64_t i = 0; i < part->nleaves; i++)
    part->input[i] = choose_root(graph, roots, rank, i, &random, choice);
  choose_leaves(part, leaves, graph->one_array ? part->nroots : 0, &random);
  memcpy(part->edges, part->input, (size_t)part->nleaves * sizeof *part->edges);
  qsort(part->edges, (size_t)part->nleaves, sizeof *part->edges, by_leaf);
  part->leaf_space = part->nleaves == 0 ? 0 : part->edges[part->nleaves - 1].leaf + 1;
}

void sftest_graph_make(sftest_graph_t *graph, uint64_t seed, int32_t size, int64_t max_vertices)
{
  uint64_t random = seed;
  *graph = (sftest_graph_t){.size = size, .one_array = sftest_below(&random, 8) == 0};
  uint64_t choice = sftest_random(&random);
  for (int32_t rank = 0; rank < size; rank++)
    graph->parts[rank].nroots = random_size(&random, max_vertices);
  for (int32_t rank = 0; rank < size; rank++)
    make_part(graph, rank, sftest_random(&random), max_vertices, choice);
}

void sftest_graph_free(sftest_graph_t *graph)
{
  for (int32_t rank = 0; rank < graph->size; rank++) {
    free(graph->parts[rank].input);
    free(graph->parts[rank].edges);
  }
}

int64_t sftest_graph_space(const sftest_graph_t *graph, int32_t rank)
{
  const sftest_part_t *part = &graph->parts[rank];
  return part->nroots > part->leaf_space ? part->nroots : part->leaf_space;
}

/* ---- The library's graph ----------------------------------------------------------------------------------------- */

static sf_status_t create_wide(const sftest_part_t *part, sf_group_t *group, const int32_t ranks[], uint32_t flags,
                               sf_graph_t **graph_p)
{
  size_t n = (size_t)part->nleaves + 1;
  int64_t *leaves = malloc(n * sizeof *leaves), *roots = malloc(n * sizeof *roots);
  for (int64_t i = 0; i < part->nleaves; i++) {
    leaves[i] = part->input[i].leaf;
    roots[i] = part->input[i].root;
  }
  sf_status_t status = sf_graph_create(group, part->nroots, part->nleaves, part->leaves_given ? leaves : NULL, ranks,
                                       roots, flags, graph_p);
  free(leaves);
  free(roots);
  return status;
}

static sf_status_t create_narrow(const sftest_part_t *part, sf_group_t *group, const int32_t ranks[], uint32_t flags,
                                 sf_graph_t **graph_p)
{
  size_t n = (size_t)part->nleaves + 1;
  int32_t *leaves = malloc(n * sizeof *leaves), *roots = malloc(n * sizeof *roots);
  for (int64_t i = 0; i < part->nleaves; i++) {
    leaves[i] = (int32_t)part->input[i].leaf;
    roots[i] = (int32_t)part->input[i].root;
  }
  sf_status_t status = sf_graph_create_i32(group, part->nroots, part->nleaves, part->leaves_given ? leaves : NULL,
                                           ranks, roots, flags, graph_p);
  free(leaves);
  free(roots);
  return status;
}

sf_status_t sftest_graph_create(const sftest_graph_t *graph, sf_group_t *group, bool wide, uint32_t flags,
                                sf_graph_t **graph_p)
{
  const sftest_part_t *part = &graph->parts[sf_group_rank(group)];
  int32_t *ranks = malloc(((size_t)part->nleaves + 1) * sizeof *ranks);
  for (int64_t i = 0; i < part->nleaves; i++)
    ranks[i] = part->input[i].root_rank;
  sf_status_t status =
      wide ? create_wide(part, group, ranks, flags, graph_p) : create_narrow(part, group, ranks, flags, graph_p);
  free(ranks);
  return status;
}

/* Distinct roots of one rank that have leaves on another one. */
static int64_t count_values(const sftest_graph_t *graph, int32_t root_rank, int32_t leaf_rank, int64_t *nedges_p)
{
  const sftest_part_t *part = &graph->parts[leaf_rank];
  char *seen = calloc((size_t)graph->parts[root_rank].nroots + 1, 1);
  int64_t n = 0;
  *nedges_p = 0;
  for (int64_t i = 0; i < part->nleaves; i++) {
    if (part->edges[i].root_rank != root_rank)
      continue;
    n += !seen[part->edges[i].root];
    seen[part->edges[i].root] = 1;
    (*nedges_p)++;
  }
  free(seen);
  return n;
}

void sftest_graph_check_info(sftest_rank_t *self, const sftest_graph_t *graph, const sf_graph_t *real, int32_t rank)
{
  const sftest_part_t *part = &graph->parts[rank];
  sf_graph_info_t info, expected = {.nroots = part->nroots, .nleaves = part->nleaves, .leaf_space = part->leaf_space};
  for (int32_t other = 0; other < graph->size; other++) {
    int64_t nsent, nsent_edges, nreceived_edges;
    nsent = count_values(graph, rank, other, &nsent_edges);
    (void)count_values(graph, other, rank, &nreceived_edges);
    if (other == rank) {
      expected.nleaves_self = nsent_edges;
      continue;
    }
    expected.nroot_ranks += nreceived_edges > 0;
    expected.nleaf_ranks += nsent_edges > 0;
    expected.nroot_values_sent += nsent;
    expected.nroot_contributions += nsent_edges;
  }
  SFTEST_OK(self, sf_graph_info(real, &info));
  SFTEST_REQUIRE(self, info.nroots == expected.nroots && info.nleaves == expected.nleaves);
  SFTEST_REQUIRE(self, info.leaf_space == expected.leaf_space && info.nleaves_self == expected.nleaves_self);
  SFTEST_REQUIRE(self, info.nroot_ranks == expected.nroot_ranks && info.nleaf_ranks == expected.nleaf_ranks);
  SFTEST_REQUIRE(self, info.nroot_values_sent == expected.nroot_values_sent);
  SFTEST_REQUIRE(self, info.nroot_contributions == expected.nroot_contributions && info.operations == 0);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

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

void sftest_operation_apply(const sftest_operation_t *operation, int32_t rank, char *target)
{
  size_t unit_bytes = sftest_unit_size(operation->unit);
  char *value = malloc(unit_bytes);
  const sftest_graph_t *graph = operation->graph;
  int32_t first = operation->bcast ? rank : 0, last = operation->bcast ? rank : graph->size - 1;
  for (int32_t leaf_rank = first; leaf_rank <= last; leaf_rank++) {
    const sftest_part_t *part = &graph->parts[leaf_rank];
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
  }
  free(value);
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
