/* Structured grids: their options; and the roots that ranks need of each other if points are dealt out as the rows of
 * the grid's matrix, in blocks, x fastest. */
#ifndef SFCTL_PLAN_GRID_H
#define SFCTL_PLAN_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/plan/wants.h"

typedef struct sfctl_grid {
  int64_t points[3]; /* along x, y, z */
  bool corners;      /* stencil with edges and corners (9, 27 points), not only faces (3, 5, 7) */
  int32_t nranks;
} sfctl_grid_t;

/* text: "1024x1024x512", or fewer dimensions; stencil: its points, 0: across faces. SF_ERR_ARG: malformed, or the
 * stencil does not fit the dimensions. */
sf_status_t sfctl_grid_init(const char *text, int64_t stencil, int32_t nranks, sfctl_grid_t *grid_p);

/* Adds the roots that the rank needs. SF_ERR_NOMEM. */
sf_status_t sfctl_grid_wants(const sfctl_grid_t *grid, int32_t rank, sfctl_wants_t *wants);

#endif
