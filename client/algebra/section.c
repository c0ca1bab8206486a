/* Sections: graphs of points become graphs of units. */
#include <string.h>

#include "client/algebra/derive.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* ---- A section --------------------------------------------------------------------------------------------------- */

static int64_t size_at(const sf_section_t *section, int64_t point)
{
  return section->size != NULL ? section->size[point] : 1;
}

/* Checks a section and finds its extent; *bad_point_p: point of an error. offset: receives offsets of points, or NULL.
 */
static sf_status_t walk(const sf_section_t *section, int64_t offset[], int64_t *nunits_p, int64_t *bad_point_p)
{
  int64_t next = 0, nunits = 0;
  for (int64_t point = 0; point < section->npoints; point++) {
    int64_t size = size_at(section, point), first = section->offset != NULL ? section->offset[point] : next;
    next = size < 0 || first < 0 ? -1 : sfc_sum(first, size);
    *bad_point_p = point;
    if (next < 0)
      return sfshm_error(SF_ERR_RANGE, "point %lld has %lld units at offset %lld", (long long)point, (long long)size,
                         (long long)first);
    if (size > 0 && next > nunits)
      nunits = next;
    if (offset != NULL)
      offset[point] = first;
  }
  *nunits_p = nunits;
  return SF_OK;
}

static sf_status_t check_section(const sf_section_t *section, const char *name, int64_t npoints)
{
  if (section == NULL)
    return sfshm_error(SF_ERR_ARG, "the section of %s is NULL", name);
  if (section->npoints < npoints || section->npoints < 0)
    return sfshm_error(SF_ERR_ARG, "the section of %s has %lld points; %lld expected", name,
                       (long long)section->npoints, (long long)npoints);
  return SF_OK;
}

sf_status_t sf_section_extent(const sf_section_t *section, int64_t *nunits_p)
{
  int64_t bad_point;
  sf_status_t status = check_section(section, "vertices", 0);
  if (status == SF_OK && nunits_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "sf_section_extent: there is no place for the result");
  return status == SF_OK ? walk(section, NULL, nunits_p, &bad_point) : status;
}

/* Returns the offsets of a section of at least npoints points, and its extent; notes errors, with the leaf if leaves.
 */
static int64_t *find_offsets(sfc_derive_t *derive, const sf_section_t *section, const char *name, bool leaves,
                             int64_t npoints, int64_t *nunits_p)
{
  int64_t bad_point = -1;
  sf_status_t status = check_section(section, name, npoints);
  sfc_derive_note(derive, status, -1);
  int64_t *offsets = sfc_derive_array(derive, status == SF_OK ? section->npoints : npoints, sizeof *offsets);
  if (status == SF_OK && offsets != NULL) {
    status = walk(section, offsets, nunits_p, &bad_point);
    sfc_derive_note(derive, status, leaves ? bad_point : -1);
  }
  return offsets;
}

/* ---- Migration --------------------------------------------------------------------------------------------------- */

/* Copies the sizes of the points to send. Does not read the sizes of an invalid section. */
static int64_t *copy_sizes(sfc_derive_t *derive, const sf_section_t *section, int64_t n)
{
  int64_t *sizes = sfc_derive_array(derive, n, sizeof *sizes);
  for (int64_t i = 0; sizes != NULL && derive->status == SF_OK && i < n; i++)
    sizes[i] = size_at(section, i);
  return sizes;
}

sf_status_t sf_section_migrate(sf_graph_t *graph, const sf_section_t *roots, int64_t leaf_size[], int64_t leaf_offset[],
                               int64_t *nunits_p)
{
  sfc_derive_t derive;
  int64_t nunits = 0, bad_point = -1;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  int64_t n = graph->plan.leaf_max + 1;
  sfc_derive_check_output(&derive, nunits_p);
  if (n > 0 && (leaf_size == NULL || leaf_offset == NULL))
    sfc_derive_error(&derive, -1, SF_ERR_ARG, "leaf_size or leaf_offset is NULL");
  (void)find_offsets(&derive, roots, "roots", false, graph->nroots, &nunits);
  int64_t *sizes = copy_sizes(&derive, roots, graph->nroots);
  int64_t *arrived = sfc_derive_array(&derive, n, sizeof *arrived);
  int64_t *offsets = sfc_derive_array(&derive, n, sizeof *offsets);
  sfc_derive_bcast(&derive, graph, SF_INT64, 1, sizes, arrived);
  if (derive.status == SF_OK) {
    const sf_section_t leaves = {n, arrived, NULL};
    status = walk(&leaves, offsets, &nunits, &bad_point);
    sfc_derive_note(&derive, status, bad_point);
  }
  if (derive.status == SF_OK && n > 0) {
    memcpy(leaf_size, arrived, (size_t)n * sizeof *leaf_size);
    memcpy(leaf_offset, offsets, (size_t)n * sizeof *leaf_offset);
  }
  status = sfc_derive_agree(&derive);
  if (status == SF_OK)
    *nunits_p = nunits;
  return status;
}

/* ---- The graph of units ------------------------------------------------------------------------------------------ */

/* Extent of a root, sent to its leaves. */
typedef struct extent {
  int64_t offset, size; /* size -1: invalid section; all ranks will return that error */
} extent_t;

static extent_t *describe_roots(sfc_derive_t *derive, const sf_section_t *section, const int64_t offsets[], int64_t n)
{
  extent_t *extents = sfc_derive_array(derive, n, sizeof *extents);
  for (int64_t i = 0; extents != NULL && i < n; i++)
    extents[i] = derive->status == SF_OK ? (extent_t){offsets[i], size_at(section, i)} : (extent_t){0, -1};
  return extents;
}

/* Counts edges of units; notes a leaf whose size differs from its root's. */
static int64_t count_edges(sfc_derive_t *derive, const sfc_derive_edges_t *points, const sf_section_t *leaves,
                           const extent_t roots[])
{
  int64_t n = 0;
  for (int64_t i = 0; i < points->n; i++) {
    int64_t leaf = points->leaf[i], size = size_at(leaves, leaf);
    n = n < 0 ? n : sfc_sum(n, size);
    if (size == roots[leaf].size || roots[leaf].size < 0)
      continue;
    sfc_derive_error(derive, leaf, SF_ERR_MISMATCH, "%lld units at the leaf, %lld at its root, number %lld of rank %d",
                     (long long)size, (long long)roots[leaf].size, (long long)points->root[i], points->root_rank[i]);
  }
  return n;
}

static void add_units(sfc_derive_t *derive, const sfc_derive_edges_t *points, const int64_t leaf_offsets[],
                      const extent_t roots[])
{
  for (int64_t i = 0; i < points->n && !derive->starved; i++) {
    int64_t leaf = points->leaf[i];
    for (int64_t k = 0; k < roots[leaf].size; k++)
      sfc_derive_add(derive, leaf_offsets[leaf] + k, points->root_rank[i], roots[leaf].offset + k);
  }
}

sf_status_t sf_section_graph(sf_graph_t *graph, const sf_section_t *roots, const sf_section_t *leaves,
                             sf_graph_t **units_p)
{
  sfc_derive_t derive;
  sfc_derive_edges_t points;
  int64_t nleaf_units = 0;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  int64_t leaf_space = graph->plan.leaf_max + 1;
  int64_t *root_offsets = find_offsets(&derive, roots, "roots", false, graph->nroots, &derive.nroots);
  int64_t *leaf_offsets = find_offsets(&derive, leaves, "leaves", true, leaf_space, &nleaf_units);
  extent_t *here = describe_roots(&derive, roots, root_offsets, graph->nroots);
  extent_t *there = sfc_derive_array(&derive, leaf_space, sizeof *there);
  sfc_derive_read_edges(&derive, graph, &points);
  sfc_derive_bcast(&derive, graph, SF_INT64, 2, here, there);
  int64_t n = derive.status == SF_OK ? count_edges(&derive, &points, leaves, there) : 0;
  if (derive.status == SF_OK) {
    sfc_derive_reserve(&derive, n);
    add_units(&derive, &points, leaf_offsets, there);
  }
  return sfc_derive_end(&derive, units_p);
}
