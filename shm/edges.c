/* Opening and checking edge lists that another process wrote. Any thread. */
#include "shm/edges.h"

#include <string.h>

#include "shm/error.h"

static sf_status_t open_pattern(const sfshm_region_t *region, const sfshm_stored_pattern_t *stored, const char *what,
                                int64_t n, sfshm_pattern_t *pattern_p)
{
  sfshm_pattern_t pattern = {.kind = (sfshm_pattern_kind_t)stored->kind, .n = stored->n};
  if (pattern.n != n)
    return sfshm_error(SF_ERR_PROTO, "edge list: %s: %lld entries expected, %lld found", what, (long long)n,
                       (long long)pattern.n);
  uint64_t width = pattern.kind == SFSHM_PATTERN_INDEX32 ? sizeof(uint32_t) : sizeof(int64_t);
  switch (stored->kind) {
  case SFSHM_PATTERN_CONTIGUOUS:
  case SFSHM_PATTERN_STRIDED: {
    int64_t span, last;
    pattern.start = stored->start;
    pattern.stride = stored->kind == SFSHM_PATTERN_CONTIGUOUS ? 1 : stored->stride;
    if (pattern.start < 0 || __builtin_mul_overflow(pattern.stride, n > 0 ? n - 1 : 0, &span) ||
        __builtin_add_overflow(pattern.start, span, &last) || last < 0)
      return sfshm_error(SF_ERR_PROTO, "edge list: %s: start %lld, stride %lld out of range", what,
                         (long long)stored->start, (long long)stored->stride);
    break;
  }
  case SFSHM_PATTERN_INDEX32:
  case SFSHM_PATTERN_INDEX64:
    if (stored->offset > region->length_bytes || stored->offset % width != 0 ||
        (uint64_t)n > (region->length_bytes - stored->offset) / width)
      return sfshm_error(SF_ERR_PROTO, "edge list: %s: array of %lld at %llu exceeds the region of %zu bytes", what,
                         (long long)n, (unsigned long long)stored->offset, region->length_bytes);
    const void *array = (const char *)region->base + stored->offset;
    if (stored->kind == SFSHM_PATTERN_INDEX32)
      pattern.index32 = array;
    else
      pattern.index64 = array;
    break;
  default:
    return sfshm_error(SF_ERR_PROTO, "edge list: %s: unknown pattern kind %u", what, stored->kind);
  }
  *pattern_p = pattern;
  return SF_OK;
}

/* Whether the values of the extra edges ascend and are below nvalues. */
static bool extras_are_sound(const sfshm_pattern_t *extra_value, int64_t nvalues)
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

/* The lowest leaf whose root is not below nroots, and that root. */
static void find_bad_root(const sfshm_edges_t *edges, int64_t nroots, int64_t *leaf_p, int64_t *root_p)
{
  *leaf_p = INT64_MAX;
  *root_p = -1;
  for (int64_t edge = 0; edge < edges->leaf.n; edge++) {
    int64_t nvalues = edges->value_root.n;
    int64_t value = edge < nvalues ? edge : sfshm_pattern_at(&edges->extra_value, edge - nvalues);
    int64_t root = sfshm_pattern_at(&edges->value_root, value);
    int64_t leaf = sfshm_pattern_at(&edges->leaf, edge);
    if (root >= nroots && leaf < *leaf_p) {
      *leaf_p = leaf;
      *root_p = root;
    }
  }
}

sf_status_t sfshm_edges_open(const sfshm_region_t *region, uint64_t offset, int64_t nedges, int64_t nvalues,
                             int64_t nroots, sfshm_edges_t *edges_p, int64_t *bad_leaf_p, int64_t *bad_root_p)
{
  sfshm_edges_t edges = {0};
  sfshm_edge_block_t block;
  if (offset % sizeof(uint64_t) != 0 || offset > region->length_bytes || region->length_bytes - offset < sizeof block)
    return sfshm_error(SF_ERR_PROTO, "edge list: block at %llu exceeds the region of %zu bytes",
                       (unsigned long long)offset, region->length_bytes);
  memcpy(&block, (const char *)region->base + offset, sizeof block);
  if (nedges < 1 || nvalues < 1 || nvalues > nedges)
    return sfshm_error(SF_ERR_PROTO, "edge list: %lld edges to %lld roots", (long long)nedges, (long long)nvalues);
  sf_status_t status = open_pattern(region, &block.value_root, "roots", nvalues, &edges.value_root);
  if (status == SF_OK)
    status = open_pattern(region, &block.leaf, "leaves", nedges, &edges.leaf);
  if (status == SF_OK)
    status = open_pattern(region, &block.extra_value, "values of extra edges", nedges - nvalues, &edges.extra_value);
  if (status != SF_OK)
    return status;
  edges.roots = sfshm_pattern_survey(&edges.value_root);
  edges.leaves = sfshm_pattern_survey(&edges.leaf);
  if (edges.roots.min < 0 || edges.leaves.min < 0)
    return sfshm_error(SF_ERR_PROTO, "edge list: negative root or leaf");
  if (!extras_are_sound(&edges.extra_value, nvalues))
    return sfshm_error(SF_ERR_PROTO, "edge list: values of extra edges descend, or are not in 0..%lld",
                       (long long)nvalues - 1);
  if (edges.roots.max >= nroots) {
    find_bad_root(&edges, nroots, bad_leaf_p, bad_root_p);
    return sfshm_error(SF_ERR_RANGE, "root index %lld, but there are %lld roots", (long long)*bad_root_p,
                       (long long)nroots);
  }
  *edges_p = edges;
  return SF_OK;
}
