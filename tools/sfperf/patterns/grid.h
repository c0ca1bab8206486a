/* Ghost points of a structured grid. */
#ifndef SFPERF_PATTERNS_GRID_H
#define SFPERF_PATTERNS_GRID_H

#include <stdint.h>

#include "tools/sfperf/patterns/pattern.h"

typedef enum sfperf_partition {
  SFPERF_SLABS, /* equal slabs along z */
  SFPERF_RCB,   /* boxes by recursive coordinate bisection */
} sfperf_partition_t;

typedef struct sfperf_grid {
  int64_t points[3]; /* along x, y, z */
  int stencil;       /* 7: neighbours across faces; 27: across edges and corners too */
  sfperf_partition_t partition;
} sfperf_grid_t;

/* Roots: the points of this rank's box, x running fastest. Leaves: the points of other boxes that its stencil reaches,
 * ordered by rank and by root, as the off-diagonal columns of the matrix would be. */
void sfperf_pattern_grid(int rank, int size, const sfperf_grid_t *grid, sfperf_pattern_t *pattern_p);

#endif
