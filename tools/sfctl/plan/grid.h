/* What the ranks want of each other that hold the points of a structured grid. */
#ifndef SFCTL_PLAN_GRID_H
#define SFCTL_PLAN_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/plan/wants.h"

typedef struct sfctl_grid {
  int64_t points[3]; /* along x, y, z */
  bool corners;      /* the stencil reaches across edges and corners (9, 27 points), not only faces (3, 5, 7) */
  bool rows;         /* points in blocks of rows of the matrix, x running fastest; else boxes */
  int32_t nranks;
  int32_t boxes[3]; /* unless rows: ranks along x, y, z */
} sfctl_grid_t;

/* "1024x1024x512", or fewer dimensions, and the points of the stencil; 0: that which reaches across faces. Boxes are
 * chosen so that their surfaces are small. SF_ERR_ARG: malformed, or the stencil does not fit the dimensions. */
sf_status_t sfctl_grid_init(const char *text, int64_t stencil, bool rows, int32_t nranks, sfctl_grid_t *grid_p);

/* Adds what the rank wants. SF_ERR_NOMEM. */
sf_status_t sfctl_grid_wants(const sfctl_grid_t *grid, int32_t rank, sfctl_wants_t *wants);

#endif
