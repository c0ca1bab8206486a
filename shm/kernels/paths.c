/* Parts of direct copies: see paths.h. Any thread. */
#include "shm/kernels/paths.h"

void sfshm_paths_apply(const sfshm_paths_t *paths, sfshm_unit_t unit, const sfshm_kernels_t *kernels,
                       const void *source, void *target, int64_t first, int64_t n)
{
  kernels->scatter(unit, &paths->from, 0, source, &paths->to, target, first, n);
  if (paths->extra_value.n == 0)
    return;
  int64_t extra = sfshm_pattern_find(&paths->extra_value, first);
  int64_t end = sfshm_pattern_find(&paths->extra_value, first + n);
  if (extra < end)
    kernels->scatter(unit, &paths->extra_from, 0, source, &paths->extra_to, target, extra, end - extra);
}
