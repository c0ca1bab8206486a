/* Collective functions on whole arrays. If the arrays have the same distribution, each rank works on its own parts.
 * Otherwise the result is computed tile by tile with get and put. Each rank computes the tiles of its own block; if it
 * owns several blocks, the tiles of the array are dealt to the ranks cyclically. */
#include <stdlib.h>
#include <string.h>

#include "client/onesided/array.h"
#include "client/onesided/tiles.h"
#include "shm/base/error.h"

#define TILE_ELEMENTS 32768
#define TRANSPOSE_TILE 128

typedef struct call call_t;

/* n elements of each array. c may be a or b. */
typedef struct operands {
  void *c;
  const void *a;
  const void *b;
  int64_t n;
  const int64_t *extent; /* of the tile in c */
} operands_t;

typedef void combine_t(const call_t *call, const operands_t *tile);

struct call {
  const char *function;
  sfc_array_collective_t collective;
  combine_t *combine;
  sf_array_t *to; /* unused by dot */
  int32_t nfrom;
  sf_array_t *from[2];
  const void *argument[2];
  const char *argument_name[2]; /* NULL: the function has no such argument */
  void *sum;                    /* of this rank's elements (dot) */
};

/* ---- Tiles combined by combine_t --------------------------------------------------------------------------------- */

static void fill(const call_t *call, const operands_t *tile)
{
  size_t unit = call->to->shape.unit_bytes, bytes = (size_t)tile->n * unit;
  if (tile->n > 0)
    memcpy(tile->c, call->argument[0], unit);
  for (size_t done = unit; done < bytes; done *= 2)
    memcpy((char *)tile->c + done, tile->c, done < bytes - done ? done : bytes - done);
}

static void scale(const call_t *call, const operands_t *tile)
{
  sfshm_array_arithmetic[call->to->shape.base].scale(tile->c, tile->n, call->argument[0]);
}

static void copy(const call_t *call, const operands_t *tile)
{
  if (tile->c != tile->a)
    memcpy(tile->c, tile->a, (size_t)tile->n * call->to->shape.unit_bytes);
}

static void add(const call_t *call, const operands_t *tile)
{
  sfshm_array_arithmetic[call->to->shape.base].combine(tile->c, tile->a, tile->b, tile->n, call->argument[0],
                                                       call->argument[1]);
}

static void dot(const call_t *call, const operands_t *tile)
{
  sfshm_array_arithmetic[call->from[0]->shape.base].dot(tile->a, tile->b, tile->n, call->sum);
}

static void transpose(const call_t *call, const operands_t *tile)
{
  int64_t unit = call->to->shape.unit_bytes;
  for (int64_t i = 0; i < tile->extent[0]; i++)
    sfshm_array_put_row((uint32_t)unit)((char *)tile->c + i * tile->extent[1] * unit,
                                        (char *)(uintptr_t)tile->a + i * unit, tile->extent[1], tile->extent[0], NULL);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* Array with the shape and group that the other arrays of the call must have. */
static sf_array_t *reference_of(const call_t *call)
{
  return call->combine == dot ? call->from[0] : call->to;
}

static sf_status_t check_pair(const call_t *call, const sf_array_t *other)
{
  const sf_array_t *array = reference_of(call);
  bool transposed = call->combine == transpose;
  sf_status_t status = sfc_array_check(other, call->function);
  if (status != SF_OK)
    return status;
  bool fits = array->shape.ndims == other->shape.ndims && array->shape.base == other->shape.base &&
              (!transposed || array->shape.ndims == 2);
  for (int32_t d = 0; fits && d < array->shape.ndims; d++)
    fits = array->shape.dims[d].extent == other->shape.dims[transposed ? 1 - d : d].extent;
  if (!fits)
    return sfshm_error(SF_ERR_ARG, "%s: the arrays have different %s", call->function,
                       array->shape.base != other->shape.base ? "units" : "shapes");
  if (array->graph->group != other->graph->group)
    return sfshm_error(SF_ERR_ARG, "%s: the arrays belong to different groups", call->function);
  return transposed && array == other ? sfshm_error(SF_ERR_ARG, "%s: from and to are the same array", call->function)
                                      : SF_OK;
}

static sf_status_t check_call(const call_t *call)
{
  sf_status_t status = sfc_array_check(reference_of(call), call->function);
  for (int32_t i = 0; i < 2; i++)
    if (call->argument_name[i] != NULL)
      status = sfc_array_require(status, call->argument[i], call->argument_name[i], call->function);
  for (int32_t i = 0; i < call->nfrom && status == SF_OK; i++)
    status = check_pair(call, call->from[i]);
  return status;
}

/* ---- Own parts and tiles ----------------------------------------------------------------------------------------- */

static bool have_same_distribution(const sf_array_t *array, const sf_array_t *other)
{
  uint64_t words[SFC_ARRAY_WORDS], other_words[SFC_ARRAY_WORDS];
  sfc_array_words(&array->shape, words);
  sfc_array_words(&other->shape, other_words);
  return memcmp(words, other_words, sizeof words) == 0;
}

static void combine_own_parts(const call_t *call)
{
  const sf_array_t *array = reference_of(call);
  int64_t extent[SFSHM_ARRAY_DIMS];
  operands_t own = {.n = sfshm_array_part(&array->shape, array->rank, extent), .extent = extent};
  own.c = array->parts[array->rank].data;
  own.a = call->nfrom > 0 ? call->from[0]->parts[array->rank].data : NULL;
  own.b = call->nfrom > 1 ? call->from[1]->parts[array->rank].data : NULL;
  call->combine(call, &own);
}

/* Whether each rank owns an interval of indices along each dimension. */
static bool has_one_block(const sfshm_array_t *shape)
{
  bool one = true;
  for (int32_t d = 0; d < shape->ndims; d++)
    one &= shape->dims[d].bounds != NULL ||
           shape->dims[d].block >= sfshm_array_even_block(shape->dims[d].extent, shape->dims[d].procs);
  return one;
}

static sf_status_t combine_tile(const call_t *call, char *buffer, const int64_t lo[], const int64_t extent[])
{
  const sf_array_t *array = reference_of(call);
  bool transposed = call->combine == transpose;
  char *second = buffer + (size_t)TILE_ELEMENTS * array->shape.unit_bytes;
  int64_t turned_lo[] = {lo[1], lo[0]}, turned_extent[] = {extent[1], extent[0]};
  operands_t tile = {transposed ? second : buffer, buffer, second, sfshm_array_count(array->shape.ndims, extent),
                     extent};
  sf_status_t status =
      sf_array_get(call->from[0], transposed ? turned_lo : lo, transposed ? turned_extent : extent, buffer, NULL);
  if (status == SF_OK && call->nfrom > 1)
    status = sf_array_get(call->from[1], lo, extent, second, NULL);
  if (status != SF_OK)
    return status;
  call->combine(call, &tile);
  return call->combine == dot ? SF_OK : sf_array_put(call->to, lo, extent, tile.c, NULL);
}

static sf_status_t combine_tiles(const call_t *call)
{
  const sf_array_t *array = reference_of(call);
  int64_t lo[SFSHM_ARRAY_DIMS] = {0}, extent[SFSHM_ARRAY_DIMS] = {0}, number = 0;
  sfc_tiles_t tiles;
  sf_array_part_t part = {.first = {0}};
  bool one_block = has_one_block(&array->shape);
  char *buffer = malloc(2 * (size_t)TILE_ELEMENTS * array->shape.unit_bytes);
  if (buffer == NULL)
    return sfshm_error(SF_ERR_NOMEM, "tiles of an array");
  if (one_block)
    sfc_array_describe_part(array, array->rank, &part);
  for (int32_t d = 0; !one_block && d < array->shape.ndims; d++)
    part.extent[d] = array->shape.dims[d].extent;
  bool is_left = sfc_tiles_start(&tiles, array->shape.ndims, part.first, part.extent, TILE_ELEMENTS,
                                 call->combine == transpose ? TRANSPOSE_TILE : TILE_ELEMENTS);
  sf_status_t status = SF_OK;
  for (; is_left && status == SF_OK; is_left = sfc_tiles_next(&tiles), number++) {
    if (!one_block && number % array->shape.nranks != array->rank)
      continue;
    sfc_tiles_get(&tiles, lo, extent);
    status = combine_tile(call, buffer, lo, extent);
  }
  free(buffer);
  return status;
}

/* ---- The functions ----------------------------------------------------------------------------------------------- */

/* Completes this rank's operations and waits for the other ranks, so that no rank accesses the arrays otherwise. */
static sf_status_t flush_and_wait(const call_t *call)
{
  sf_array_t *array = reference_of(call);
  sf_status_t status = sf_array_flush(array, SF_ARRAY_ALL_RANKS);
  sf_status_t barrier_status = sfc_array_barrier(array, call->collective);
  return barrier_status != SF_OK ? barrier_status : status;
}

static sf_status_t run(const call_t *call)
{
  bool is_local = call->combine != transpose;
  sf_status_t status = check_call(call);
  if (status == SF_OK)
    status = flush_and_wait(call);
  if (status != SF_OK)
    return status;
  for (int32_t i = 0; i < call->nfrom; i++)
    is_local = is_local && have_same_distribution(reference_of(call), call->from[i]);
  if (is_local)
    combine_own_parts(call);
  else
    status = combine_tiles(call);
  sf_status_t barrier_status = flush_and_wait(call);
  return barrier_status != SF_OK ? barrier_status : status;
}

sf_status_t sf_array_fill(sf_array_t *array, const void *value)
{
  return run(&(call_t){__func__, SFC_ARRAY_FILL, fill, .to = array, .argument = {value}, .argument_name = {"value"}});
}

sf_status_t sf_array_scale(sf_array_t *array, const void *alpha)
{
  return run(&(call_t){__func__, SFC_ARRAY_SCALE, scale, .to = array, .argument = {alpha}, .argument_name = {"alpha"}});
}

sf_status_t sf_array_copy(sf_array_t *from, sf_array_t *to)
{
  return run(&(call_t){__func__, SFC_ARRAY_COPY, copy, to, .nfrom = 1, .from = {from}});
}

sf_status_t sf_array_add(const void *alpha, sf_array_t *a, const void *beta, sf_array_t *b, sf_array_t *c)
{
  return run(&(call_t){__func__, SFC_ARRAY_ADD, add, c, 2, {a, b}, {alpha, beta}, .argument_name = {"alpha", "beta"}});
}

sf_status_t sf_array_transpose(sf_array_t *from, sf_array_t *to)
{
  return run(&(call_t){__func__, SFC_ARRAY_TRANSPOSE, transpose, to, .nfrom = 1, .from = {from}});
}

sf_status_t sf_array_dot(sf_array_t *a, sf_array_t *b, void *result)
{
  uint64_t sum[2] = {0}, all[2] = {0};
  sf_status_t status = run(&(call_t){__func__, SFC_ARRAY_DOT, dot, NULL, 2, {a, b}, {result}, {"result"}, .sum = sum});
  if (status == SF_OK)
    status = sf_reduce(a->graph, a->unit, sum, all, SF_SUM);
  return status == SF_OK ? sf_bcast(a->graph, a->unit, all, result, SF_REPLACE) : status;
}
