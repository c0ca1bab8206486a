/* Links: see link.h. */
#include "client/link.h"

#include <stdlib.h>

#include "shm/error.h"

/* edge_root[e] = value_root[edge_value[e]]. */
static sf_status_t expand_roots(sfc_link_t *link)
{
  int64_t n = link->nedges;
  bool narrow = link->root_max <= UINT32_MAX;
  link->own_index = malloc((size_t)n * (narrow ? sizeof(uint32_t) : sizeof(int64_t)));
  if (link->own_index == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of %lld edges", (long long)n);
  for (int64_t e = 0; e < n; e++) {
    int64_t root = sfshm_pattern_at(&link->value_root, sfshm_pattern_at(&link->edge_value, e));
    if (narrow)
      ((uint32_t *)link->own_index)[e] = (uint32_t)root;
    else
      ((int64_t *)link->own_index)[e] = root;
  }
  link->edge_root =
      narrow ? sfshm_pattern_from_index32(link->own_index, n) : sfshm_pattern_from_index64(link->own_index, n);
  return SF_OK;
}

sf_status_t sfc_link_init(sfc_link_t *link, const sfshm_edges_t *edges)
{
  *link = (sfc_link_t){
      .nvalues = edges->value_root.n,
      .nedges = edges->leaf.n,
      .value_root = edges->value_root,
      .edge_root = edges->value_root,
      .edge_value = edges->edge_value,
      .leaf = edges->leaf,
      .root_max = edges->roots.max,
      .leaf_max = edges->leaves.max,
      .root_runs = edges->roots.runs,
      .leaf_runs = edges->leaves.runs,
  };
  return edges->edge_value.n > 0 ? expand_roots(link) : SF_OK;
}

void sfc_link_destroy(sfc_link_t *link)
{
  free(link->own_index);
  *link = (sfc_link_t){0};
}

/* First edge that carries the value or a later one. */
static int64_t first_edge(const sfc_link_t *link, int64_t value)
{
  int64_t low = 0, high = link->nedges;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sfshm_pattern_at(&link->edge_value, middle) < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int64_t sfc_link_edges_of(const sfc_link_t *link, int64_t first, int64_t n, int64_t *edge_p)
{
  if (link->edge_value.n == 0) {
    *edge_p = first;
    return n;
  }
  *edge_p = first_edge(link, first);
  return (first + n == link->nvalues ? link->nedges : first_edge(link, first + n)) - *edge_p;
}
