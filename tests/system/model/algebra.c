/* Forests as plain lists: see model_algebra.h. */
#include "tests/system/model/algebra.h"

void sftest_forest_init(sftest_forest_t *forest, int32_t size)
{
  *forest = (sftest_forest_t){.size = size};
}

void sftest_forest_add(sftest_forest_t *forest, int32_t rank, int64_t leaf, int32_t root_rank, int64_t root)
{
  int64_t n = forest->n[rank], at = n;
  while (at > 0 && forest->edges[rank][at - 1].leaf >= leaf)
    at--;
  if (at == n || forest->edges[rank][at].leaf != leaf) {
    forest->edges[rank] = realloc(forest->edges[rank], (size_t)(n + 1) * sizeof(sftest_edge_t));
    memmove(forest->edges[rank] + at + 1, forest->edges[rank] + at, (size_t)(n - at) * sizeof(sftest_edge_t));
    forest->n[rank]++;
  }
  forest->edges[rank][at] = (sftest_edge_t){leaf, root_rank, root};
}

void sftest_forest_free(sftest_forest_t *forest)
{
  for (int32_t rank = 0; rank < forest->size; rank++)
    free(forest->edges[rank]);
  *forest = (sftest_forest_t){.size = 0};
}

void sftest_forest_random(sftest_forest_t *forest, uint64_t seed, int32_t size, int64_t max_vertices)
{
  sftest_graph_t graph;
  sftest_graph_make(&graph, seed, size, max_vertices);
  sftest_forest_init(forest, size);
  for (int32_t rank = 0; rank < size; rank++) {
    forest->nroots[rank] = graph.parts[rank].nroots;
    for (int64_t i = 0; i < graph.parts[rank].nleaves; i++) {
      const sftest_edge_t *edge = &graph.parts[rank].edges[i];
      sftest_forest_add(forest, rank, edge->leaf, edge->root_rank, edge->root);
    }
  }
  sftest_graph_free(&graph);
}

void sftest_forest_thin(sftest_forest_t *forest)
{
  char *used = calloc((size_t)sftest_forest_total(forest) + 1, 1);
  for (int32_t rank = 0; rank < forest->size; rank++) {
    int64_t kept = 0;
    for (int64_t i = 0; i < forest->n[rank]; i++) {
      sftest_edge_t edge = forest->edges[rank][i];
      char *use = used + sftest_forest_first(forest, edge.root_rank) + edge.root;
      if (*use == 0)
        forest->edges[rank][kept++] = edge;
      *use = 1;
    }
    forest->n[rank] = kept;
  }
  free(used);
}

int64_t sftest_forest_space(const sftest_forest_t *forest, int32_t rank)
{
  return forest->n[rank] == 0 ? 0 : forest->edges[rank][forest->n[rank] - 1].leaf + 1;
}

int64_t sftest_forest_first(const sftest_forest_t *forest, int32_t rank)
{
  int64_t first = 0;
  for (int32_t r = 0; r < rank; r++)
    first += forest->nroots[r];
  return first;
}

int64_t sftest_forest_total(const sftest_forest_t *forest)
{
  return sftest_forest_first(forest, forest->size);
}

const sftest_edge_t *sftest_forest_find(const sftest_forest_t *forest, int32_t rank, int64_t leaf)
{
  for (int64_t i = 0; i < forest->n[rank]; i++)
    if (forest->edges[rank][i].leaf == leaf)
      return &forest->edges[rank][i];
  return NULL;
}

void sftest_forest_create(sftest_rank_t *self, const sftest_forest_t *forest, sf_group_t *group, sf_graph_t **graph_p)
{
  int32_t rank = sf_group_rank(group);
  size_t n = (size_t)forest->n[rank];
  int64_t *leaves = malloc((n + 1) * sizeof *leaves), *roots = malloc((n + 1) * sizeof *roots);
  int32_t *ranks = malloc((n + 1) * sizeof *ranks);
  for (size_t i = 0; i < n; i++) { /* not in order: the highest leaf comes first */
    const sftest_edge_t *edge = &forest->edges[rank][n - 1 - i];
    leaves[i] = edge->leaf;
    ranks[i] = edge->root_rank;
    roots[i] = edge->root;
  }
  SFTEST_OK(self,
            sf_graph_create(group, forest->nroots[rank], (int64_t)n, leaves, ranks, roots, SF_GRAPH_DEFAULT, graph_p));
  free(leaves);
  free(roots);
  free(ranks);
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

static void expect_edges(sftest_rank_t *self, const sftest_forest_t *forest, int32_t rank, sf_graph_t *graph)
{
  sf_graph_info_t info;
  size_t n = (size_t)forest->n[rank];
  SFTEST_OK(self, sf_graph_info(graph, &info));
  sftest_require(self,
                 info.nroots == forest->nroots[rank] && info.nleaves == forest->n[rank] &&
                     info.leaf_space == sftest_forest_space(forest, rank),
                 __FILE__, __LINE__, "%lld roots, %lld leaves, space %lld; expected %lld, %lld, %lld",
                 (long long)info.nroots, (long long)info.nleaves, (long long)info.leaf_space,
                 (long long)forest->nroots[rank], (long long)n, (long long)sftest_forest_space(forest, rank));
  int64_t *leaves = malloc((n + 1) * sizeof *leaves), *roots = malloc((n + 1) * sizeof *roots);
  int32_t *ranks = malloc((n + 1) * sizeof *ranks);
  SFTEST_OK(self, sf_graph_edges(graph, leaves, ranks, roots));
  for (size_t i = 0; i < n; i++) {
    const sftest_edge_t *edge = &forest->edges[rank][i];
    sftest_require(self, leaves[i] == edge->leaf && ranks[i] == edge->root_rank && roots[i] == edge->root, __FILE__,
                   __LINE__, "edge %zu is leaf %lld to rank %d, root %lld; expected leaf %lld to rank %d, root %lld", i,
                   (long long)leaves[i], ranks[i], (long long)roots[i], (long long)edge->leaf, edge->root_rank,
                   (long long)edge->root);
  }
  free(leaves);
  free(roots);
  free(ranks);
}

static void expect_bcast(sftest_rank_t *self, const sftest_forest_t *forest, int32_t rank, sf_graph_t *graph)
{
  int64_t nroots = forest->nroots[rank], space = sftest_forest_space(forest, rank);
  int64_t *roots = malloc(((size_t)nroots + 1) * sizeof *roots), *leaves = malloc(((size_t)space + 1) * sizeof *leaves);
  for (int64_t i = 0; i < nroots; i++)
    roots[i] = 1000000 * rank + i;
  for (int64_t i = 0; i < space; i++)
    leaves[i] = -1;
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  for (int64_t i = 0; i < space; i++) {
    const sftest_edge_t *edge = sftest_forest_find(forest, rank, i);
    SFTEST_REQUIRE(self, leaves[i] == (edge == NULL ? -1 : 1000000 * (int64_t)edge->root_rank + edge->root));
  }
  free(roots);
  free(leaves);
}

static void expect_reduce(sftest_rank_t *self, const sftest_forest_t *forest, int32_t rank, sf_graph_t *graph)
{
  int64_t nroots = forest->nroots[rank], space = sftest_forest_space(forest, rank);
  int64_t *roots = calloc((size_t)nroots + 1, sizeof *roots), *leaves = malloc(((size_t)space + 1) * sizeof *leaves);
  for (int64_t i = 0; i < space; i++)
    leaves[i] = 1000 * rank + i + 1;
  SFTEST_OK(self, sf_reduce(graph, SF_INT64, leaves, roots, SF_SUM));
  for (int32_t r = 0; r < forest->size; r++)
    for (int64_t i = 0; i < forest->n[r]; i++)
      if (forest->edges[r][i].root_rank == rank)
        roots[forest->edges[r][i].root] -= 1000 * r + forest->edges[r][i].leaf + 1;
  for (int64_t i = 0; i < nroots; i++)
    SFTEST_REQUIRE(self, roots[i] == 0);
  free(roots);
  free(leaves);
}

void sftest_forest_expect(sftest_rank_t *self, const sftest_forest_t *forest, sf_group_t *group, sf_graph_t *graph)
{
  int32_t rank = sf_group_rank(group);
  expect_edges(self, forest, rank, graph);
  expect_bcast(self, forest, rank, graph);
  expect_reduce(self, forest, rank, graph);
}
