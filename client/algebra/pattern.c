/* Patterns: graphs equivalent to collective operations. */
#include <string.h>

#include "client/algebra/derive.h"
#include "client/algebra/layout.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* A pattern on a group. */
typedef struct sfc_shape {
  sf_pattern_t pattern;
  int64_t n; /* block size of ALLTOALL */
  int32_t root_rank;
  sfc_layout_t roots;
} sfc_shape_t;

/* Number of leaves on this rank; negative: overflow. */
static int64_t count_leaves(const sfc_shape_t *shape, const sf_group_t *group)
{
  if (shape->pattern == SF_PATTERN_ALLTOALL)
    return sfc_product(shape->n, group->size);
  if (shape->pattern == SF_PATTERN_GATHER && group->rank != shape->root_rank)
    return 0;
  return sfc_layout_total(&shape->roots);
}

/* Adds the edges by leaf, from leaf 0 on. */
static void add_edges(sfc_derive_t *derive, const sfc_shape_t *shape)
{
  int64_t nleaves = count_leaves(shape, derive->group), leaf = 0;
  bool blocks = shape->pattern == SF_PATTERN_ALLTOALL;
  if (nleaves < 0)
    sfc_derive_error(derive, -1, SF_ERR_RANGE, "%d blocks of %lld", derive->group->size, (long long)shape->n);
  sfc_derive_reserve(derive, nleaves < 0 ? 0 : nleaves);
  for (int32_t rank = 0; rank < derive->group->size && leaf < nleaves && !derive->starved; rank++) {
    int64_t first = blocks ? derive->group->rank * shape->n : 0;
    int64_t n = blocks ? shape->n : shape->roots.first[rank + 1] - shape->roots.first[rank];
    for (int64_t i = 0; i < n; i++)
      sfc_derive_add(derive, leaf++, rank, first + i);
  }
}

/* ---- Asked for --------------------------------------------------------------------------------------------------- */

/* Values that each rank gathers from all. */
enum { TOLD_N, TOLD_PATTERN, TOLD_ROOT, TOLD };

static void check_same(sfc_derive_t *derive, const int64_t told[])
{
  for (int32_t rank = 1; told != NULL && rank < derive->group->size; rank++) {
    const int64_t *other = told + (int64_t)rank * TOLD;
    if (other[TOLD_PATTERN] != told[TOLD_PATTERN] || other[TOLD_ROOT] != told[TOLD_ROOT])
      sfc_derive_error(derive, -1, SF_ERR_MISMATCH, "rank 0 asks for pattern %d with root %d, rank %d for %d with %d",
                       (int)told[TOLD_PATTERN], (int)told[TOLD_ROOT], rank, (int)other[TOLD_PATTERN],
                       (int)other[TOLD_ROOT]);
    else if (told[TOLD_PATTERN] == SF_PATTERN_ALLTOALL && other[TOLD_N] != told[TOLD_N])
      sfc_derive_error(derive, -1, SF_ERR_MISMATCH, "rank 0 has blocks of %lld, rank %d of %lld",
                       (long long)told[TOLD_N], rank, (long long)other[TOLD_N]);
  }
}

static sf_status_t check_request(const sf_group_t *group, sf_pattern_t pattern, int64_t n, int32_t root_rank)
{
  if (pattern != SF_PATTERN_ALLGATHER && pattern != SF_PATTERN_GATHER && pattern != SF_PATTERN_ALLTOALL)
    return sfshm_error(SF_ERR_ARG, "no pattern %d to be made", (int)pattern);
  if (n < 0)
    return sfshm_error(SF_ERR_ARG, "n is %lld", (long long)n);
  if (pattern == SF_PATTERN_GATHER && (root_rank < 0 || root_rank >= group->size))
    return sfshm_error(SF_ERR_RANGE, "rank %d; 0..%d expected", root_rank, group->size - 1);
  return SF_OK;
}

sf_status_t sf_graph_create_pattern(sf_group_t *group, sf_pattern_t pattern, int64_t n, int32_t root_rank,
                                    uint32_t flags, sf_graph_t **graph_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_on(&derive, __func__, group, flags);
  if (status != SF_OK)
    return status;
  sfc_derive_note(&derive, check_request(group, pattern, n, root_rank), -1);
  sfc_shape_t shape = {pattern, n, pattern == SF_PATTERN_GATHER ? root_rank : 0, {.size = 0}};
  const int64_t mine[TOLD] = {[TOLD_N] = n, [TOLD_PATTERN] = (int64_t)pattern, [TOLD_ROOT] = shape.root_rank};
  const int64_t *told = sfc_derive_allgather(&derive, TOLD, mine);
  check_same(&derive, told);
  sfc_layout_make(&derive, told, TOLD, 1, &shape.roots);
  derive.nroots = pattern == SF_PATTERN_ALLTOALL ? sfc_product(n, group->size) : n;
  if (shape.roots.first != NULL && derive.status == SF_OK)
    add_edges(&derive, &shape);
  return sfc_derive_end(&derive, graph_p);
}

/* ---- Found ------------------------------------------------------------------------------------------------------- */

static bool has_shape(sfc_derive_t *derive, const sf_graph_t *graph, const sfc_derive_edges_t *found,
                      const sfc_shape_t *shape)
{
  sfc_derive_t expected;
  if (graph->plan.leaf_max + 1 != graph->nleaves || count_leaves(shape, derive->group) != graph->nleaves)
    return false;
  sfc_derive_begin(&expected, derive->caller, derive->group, SF_GRAPH_DEFAULT);
  add_edges(&expected, shape);
  size_t n = (size_t)found->n;
  bool same = !expected.starved && expected.edges.n == found->n &&
              memcmp(expected.edges.root_rank, found->root_rank, n * sizeof *found->root_rank) == 0 &&
              memcmp(expected.edges.root, found->root, n * sizeof *found->root) == 0;
  sfc_derive_end_part(&expected, derive);
  return same;
}

/* Bit set of the patterns that this rank's part may belong to. For GATHER ranks also agree on the root rank. */
static int64_t find_shapes(sfc_derive_t *derive, const sf_graph_t *graph, const sfc_layout_t *roots, int32_t root_rank)
{
  sfc_derive_edges_t edges;
  int64_t shapes = 0;
  sfc_derive_read_edges(derive, graph, &edges);
  for (int pattern = SF_PATTERN_ALLGATHER; pattern <= SF_PATTERN_ALLTOALL; pattern++) {
    sfc_shape_t shape = {(sf_pattern_t)pattern, graph->nroots / roots->size, root_rank, *roots};
    if (pattern == SF_PATTERN_ALLTOALL && graph->nroots % roots->size != 0)
      continue;
    if (has_shape(derive, graph, &edges, &shape))
      shapes |= INT64_C(1) << pattern;
  }
  return shapes;
}

/* Ranks exchange their numbers of roots and leaves, then their bit sets. */
sf_status_t sf_graph_find_pattern(sf_graph_t *graph, sf_pattern_t *pattern_p)
{
  sfc_derive_t derive;
  sfc_layout_t roots;
  int32_t root_rank = 0;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  sfc_derive_check_output(&derive, pattern_p);
  const int64_t mine[2] = {graph->nroots, graph->nleaves};
  const int64_t *told = sfc_derive_allgather(&derive, 2, mine);
  sfc_layout_make(&derive, told, 2, 1, &roots);
  while (told != NULL && root_rank < roots.size - 1 && told[2 * root_rank + 1] == 0)
    root_rank++;
  int64_t here = roots.first != NULL ? find_shapes(&derive, graph, &roots, root_rank) : 0, everywhere = here;
  const int64_t *shapes = sfc_derive_allgather(&derive, 1, &here);
  for (int32_t rank = 0; shapes != NULL && rank < roots.size; rank++)
    everywhere &= shapes[rank];
  status = sfc_derive_agree(&derive);
  if (status != SF_OK)
    return status;
  *pattern_p = everywhere == 0 ? SF_PATTERN_NONE : (sf_pattern_t)__builtin_ctzll((unsigned long long)everywhere);
  return SF_OK;
}
