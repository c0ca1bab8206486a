/* Random grids, whose exchanges are compared with a serial computation on the whole grid. */
#ifndef SFTEST_GRID_SCENE_H
#define SFTEST_GRID_SCENE_H

#include "tests/system/harness.h"

/* Makes a random grid, exchanges fields and computes steps of a stencil, on all ranks of the job. seed: the same on all
 * ranks. devices: subdomains may be on devices of the stand-in driver. */
void sftest_grid_check(sftest_rank_t *self, sf_context_t *context, uint64_t seed, bool devices);

#endif
