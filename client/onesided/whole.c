/* Collective functions on whole arrays. If the arrays have the same distribution each rank works on its own parts. Else
 * the result is computed tile by tile, by get and put: each rank has the tiles of its own block, or, if it has several
 * blocks, every size-th tile. */
#include <stdlib.h>
#include <string.h>

#include "client/onesided/array.h"
#include "client/onesided/remote.h"
#include "shm/array/transfer.h"
#include "shm/base/error.h"

#define TILE_ELEMENTS 32768
#define TRANSPOSE_TILE 128

/* ---- Frame of each function -------------------------------------------------------------------------------------- */

/* One call: the arrays that are read, and the result, which may be one of these. */
typedef struct call {
  sf_array_t *to;
  sf_array_t *from[2];
  const void *factor[2];
  void *result; /* of dot: what this rank has added up */
} call_t;

/* Completes this rank's operations, and waits for the others, so that nobody accesses the arrays otherwise. */
static sf_status_t meet(sf_array_t *array, sfc_array_meeting_t what)
{
  sf_status_t status = sf_array_flush(array, SF_ARRAY_ALL_RANKS), met = sfc_array_meet(array, what);
  return met != SF_OK ? met : status;
}

static sf_status_t check_pair(const sf_array_t *array, const sf_array_t *other, bool transposed, const char *function)
{
  sf_status_t status = sfc_array_check(other, function);
  if (status != SF_OK)
    return status;
  bool fits = array->shape.ndims == other->shape.ndims && array->shape.base == other->shape.base &&
              (!transposed || array->shape.ndims == 2);
  for (int32_t d = 0; fits && d < array->shape.ndims; d++)
    fits = array->shape.dims[d].extent == other->shape.dims[transposed ? 1 - d : d].extent;
  if (!fits)
    return sfshm_error(SF_ERR_ARG, "%s: the arrays have different %s", function,
                       array->shape.base != other->shape.base ? "units" : "shapes");
  return array->graph->group == other->graph->group
             ? SF_OK
             : sfshm_error(SF_ERR_ARG, "%s: the arrays belong to different groups", function);
}

static bool has_distribution_of(const sf_array_t *array, const sf_array_t *other)
{
  uint64_t words[SFC_ARRAY_WORDS], others[SFC_ARRAY_WORDS];
  sfc_array_words(&array->shape, words);
  sfc_array_words(&other->shape, others);
  return memcmp(words, others, sizeof words) == 0;
}

static int64_t own_count(const sf_array_t *array)
{
  int64_t extents[SFSHM_ARRAY_DIMS];
  return sfshm_array_part(&array->shape, array->rank, extents);
}

static char *own_data(const sf_array_t *array)
{
  return array->parts[array->rank].data;
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

typedef struct tiles {
  int32_t ndims;
  int64_t lo[SFSHM_ARRAY_DIMS]; /* of all tiles of this rank, with those of other ranks between them */
  int64_t extent[SFSHM_ARRAY_DIMS];
  int64_t tile[SFSHM_ARRAY_DIMS];
  int64_t at[SFSHM_ARRAY_DIMS];
  int64_t number;
  int64_t every; /* this rank has the tiles whose number is rank modulo every */
  int64_t rank;
  bool over;
} tiles_t;

/* Whether the rank has one block: then its indices are an interval along each dimension. */
static bool has_one_block(const sfshm_array_t *shape)
{
  bool one = true;
  for (int32_t d = 0; d < shape->ndims; d++)
    one &= shape->dims[d].bounds != NULL ||
           shape->dims[d].block >= sfshm_array_even_block(shape->dims[d].extent, shape->dims[d].procs);
  return one;
}

static void start_tiles(const sf_array_t *array, int64_t tile_most, int64_t most, tiles_t *tiles)
{
  const sfshm_array_t *shape = &array->shape;
  *tiles = (tiles_t){.ndims = shape->ndims, .every = shape->nranks, .rank = array->rank};
  int32_t rank = array->rank;
  for (int32_t d = shape->ndims - 1; d >= 0; d--) {
    const sfshm_array_dim_t *dim = &shape->dims[d];
    int32_t coordinate = rank % dim->procs;
    rank /= dim->procs;
    tiles->extent[d] = dim->extent;
    if (has_one_block(shape)) {
      tiles->lo[d] = dim->bounds != NULL ? dim->bounds[coordinate] : coordinate * dim->block;
      tiles->extent[d] = sfshm_array_local_extent(dim, coordinate);
      tiles->every = 1;
      tiles->rank = 0;
    }
    int64_t tile = tiles->extent[d] < most ? tiles->extent[d] : most;
    tiles->tile[d] = tile < tile_most ? tile : tile_most;
    most = tiles->tile[d] > 0 ? most / tiles->tile[d] : 1;
    if (most < 1)
      most = 1;
    tiles->over |= tiles->extent[d] == 0;
  }
}

static bool next_tile(tiles_t *tiles, int64_t lo[], int64_t extent[])
{
  while (!tiles->over) {
    bool mine = tiles->number++ % tiles->every == tiles->rank;
    for (int32_t d = 0; d < tiles->ndims; d++) {
      int64_t left = tiles->extent[d] - tiles->at[d];
      lo[d] = tiles->lo[d] + tiles->at[d];
      extent[d] = tiles->tile[d] < left ? tiles->tile[d] : left;
    }
    int32_t d = tiles->ndims - 1;
    while (d >= 0 && (tiles->at[d] += tiles->tile[d]) >= tiles->extent[d])
      tiles->at[d--] = 0;
    tiles->over = d < 0;
    if (mine)
      return true;
  }
  return false;
}

/* Gets the tiles of the arrays that are read, has them combined into the first, and puts that. */
static sf_status_t by_tiles(const call_t *call,
                            void (*combine)(const call_t *call, void *c, const void *a, const void *b, int64_t n))
{
  tiles_t tiles;
  const sf_array_t *like = call->to != NULL ? call->to : call->from[0];
  int64_t lo[SFSHM_ARRAY_DIMS], extent[SFSHM_ARRAY_DIMS];
  size_t bytes = (size_t)TILE_ELEMENTS * like->shape.unit_bytes;
  char *buffer = malloc(2 * bytes);
  sf_status_t status = buffer != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "tiles of an array");
  start_tiles(like, TILE_ELEMENTS, TILE_ELEMENTS, &tiles);
  while (status == SF_OK && next_tile(&tiles, lo, extent)) {
    status = sf_array_get(call->from[0], lo, extent, buffer, NULL);
    if (status == SF_OK && call->from[1] != NULL)
      status = sf_array_get(call->from[1], lo, extent, buffer + bytes, NULL);
    if (status == SF_OK)
      combine(call, buffer, buffer, buffer + bytes, sfshm_array_count(like->shape.ndims, extent));
    if (status == SF_OK && call->to != NULL)
      status = sf_array_put(call->to, lo, extent, buffer, NULL);
  }
  free(buffer);
  return status;
}

/* Combines own parts, or tiles. */
static sf_status_t run(const call_t *call,
                       void (*combine)(const call_t *call, void *c, const void *a, const void *b, int64_t n))
{
  bool same = (call->to == NULL || has_distribution_of(call->from[0], call->to)) &&
              (call->from[1] == NULL || has_distribution_of(call->from[0], call->from[1]));
  if (!same)
    return by_tiles(call, combine);
  combine(call, call->to != NULL ? own_data(call->to) : NULL, own_data(call->from[0]),
          call->from[1] != NULL ? own_data(call->from[1]) : NULL, own_count(call->from[0]));
  return SF_OK;
}

/* Between two meetings. */
static sf_status_t run_met(const call_t *call, sfc_array_meeting_t what,
                           void (*combine)(const call_t *call, void *c, const void *a, const void *b, int64_t n))
{
  sf_array_t *array = call->to != NULL ? call->to : call->from[0];
  sf_status_t status = meet(array, what);
  if (status != SF_OK)
    return status;
  status = run(call, combine);
  sf_status_t met = meet(array, what);
  return met != SF_OK ? met : status;
}

/* ---- The functions ----------------------------------------------------------------------------------------------- */

static void fill(const call_t *call, void *c, const void *a, const void *b, int64_t n)
{
  size_t unit = call->to->shape.unit_bytes, bytes = (size_t)n * unit;
  (void)a;
  (void)b;
  if (n > 0)
    memcpy(c, call->factor[0], unit);
  for (size_t done = unit; done < bytes; done *= 2)
    memcpy((char *)c + done, c, done < bytes - done ? done : bytes - done);
}

sf_status_t sf_array_fill(sf_array_t *array, const void *value)
{
  sf_status_t status = sfc_array_check(array, __func__);
  if (status == SF_OK && value == NULL)
    status = sfshm_error(SF_ERR_ARG, "sf_array_fill: value is NULL");
  call_t call = {.to = array, .from = {array}, .factor = {value}};
  return status == SF_OK ? run_met(&call, SFC_ARRAY_FILL, fill) : status;
}

static void scale(const call_t *call, void *c, const void *a, const void *b, int64_t n)
{
  (void)a;
  (void)b;
  sfshm_array_scale(call->to->shape.base, c, n, call->factor[0]);
}

sf_status_t sf_array_scale(sf_array_t *array, const void *alpha)
{
  sf_status_t status = sfc_array_check(array, __func__);
  if (status == SF_OK && alpha == NULL)
    status = sfshm_error(SF_ERR_ARG, "sf_array_scale: alpha is NULL");
  call_t call = {.to = array, .from = {array}, .factor = {alpha}};
  return status == SF_OK ? run_met(&call, SFC_ARRAY_SCALE, scale) : status;
}

static void copy(const call_t *call, void *c, const void *a, const void *b, int64_t n)
{
  (void)b;
  if (c != a)
    memcpy(c, a, (size_t)n * call->to->shape.unit_bytes);
}

sf_status_t sf_array_copy(sf_array_t *from, sf_array_t *to)
{
  sf_status_t status = sfc_array_check(to, __func__);
  if (status == SF_OK)
    status = check_pair(to, from, false, __func__);
  call_t call = {.to = to, .from = {from}};
  return status == SF_OK ? run_met(&call, SFC_ARRAY_COPY, copy) : status;
}

static void add(const call_t *call, void *c, const void *a, const void *b, int64_t n)
{
  sfshm_array_combine(call->to->shape.base, c, a, b, n, call->factor[0], call->factor[1]);
}

sf_status_t sf_array_add(const void *alpha, sf_array_t *a, const void *beta, sf_array_t *b, sf_array_t *c)
{
  sf_status_t status = sfc_array_check(c, __func__);
  if (status == SF_OK && (alpha == NULL || beta == NULL))
    status = sfshm_error(SF_ERR_ARG, "sf_array_add: %s is NULL", alpha == NULL ? "alpha" : "beta");
  if (status == SF_OK)
    status = check_pair(c, a, false, __func__);
  if (status == SF_OK)
    status = check_pair(c, b, false, __func__);
  call_t call = {.to = c, .from = {a, b}, .factor = {alpha, beta}};
  return status == SF_OK ? run_met(&call, SFC_ARRAY_ADD, add) : status;
}

static void dot(const call_t *call, void *c, const void *a, const void *b, int64_t n)
{
  (void)c;
  sfshm_array_dot(call->from[0]->shape.base, a, b, n, call->result);
}

sf_status_t sf_array_dot(sf_array_t *a, sf_array_t *b, void *result)
{
  uint64_t sum[2] = {0}, all[2] = {0};
  sf_status_t status = sfc_array_check(a, __func__);
  if (status == SF_OK && result == NULL)
    status = sfshm_error(SF_ERR_ARG, "sf_array_dot: result is NULL");
  if (status == SF_OK)
    status = check_pair(a, b, false, __func__);
  call_t call = {.from = {a, b}, .result = sum};
  if (status == SF_OK)
    status = run_met(&call, SFC_ARRAY_DOT, dot);
  if (status == SF_OK)
    status = sf_reduce(a->graph, a->unit, sum, all, SF_SUM);
  return status == SF_OK ? sf_bcast(a->graph, a->unit, all, result, SF_REPLACE) : status;
}

/* Gets tiles of the one array, and puts them into the other one with rows for columns. */
static sf_status_t transpose_tiles(sf_array_t *from, sf_array_t *to)
{
  tiles_t tiles;
  int64_t lo[SFSHM_ARRAY_DIMS], extent[SFSHM_ARRAY_DIMS];
  size_t unit = to->shape.unit_bytes, bytes = (size_t)TRANSPOSE_TILE * TRANSPOSE_TILE * unit;
  char *tile = malloc(2 * bytes), *turned = tile + bytes;
  sf_status_t status = tile != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "tiles of an array");
  start_tiles(to, TRANSPOSE_TILE, INT64_MAX, &tiles);
  while (status == SF_OK && next_tile(&tiles, lo, extent)) {
    int64_t from_lo[] = {lo[1], lo[0]}, from_extent[] = {extent[1], extent[0]};
    status = sf_array_get(from, from_lo, from_extent, tile, NULL);
    for (int64_t i = 0; i < extent[0] && status == SF_OK; i++)
      sfshm_array_put_row((uint32_t)unit)(turned + (size_t)(i * extent[1]) * unit, tile + (size_t)i * unit, extent[1],
                                          extent[0], NULL);
    if (status == SF_OK)
      status = sf_array_put(to, lo, extent, turned, NULL);
  }
  free(tile);
  return status;
}

sf_status_t sf_array_transpose(sf_array_t *from, sf_array_t *to)
{
  sf_status_t status = sfc_array_check(to, __func__);
  if (status == SF_OK)
    status = check_pair(to, from, true, __func__);
  if (status == SF_OK && from == to)
    status = sfshm_error(SF_ERR_ARG, "sf_array_transpose: from and to are the same array");
  if (status == SF_OK)
    status = meet(to, SFC_ARRAY_TRANSPOSE);
  if (status != SF_OK)
    return status;
  status = transpose_tiles(from, to);
  sf_status_t met = meet(to, SFC_ARRAY_TRANSPOSE);
  return met != SF_OK ? met : status;
}
