/* Opens and checks edge lists of other processes. Any thread. */
#include "shm/edges/edges.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"

/* More edges than any process has memory for: the application's own description takes at least 8 bytes per edge. */
#define MAX_EDGES (INT64_C(1) << 44)

/* ---- Patterns ---- */

static bool is_line(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED;
}

static sfshm_pattern_t stored_pattern(const void *base, const sfshm_stored_pattern_t *stored)
{
  sfshm_pattern_t pattern = {.kind = (sfshm_pattern_kind_t)stored->kind, .n = stored->n};
  switch (pattern.kind) {
  case SFSHM_PATTERN_INDEX32:
    pattern.index32 = (const void *)((const char *)base + stored->offset);
    break;
  case SFSHM_PATTERN_INDEX64:
    pattern.index64 = (const void *)((const char *)base + stored->offset);
    break;
  default:
    pattern.start = stored->start;
    pattern.stride = pattern.kind == SFSHM_PATTERN_CONTIGUOUS ? 1 : stored->stride;
  }
  return pattern;
}

static sf_status_t check_line(const sfshm_stored_pattern_t *stored, const char *what)
{
  int64_t span, last, n = stored->n;
  int64_t stride = stored->kind == SFSHM_PATTERN_CONTIGUOUS ? 1 : stored->stride;
  if (stored->start < 0 || stride == 0 || __builtin_mul_overflow(stride, n > 0 ? n - 1 : 0, &span) ||
      __builtin_add_overflow(stored->start, span, &last) || last < 0)
    return sfshm_error(SF_ERR_PROTO, "edge list: %s: %lld from %lld on, stride %lld, are out of range", what,
                       (long long)n, (long long)stored->start, (long long)stored->stride);
  return SF_OK;
}

static sf_status_t check_array(const sfshm_region_t *region, const sfshm_stored_pattern_t *stored, const char *what)
{
  uint64_t width = stored->kind == SFSHM_PATTERN_INDEX32 ? sizeof(uint32_t) : sizeof(int64_t);
  if (stored->offset > region->length_bytes || stored->offset % width != 0 ||
      (uint64_t)stored->n > (region->length_bytes - stored->offset) / width)
    return sfshm_error(SF_ERR_PROTO, "edge list: %s: array of %lld at %llu exceeds the region of %zu bytes", what,
                       (long long)stored->n, (unsigned long long)stored->offset, region->length_bytes);
  return SF_OK;
}

/* Whether the pattern has n entries that lie within the region. */
static sf_status_t check_pattern(const sfshm_region_t *region, const sfshm_stored_pattern_t *stored, const char *what,
                                 int64_t n)
{
  if (stored->n != n)
    return sfshm_error(SF_ERR_PROTO, "edge list: %s: %lld entries expected, %lld found", what, (long long)n,
                       (long long)stored->n);
  switch (stored->kind) {
  case SFSHM_PATTERN_CONTIGUOUS:
  case SFSHM_PATTERN_STRIDED:
    return check_line(stored, what);
  case SFSHM_PATTERN_INDEX32:
  case SFSHM_PATTERN_INDEX64:
    return check_array(region, stored, what);
  default:
    return sfshm_error(SF_ERR_PROTO, "edge list: %s: unknown pattern kind %u", what, stored->kind);
  }
}

static sf_status_t check_block(const sfshm_region_t *region, const sfshm_edge_block_t *block, int64_t nedges,
                               int64_t nvalues)
{
  if (nedges < 1 || nvalues < 1 || nvalues > nedges || nedges > MAX_EDGES)
    return sfshm_error(SF_ERR_PROTO, "edge list: %lld edges to %lld roots", (long long)nedges, (long long)nvalues);
  sf_status_t status = check_pattern(region, &block->value_root, "roots", nvalues);
  if (status == SF_OK)
    status = check_pattern(region, &block->leaf, "leaves", nedges);
  if (status == SF_OK)
    status = check_pattern(region, &block->extra_value, "values of extra edges", nedges - nvalues);
  if (status == SF_OK)
    status = check_pattern(region, &block->extra_edge, "extra edges", nedges - nvalues);
  if (status == SF_OK && nedges > nvalues && block->value_root.kind < SFSHM_PATTERN_INDEX32)
    status = sfshm_error(SF_ERR_PROTO, "edge list: extra edges, but the roots are no array");
  return status;
}

/* ---- The plan's order ---- */

/* Whether the values of the extra edges ascend and are below nvalues. */
static bool values_are_sound(const sfshm_pattern_t *extra_value, int64_t nvalues)
{
  int64_t previous = 0;
  for (int64_t i = 0; i < extra_value->n; i++) {
    int64_t value = sfshm_pattern_at(extra_value, i);
    if (value < previous || value >= nvalues)
      return false;
    previous = value;
  }
  return true;
}

/* Adds the extra edges to the set. Returns false if one is out of range or repeated. */
static bool enter_extras(const sfshm_pattern_t *extra_edge, int64_t nedges, uint64_t set[])
{
  for (int64_t e = 0; e < extra_edge->n; e++) {
    int64_t edge = sfshm_pattern_at(extra_edge, e);
    if (edge < 0 || edge >= nedges || (set[edge >> 6] >> (edge & 63) & 1) != 0)
      return false;
    set[edge >> 6] |= UINT64_C(1) << (edge & 63);
  }
  return true;
}

/* Writes the leaves of the edges in plan order, in memory that the pattern then owns. */
static void order_leaves(const sfshm_pattern_t *given, const uint64_t extras[], const sfshm_pattern_t *extra_edge,
                         bool wide, void *leaf, sfshm_pattern_t *pattern_p)
{
  sfshm_pattern_copy(given, extras, wide, leaf);
  for (int64_t e = 0, i = given->n - extra_edge->n; e < extra_edge->n; e++, i++) {
    int64_t vertex = sfshm_pattern_at(given, sfshm_pattern_at(extra_edge, e));
    if (wide)
      ((int64_t *)leaf)[i] = vertex;
    else
      ((uint32_t *)leaf)[i] = (uint32_t)vertex;
  }
  *pattern_p = wide ? sfshm_pattern_from_index64(leaf, given->n) : sfshm_pattern_from_index32(leaf, given->n);
}

/* Whether the extra edges follow the others, in order: then the leaves are in plan order. */
static bool are_arranged(const sfshm_pattern_t *extra_edge, int64_t nvalues)
{
  return extra_edge->kind == SFSHM_PATTERN_CONTIGUOUS && extra_edge->start == nvalues;
}

static void find_extra_roots(const sfshm_edges_t *edges, int64_t roots[])
{
  for (int64_t e = 0; e < edges->extra_value.n; e++)
    roots[e] = sfshm_pattern_at(&edges->value_root, sfshm_pattern_at(&edges->extra_value, e));
}

/* With extra edges, if the leaves are in plan order. */
static sf_status_t take_arranged(sfshm_edges_t *edges)
{
  int64_t *roots = malloc((size_t)edges->extra_value.n * sizeof *roots);
  if (roots == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of %lld extra edges", (long long)edges->extra_value.n);
  find_extra_roots(edges, roots);
  edges->extra_root = sfshm_pattern_from_index64(roots, edges->extra_value.n);
  edges->memory = roots;
  return SF_OK;
}

/* With extra edges: computes the patterns that the block does not contain in plan order. */
static sf_status_t arrange(const sfshm_pattern_t *given, int64_t leaf_max, const sfshm_pattern_t *extra_edge,
                           sfshm_edges_t *edges)
{
  size_t nedges = (size_t)given->n, nextra = (size_t)extra_edge->n;
  bool wide = leaf_max > UINT32_MAX;
  uint64_t *extras = calloc(nedges / 64 + 1, sizeof *extras);
  int64_t *roots = malloc(nextra * sizeof *roots + nedges * (wide ? sizeof(int64_t) : sizeof(uint32_t)));
  sf_status_t status = SF_OK;
  if (extras == NULL || roots == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "plan of %lld edges", (long long)nedges);
  else if (!enter_extras(extra_edge, given->n, extras))
    status =
        sfshm_error(SF_ERR_PROTO, "edge list: extra edges occur twice, or are not in 0..%lld", (long long)given->n - 1);
  if (status == SF_OK) {
    find_extra_roots(edges, roots);
    edges->extra_root = sfshm_pattern_from_index64(roots, extra_edge->n);
    order_leaves(given, extras, extra_edge, wide, roots + nextra, &edges->leaf);
    edges->leaf_in_memory = true;
    edges->memory = roots;
    roots = NULL;
  }
  free(roots);
  free(extras);
  return status;
}

/* ---- Roots that are not there ---- */

/* The lowest leaf of a range of edges. */
static int64_t lowest_leaf(const sfshm_pattern_t *leaf, int64_t first, int64_t end)
{
  sfshm_pattern_t slice = sfshm_pattern_slice(leaf, first, end - first);
  return sfshm_pattern_min(&slice);
}

/* Number of entries of an ascending strided pattern that are below the bound. */
static int64_t count_below(int64_t start, int64_t stride, int64_t n, int64_t bound)
{
  int64_t below = start < bound ? (bound - 1 - start) / stride + 1 : 0;
  return below < n ? below : n;
}

/* If the roots are strided there are no extra edges, and roots out of range are at one end. */
static void find_bad_on_line(const sfshm_edges_t *edges, int64_t nroots, int64_t *leaf_p, int64_t *root_p)
{
  const sfshm_pattern_t *roots = &edges->value_root;
  int64_t n = roots->n, first = 0, end = n;
  if (roots->stride > 0)
    first = count_below(roots->start, roots->stride, n, nroots);
  else
    end = n - count_below(sfshm_pattern_at(roots, n - 1), -roots->stride, n, nroots);
  *leaf_p = lowest_leaf(&edges->leaf, first, end);
  int64_t edge = first;
  if (is_line(&edges->leaf))
    edge = sfshm_pattern_at(&edges->leaf, first) == *leaf_p ? first : end - 1;
  else
    while (sfshm_pattern_at(&edges->leaf, edge) != *leaf_p)
      edge++;
  *root_p = sfshm_pattern_at(roots, edge);
}

/* Finds the lowest leaf whose root is not below nroots, and that root. */
static void find_bad_root(const sfshm_edges_t *edges, int64_t nroots, int64_t *leaf_p, int64_t *root_p)
{
  *leaf_p = INT64_MAX;
  *root_p = -1;
  for (int64_t edge = 0; edge < edges->leaf.n; edge++) {
    int64_t nvalues = edges->value_root.n;
    int64_t root = edge < nvalues ? sfshm_pattern_at(&edges->value_root, edge)
                                  : sfshm_pattern_at(&edges->extra_root, edge - nvalues);
    int64_t leaf = sfshm_pattern_at(&edges->leaf, edge);
    if (root >= nroots && (leaf < *leaf_p || *root_p < 0)) {
      *leaf_p = leaf;
      *root_p = root;
    }
  }
}

/* ---- Opening ---- */

/* Checks a block whose patterns lie in the region, and puts it into plan order. foreign: checks only what must be known
 * of the leaves. */
static sf_status_t open_block(const void *base, const sfshm_edge_block_t *block, bool foreign, sfshm_edges_t *edges)
{
  sfshm_pattern_t given = stored_pattern(base, &block->leaf), extra_edge = stored_pattern(base, &block->extra_edge);
  edges->value_root = stored_pattern(base, &block->value_root);
  edges->extra_value = stored_pattern(base, &block->extra_value);
  edges->roots = sfshm_pattern_survey(&edges->value_root);
  bool arranged = extra_edge.n == 0 || are_arranged(&extra_edge, edges->value_root.n);
  if (foreign && arranged && given.kind == SFSHM_PATTERN_INDEX32)
    edges->leaves = (sfshm_pattern_survey_t){0, SFSHM_EDGES_UNKNOWN, SFSHM_EDGES_UNKNOWN};
  else
    edges->leaves = sfshm_pattern_survey(&given);
  edges->leaf = given;
  if (edges->roots.min < 0 || edges->leaves.min < 0)
    return sfshm_error(SF_ERR_PROTO, "edge list: negative root or leaf");
  if (extra_edge.n == 0)
    return SF_OK;
  if (!values_are_sound(&edges->extra_value, edges->value_root.n))
    return sfshm_error(SF_ERR_PROTO, "edge list: values of extra edges descend, or are not in 0..%lld",
                       (long long)edges->value_root.n - 1);
  sf_status_t status = arranged ? take_arranged(edges) : arrange(&given, edges->leaves.max, &extra_edge, edges);
  if (status == SF_OK && !arranged)
    edges->leaves = sfshm_pattern_survey(&edges->leaf);
  if (status == SF_OK)
    edges->value_root = sfshm_pattern_shorten(&edges->value_root);
  return status;
}

sf_status_t sfshm_edges_open(const sfshm_region_t *region, uint64_t offset, int64_t nedges, int64_t nvalues,
                             int64_t nroots, sfshm_edges_t *edges_p, int64_t *bad_leaf_p, int64_t *bad_root_p)
{
  sfshm_edges_t edges = {.memory = NULL};
  sfshm_edge_block_t block;
  if (offset % sizeof(uint64_t) != 0 || offset > region->length_bytes || region->length_bytes - offset < sizeof block)
    return sfshm_error(SF_ERR_PROTO, "edge list: block at %llu exceeds the region of %zu bytes",
                       (unsigned long long)offset, region->length_bytes);
  memcpy(&block, (const char *)region->base + offset, sizeof block);
  sf_status_t status = check_block(region, &block, nedges, nvalues);
  if (status == SF_OK)
    status = open_block(region->base, &block, true, &edges);
  if (status == SF_OK && edges.roots.max >= nroots) {
    if (is_line(&edges.value_root) && edges.extra_value.n == 0)
      find_bad_on_line(&edges, nroots, bad_leaf_p, bad_root_p);
    else
      find_bad_root(&edges, nroots, bad_leaf_p, bad_root_p);
    sfshm_edges_close(&edges);
    return sfshm_error(SF_ERR_RANGE, "root index %lld, but there are %lld roots", (long long)*bad_root_p,
                       (long long)nroots);
  }
  if (status == SF_OK)
    *edges_p = edges;
  return status;
}

sf_status_t sfshm_edges_open_own(const void *base, const sfshm_edge_block_t *block, sfshm_edges_t *edges_p)
{
  sfshm_edges_t edges = {.memory = NULL};
  sf_status_t status = open_block(base, block, false, &edges);
  if (status == SF_OK)
    *edges_p = edges;
  return status;
}

static void move_pattern(sfshm_pattern_t *pattern, const char *from, const char *to)
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    pattern->index32 = (const uint32_t *)(const void *)(to + ((const char *)pattern->index32 - from));
  else if (pattern->kind == SFSHM_PATTERN_INDEX64)
    pattern->index64 = (const int64_t *)(const void *)(to + ((const char *)pattern->index64 - from));
}

void sfshm_edges_move(sfshm_edges_t *edges, const void *from, const void *to)
{
  move_pattern(&edges->value_root, from, to);
  move_pattern(&edges->extra_value, from, to);
  if (!edges->leaf_in_memory)
    move_pattern(&edges->leaf, from, to);
}

void sfshm_edges_close(sfshm_edges_t *edges)
{
  free(edges->memory);
  edges->memory = NULL;
}
