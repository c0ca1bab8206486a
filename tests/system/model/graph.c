/* Random graphs: see graph.h. */
#include "tests/system/model/graph.h"

/* ---- Making ------------------------------------------------------------------------------------------------------ */

/* Boxes: rows of so many vertices, planes of so many rows. */
#define ROW 16
#define ROWS 3

/* Vertex i of a box in an array that has so many more vertices behind each row, and so many behind each plane. */
static int64_t in_box(int64_t i, int64_t behind_row, int64_t behind_plane)
{
  int64_t row = i / ROW;
  return i + row * behind_row + row / ROWS * behind_plane;
}

typedef enum root_style {
  ROOTS_RANDOM,
  ROOTS_ONE,
  ROOTS_NEXT,
  ROOTS_STRIDED,
  ROOTS_SELF,
  ROOTS_FEW,
  ROOTS_REVERSED,
  ROOTS_ROWS,
  ROOTS_BOX,
  ROOT_STYLES
} root_style_t;
typedef enum leaf_style {
  LEAVES_ALL,
  LEAVES_PERMUTED,
  LEAVES_GAPS,
  LEAVES_GAPS_PERMUTED,
  LEAVES_STRIDED,
  LEAVES_REVERSED,
  LEAVES_ROWS,
  LEAVES_BOX,
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
  int64_t nroots = graph->parts[root_rank].nroots, root = 0;
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
  case ROOTS_ROWS:
    root = in_box(i, 3, 0) % nroots;
    break;
  case ROOTS_BOX:
    root = in_box(i, 3, 11) % nroots;
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
    int64_t k = sftest_below(random, i + 1), leaf = edges[i].leaf;
    edges[i].leaf = edges[k].leaf;
    edges[k].leaf = leaf;
  }
}

static void choose_leaves(sftest_part_t *part, leaf_style_t style, int64_t base, uint64_t *random)
{
  int64_t leaf = base, n = part->nleaves, stride = style == LEAVES_STRIDED ? 2 + sftest_below(random, 4) : 1;
  bool gaps = style == LEAVES_GAPS || style == LEAVES_GAPS_PERMUTED;
  for (int64_t i = 0; i < n; i++) {
    part->input[i].leaf = leaf;
    leaf += gaps ? 1 + sftest_below(random, 4) : stride;
    if (style == LEAVES_REVERSED)
      part->input[i].leaf = base + n - 1 - i;
    else if (style == LEAVES_ROWS || style == LEAVES_BOX)
      part->input[i].leaf = base + in_box(i, 4, style == LEAVES_BOX ? 13 : 0);
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
  bool boxes = roots == ROOTS_BOX || leaves == LEAVES_BOX, rows = roots == ROOTS_ROWS || leaves == LEAVES_ROWS;
  if ((boxes || rows) && part->nleaves > 4 * ROW)
    part->nleaves -= part->nleaves % (boxes ? ROW * ROWS : ROW);
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

void sftest_graph_thin(sftest_graph_t *graph, bool (*stays)(int64_t vertex), bool by_roots)
{
  for (int32_t r = 0; r < graph->size; r++) {
    sftest_part_t *part = &graph->parts[r];
    int64_t n = 0;
    for (int64_t e = 0; e < part->nleaves; e++)
      if (stays(by_roots ? part->edges[e].root : part->edges[e].leaf))
        part->edges[n++] = part->edges[e];
    part->nleaves = n;
    part->leaf_space = n == 0 ? 0 : part->edges[n - 1].leaf + 1;
  }
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

/* Distinct roots of one rank that have leaves on some of the ranks. */
static int64_t count_values(const sftest_graph_t *graph, int32_t root_rank, const bool leaf_ranks[], int64_t *nedges_p)
{
  char *seen = calloc((size_t)graph->parts[root_rank].nroots + 1, 1);
  int64_t n = 0;
  *nedges_p = 0;
  for (int32_t rank = 0; rank < graph->size; rank++) {
    const sftest_part_t *part = &graph->parts[rank];
    for (int64_t i = 0; leaf_ranks[rank] && i < part->nleaves; i++) {
      if (part->edges[i].root_rank != root_rank)
        continue;
      n += !seen[part->edges[i].root];
      seen[part->edges[i].root] = 1;
      (*nedges_p)++;
    }
  }
  free(seen);
  return n;
}

/* What the library says of leaf ranks on other nodes is between the number of nodes and that of ranks. */
typedef struct expected_info {
  sf_graph_info_t info; /* nleaf_ranks: the lowest */
  int32_t nleaf_ranks;
} expected_info_t;

/* Adds what a rank has to do with a peer: another rank of its node, or all ranks of another node. */
static void expect_peer(const sftest_graph_t *graph, int32_t rank, const bool peer[], bool combined,
                        expected_info_t *expected)
{
  int64_t nedges, nsent = count_values(graph, rank, peer, &nedges);
  expected->info.nroot_values_sent += nsent;
  expected->info.nroot_contributions += combined ? nsent : nedges;
  expected->info.nleaf_ranks += nsent > 0;
  for (int32_t other = 0; other < graph->size; other++) {
    bool self[SFTEST_GROUP_MAX] = {false}, one[SFTEST_GROUP_MAX] = {false};
    self[rank] = one[other] = true;
    if (!peer[other])
      continue;
    expected->info.nroot_ranks += count_values(graph, other, self, &nedges) > 0;
    expected->nleaf_ranks += count_values(graph, rank, one, &nedges) > 0;
  }
}

/* The peers of a rank, each at its lowest rank. */
static void expect_peers(const sftest_graph_t *graph, int32_t rank, const int32_t places[], bool combined,
                         expected_info_t *expected)
{
  for (int32_t other = 0; other < graph->size; other++) {
    bool remote = places[other] != places[rank], lowest = true, peer[SFTEST_GROUP_MAX] = {false};
    for (int32_t i = 0; i < graph->size; i++)
      peer[i] = remote ? places[i] == places[other] : i == other;
    for (int32_t i = 0; i < other; i++)
      lowest &= !peer[i];
    if (other != rank && lowest)
      expect_peer(graph, rank, peer, remote && combined, expected);
  }
}

/* The library knows the edges still. */
static void check_edges(sftest_rank_t *self, const sftest_part_t *part, const sf_graph_t *real)
{
  size_t n = (size_t)part->nleaves + 1;
  int64_t *leaves = malloc(n * sizeof *leaves), *roots = malloc(n * sizeof *roots);
  int32_t *ranks = malloc(n * sizeof *ranks);
  SFTEST_OK(self, sf_graph_edges(real, leaves, ranks, roots));
  for (int64_t i = 0; i < part->nleaves; i++)
    SFTEST_REQUIRE(self, leaves[i] == part->edges[i].leaf && ranks[i] == part->edges[i].root_rank &&
                             roots[i] == part->edges[i].root);
  free(leaves);
  free(roots);
  free(ranks);
}

void sftest_graph_check_info(sftest_rank_t *self, const sftest_graph_t *graph, const sf_graph_t *real, int32_t rank,
                             const int32_t places[], bool combined)
{
  const sftest_part_t *part = &graph->parts[rank];
  expected_info_t all = {{.nroots = part->nroots, .nleaves = part->nleaves, .leaf_space = part->leaf_space}, 0};
  sf_graph_info_t info, *expected = &all.info;
  bool own[SFTEST_GROUP_MAX] = {false};
  own[rank] = true;
  (void)count_values(graph, rank, own, &expected->nleaves_self);
  expect_peers(graph, rank, places, combined, &all);
  check_edges(self, part, real);
  SFTEST_OK(self, sf_graph_info(real, &info));
  SFTEST_REQUIRE(self, info.nroots == expected->nroots && info.nleaves == expected->nleaves);
  SFTEST_REQUIRE(self, info.leaf_space == expected->leaf_space && info.nleaves_self == expected->nleaves_self);
  SFTEST_REQUIRE(self, info.nroot_ranks == expected->nroot_ranks);
  SFTEST_REQUIRE(self, info.nleaf_ranks >= expected->nleaf_ranks && info.nleaf_ranks <= all.nleaf_ranks);
  SFTEST_REQUIRE(self, info.nroot_values_sent == expected->nroot_values_sent);
  SFTEST_REQUIRE(self, info.nroot_contributions == expected->nroot_contributions && info.operations == 0);
}
