/* Direct paths from one buffer to another: the values of a message, then the extra edges (see shm/edges/edges.h) in the
 * order of the values that they share. Values first .. first+n-1 with their extra edges are independent of all other
 * values. */
#ifndef SFSHM_KERNELS_PATHS_H
#define SFSHM_KERNELS_PATHS_H

#include "shm/kernels/kernels.h"

typedef struct sfshm_paths {
  int64_t nvalues;
  sfshm_pattern_t from; /* of each value */
  sfshm_pattern_t to;
  sfshm_pattern_t extra_value; /* of each extra edge; ascending */
  sfshm_pattern_t extra_from;
  sfshm_pattern_t extra_to;
} sfshm_paths_t;

/* Applies to = to op from for values first .. first+n-1. */
void sfshm_paths_apply(const sfshm_paths_t *paths, sfshm_unit_t unit, const sfshm_kernels_t *kernels,
                       const void *source, void *target, int64_t first, int64_t n);

#endif
