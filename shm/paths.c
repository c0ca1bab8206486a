/* Parts of direct copies: see paths.h. Any thread. */
#include "shm/paths.h"

/* First extra edge of that value or a later one. */
static int64_t first_extra(const sfshm_paths_t *paths, int64_t value)
{
  int64_t low = 0, high = paths->extra_value.n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sfshm_pattern_at(&paths->extra_value, middle) < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void sfshm_paths_apply(const sfshm_paths_t *paths, sfshm_unit_t unit, const sfshm_kernels_t *kernels,
                       const void *source, void *target, int64_t first, int64_t n)
{
  kernels->scatter(unit, &paths->from, 0, source, &paths->to, target, first, n);
  if (paths->extra_value.n == 0)
    return;
  int64_t extra = first_extra(paths, first), end = first_extra(paths, first + n);
  if (extra < end)
    kernels->scatter(unit, &paths->extra_from, 0, source, &paths->extra_to, target, extra, end - extra);
}
