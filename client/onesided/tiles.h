/* Tiles of a patch: boxes of a limited number of elements, in row-major order. */
#ifndef SFC_ONESIDED_TILES_H
#define SFC_ONESIDED_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/array/distribution.h"

typedef struct sfc_tiles {
  int32_t ndims;
  int64_t lo[SFSHM_ARRAY_DIMS]; /* of the patch */
  int64_t extent[SFSHM_ARRAY_DIMS];
  int64_t tile[SFSHM_ARRAY_DIMS]; /* extents of a tile; tiles at the upper end may be smaller */
  int64_t at[SFSHM_ARRAY_DIMS];   /* first index of the current tile, relative to the patch */
} sfc_tiles_t;

/* Sets the current tile to the first one. max_count: elements of a tile; max_extent: indices along each dimension.
 * false: the patch is empty. */
bool sfc_tiles_start(sfc_tiles_t *tiles, int32_t ndims, const int64_t lo[], const int64_t extent[], int64_t max_count,
                     int64_t max_extent);

/* First index and extent of the current tile. */
void sfc_tiles_get(const sfc_tiles_t *tiles, int64_t lo[], int64_t extent[]);

/* Steps to the next tile; false: there is none. */
bool sfc_tiles_next(sfc_tiles_t *tiles);

#endif
