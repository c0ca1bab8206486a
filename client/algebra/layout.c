/* Layouts, and graphs from global numbers. */
#include "client/algebra/layout.h"

#include "shm/base/error.h"

void sfc_layout_make(sfc_derive_t *derive, const int64_t counts[], int64_t stride, int64_t n, sfc_layout_t *layout)
{
  int32_t size = derive->group->size;
  *layout = (sfc_layout_t){.size = size};
  int64_t *first = counts != NULL ? sfc_derive_array(derive, (int64_t)size + 1, sizeof *first) : NULL;
  if (first == NULL)
    return;
  for (int32_t rank = 0; rank < size; rank++) {
    first[rank + 1] = first[rank];
    for (int64_t i = 0; i < n && first[rank + 1] >= 0; i++)
      first[rank + 1] = sfc_sum(first[rank + 1], counts[rank * stride + i]);
    if (first[rank + 1] < 0) {
      sfc_derive_error(derive, -1, SF_ERR_RANGE, "the ranks together have more than 2^63 - 1");
      return;
    }
  }
  layout->first = first;
}

sfc_vertex_t sfc_layout_find(const sfc_layout_t *layout, int64_t number, int32_t *hint)
{
  int32_t low = 0, high = layout->size - 1;
  if (number >= layout->first[*hint] && number < layout->first[*hint + 1])
    low = high = *hint;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (number < layout->first[middle + 1])
      high = middle;
    else
      low = middle + 1;
  }
  *hint = low;
  return (sfc_vertex_t){low, number - layout->first[low]};
}

/* ---- Global numbers of roots ------------------------------------------------------------------------------------- */

/* Returns a size from the application, or notes an error and returns 0. */
static int64_t checked(sfc_derive_t *derive, const char *name, int64_t n)
{
  if (n >= 0)
    return n;
  sfc_derive_error(derive, -1, SF_ERR_ARG, "%s is %lld", name, (long long)n);
  return 0;
}

static void add_global(sfc_derive_t *derive, const sfc_layout_t *roots, int64_t nleaves, const int64_t leaf_index[],
                       const int64_t root_global[])
{
  int32_t owner = 0;
  for (int64_t i = 0; roots->first != NULL && i < nleaves; i++) {
    int64_t leaf = leaf_index != NULL ? leaf_index[i] : i, number = root_global[i];
    if (number < 0)
      continue;
    if (number >= sfc_layout_total(roots)) {
      sfc_derive_error(derive, leaf, SF_ERR_RANGE, "global root number %lld, but there are %lld roots",
                       (long long)number, (long long)sfc_layout_total(roots));
      return;
    }
    sfc_vertex_t root = sfc_layout_find(roots, number, &owner);
    sfc_derive_add(derive, leaf, root.rank, root.index);
  }
}

sf_status_t sf_graph_create_global(sf_group_t *group, int64_t nroots, int64_t nleaves, const int64_t leaf_index[],
                                   const int64_t root_global[], uint32_t flags, sf_graph_t **graph_p)
{
  sfc_derive_t derive;
  sfc_layout_t roots;
  sf_status_t status = sfc_derive_on(&derive, __func__, group, flags);
  if (status != SF_OK)
    return status;
  derive.nroots = checked(&derive, "nroots", nroots);
  nleaves = checked(&derive, "nleaves", nleaves);
  if (nleaves > 0 && root_global == NULL) {
    sfc_derive_error(&derive, -1, SF_ERR_ARG, "root_global is NULL with %lld leaves", (long long)nleaves);
    nleaves = 0;
  }
  sfc_layout_make(&derive, sfc_derive_allgather(&derive, 1, &derive.nroots), 1, 1, &roots);
  sfc_derive_reserve(&derive, nleaves);
  add_global(&derive, &roots, nleaves, leaf_index, root_global);
  return sfc_derive_end(&derive, graph_p);
}

/* ---- Two layouts ------------------------------------------------------------------------------------------------- */

static void connect_layouts(sfc_derive_t *derive, const sfc_layout_t *roots, const sfc_layout_t *leaves)
{
  int32_t owner = 0, rank = derive->group->rank;
  if (roots->first == NULL || leaves->first == NULL)
    return;
  for (int64_t number = leaves->first[rank]; number < leaves->first[rank + 1]; number++) {
    if (number >= sfc_layout_total(roots))
      return;
    sfc_vertex_t root = sfc_layout_find(roots, number, &owner);
    sfc_derive_add(derive, number - leaves->first[rank], root.rank, root.index);
  }
}

sf_status_t sf_graph_from_layouts(sf_group_t *group, int64_t nroots, int64_t nleaves, uint32_t flags,
                                  sf_graph_t **graph_p)
{
  sfc_derive_t derive;
  sfc_layout_t roots, leaves;
  sf_status_t status = sfc_derive_on(&derive, __func__, group, flags);
  if (status != SF_OK)
    return status;
  const int64_t mine[2] = {checked(&derive, "nroots", nroots), checked(&derive, "nleaves", nleaves)};
  derive.nroots = mine[0];
  const int64_t *counts = sfc_derive_allgather(&derive, 2, mine);
  sfc_layout_make(&derive, counts, 2, 1, &roots);
  sfc_layout_make(&derive, counts != NULL ? counts + 1 : NULL, 2, 1, &leaves);
  sfc_derive_reserve(&derive, mine[1]);
  connect_layouts(&derive, &roots, &leaves);
  return sfc_derive_end(&derive, graph_p);
}
