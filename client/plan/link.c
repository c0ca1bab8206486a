/* Links: see link.h. */
#include "client/plan/link.h"

#include "client/core.h"

void sfc_link_init(sfc_link_t *link, sfshm_edges_t *edges, void *list)
{
  *link = (sfc_link_t){
      .nvalues = edges->value_root.n,
      .nedges = edges->leaf.n,
      .value_root = edges->value_root,
      .leaf = edges->leaf,
      .extra_value = edges->extra_value,
      .extra_root = edges->extra_root,
      .extra_leaf = sfshm_pattern_slice(&edges->leaf, edges->value_root.n, edges->extra_value.n),
      .root_max = edges->roots.max,
      .leaf_max = edges->leaves.max,
      .root_runs = edges->roots.runs,
      .leaf_runs = edges->leaves.runs,
      .memory = {edges->memory, list},
  };
  edges->memory = NULL;
  sfshm_pattern_find_box(&link->value_root);
  if (link->leaf_max != SFSHM_EDGES_UNKNOWN) /* else unread here */
    sfshm_pattern_find_box(&link->leaf);
}

void sfc_link_destroy(sfc_link_t *link)
{
  sfc_device_free_array(link->memory[0]);
  sfc_device_free_array(link->memory[1]);
  *link = (sfc_link_t){0};
}

static void unpack_to_leaves(const sfc_link_t *link, const sfc_combine_t *combine, int64_t first, int64_t n,
                             const void *packed, void *target)
{
  combine->kernels->unpack(combine->unit, &link->leaf, first, n, packed, target);
  if (link->extra_value.n == 0)
    return;
  int64_t extra = sfshm_pattern_find(&link->extra_value, first);
  int64_t end = sfshm_pattern_find(&link->extra_value, first + n);
  combine->kernels->scatter(combine->unit, &link->extra_value, first, packed, &link->extra_leaf, target, extra,
                            end - extra);
}

static void unpack_to_roots(const sfc_link_t *link, const sfc_combine_t *combine, int64_t first, int64_t n,
                            const char *packed, void *target)
{
  int64_t plain = first + n <= link->nvalues ? n : first < link->nvalues ? link->nvalues - first : 0;
  if (plain > 0)
    combine->kernels->unpack(combine->unit, &link->value_root, first, plain, packed, target);
  if (plain < n)
    combine->kernels->unpack(combine->unit, &link->extra_root, first + plain - link->nvalues, n - plain,
                             packed + (size_t)plain * combine->unit_bytes, target);
}

void sfc_link_unpack(const sfc_link_t *link, sfshm_operation_t operation, const sfc_combine_t *combine, int64_t first,
                     int64_t n, const void *packed, void *target)
{
  if (operation == SFSHM_BCAST)
    unpack_to_leaves(link, combine, first, n, packed, target);
  else
    unpack_to_roots(link, combine, first, n, packed, target);
}

void sfc_link_unpack_part(const sfc_link_t *link, sfshm_operation_t operation, const sfc_combine_t *part,
                          size_t unit_bytes, int64_t value, size_t offset, const void *packed, void *target)
{
  static const sfshm_pattern_t one = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 1, .stride = 1};
  char *base = (char *)target + offset;
  if (operation == SFSHM_REDUCE) {
    int64_t root = value < link->nvalues ? sfshm_pattern_at(&link->value_root, value)
                                         : sfshm_pattern_at(&link->extra_root, value - link->nvalues);
    part->kernels->unpack(part->unit, &one, 0, 1, packed, base + (size_t)root * unit_bytes);
    return;
  }
  part->kernels->unpack(part->unit, &one, 0, 1, packed,
                        base + (size_t)sfshm_pattern_at(&link->leaf, value) * unit_bytes);
  int64_t end = sfshm_pattern_find(&link->extra_value, value + 1);
  for (int64_t e = sfshm_pattern_find(&link->extra_value, value); e < end; e++)
    part->kernels->unpack(part->unit, &one, 0, 1, packed,
                          base + (size_t)sfshm_pattern_at(&link->extra_leaf, e) * unit_bytes);
}

sfshm_paths_t sfc_link_paths(const sfc_link_t *link, sfshm_operation_t operation)
{
  bool bcast = operation == SFSHM_BCAST;
  return (sfshm_paths_t){
      .nvalues = link->nvalues,
      .from = bcast ? link->value_root : link->leaf,
      .to = bcast ? link->leaf : link->value_root,
      .extra_value = link->extra_value,
      .extra_from = bcast ? link->extra_root : link->extra_leaf,
      .extra_to = bcast ? link->extra_leaf : link->extra_root,
  };
}

void sfc_link_apply(const sfc_link_t *link, sfshm_operation_t operation, const sfc_combine_t *combine,
                    const void *source, void *target)
{
  bool bcast = operation == SFSHM_BCAST;
  int64_t nextra = link->extra_value.n;
  combine->kernels->scatter(combine->unit, bcast ? &link->value_root : &link->leaf, 0, source,
                            bcast ? &link->leaf : &link->value_root, target, 0, link->nvalues);
  if (nextra > 0)
    combine->kernels->scatter(combine->unit, bcast ? &link->extra_root : &link->extra_leaf, 0, source,
                              bcast ? &link->extra_leaf : &link->extra_root, target, 0, nextra);
}
