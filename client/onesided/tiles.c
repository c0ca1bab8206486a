/* Tiles of a patch: see tiles.h. */
#include "client/onesided/tiles.h"

static int64_t min(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

bool sfc_tiles_start(sfc_tiles_t *tiles, int32_t ndims, const int64_t lo[], const int64_t extent[], int64_t max_count,
                     int64_t max_extent)
{
  bool is_empty = false;
  *tiles = (sfc_tiles_t){.ndims = ndims};
  for (int32_t d = ndims - 1; d >= 0; d--) {
    tiles->lo[d] = lo[d];
    tiles->extent[d] = extent[d];
    tiles->tile[d] = min(min(extent[d], max_count), max_extent);
    if (tiles->tile[d] > 0)
      max_count /= tiles->tile[d];
    is_empty |= extent[d] == 0;
  }
  return !is_empty;
}

void sfc_tiles_get(const sfc_tiles_t *tiles, int64_t lo[], int64_t extent[])
{
  for (int32_t d = 0; d < tiles->ndims; d++) {
    lo[d] = tiles->lo[d] + tiles->at[d];
    extent[d] = min(tiles->tile[d], tiles->extent[d] - tiles->at[d]);
  }
}

bool sfc_tiles_next(sfc_tiles_t *tiles)
{
  for (int32_t d = tiles->ndims - 1; d >= 0; d--) {
    tiles->at[d] += tiles->tile[d];
    if (tiles->at[d] < tiles->extent[d])
      return true;
    tiles->at[d] = 0;
  }
  return false;
}
