/* A serial model of distributed arrays: see array.h. */
#include "tests/system/model/array.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

/* A divisor of n. */
static int32_t choose_divisor(int32_t n, uint64_t *random)
{
  int32_t divisor = 1 + (int32_t)sftest_below(random, n);
  while (n % divisor != 0)
    divisor--;
  return divisor;
}

/* A complete grid, or one of which some dimensions are left to the library. */
static void choose_grid(sftest_array_t *array, uint64_t *random)
{
  int32_t left = array->size;
  for (int32_t d = 0; d < array->ndims; d++) {
    array->distribution.grid[d] = d == array->ndims - 1 ? left : choose_divisor(left, random);
    left /= array->distribution.grid[d];
  }
  if (sftest_below(random, 4) == 0)
    array->distribution.grid[sftest_below(random, array->ndims)] = 0;
}

static void choose_bounds(sftest_array_t *array, int32_t d, uint64_t *random)
{
  int64_t *bounds = array->bounds[d];
  int32_t procs = array->distribution.grid[d];
  for (int32_t c = 1; c < procs; c++)
    bounds[c] = sftest_below(random, array->extent[d] + 1);
  bounds[0] = 0;
  bounds[procs] = array->extent[d];
  for (int32_t c = 1; c < procs; c++) /* sorted: some coordinates may have nothing */
    for (int32_t e = c + 1; e < procs; e++)
      if (bounds[e] < bounds[c]) {
        int64_t swapped = bounds[c];
        bounds[c] = bounds[e];
        bounds[e] = swapped;
      }
  array->distribution.bounds[d] = bounds;
}

static void choose_dimension(sftest_array_t *array, int32_t d, uint64_t *random)
{
  switch (sftest_below(random, 4)) {
  case 0:
    break; /* regular */
  case 1:
    array->distribution.block[d] = 1;
    break;
  case 2:
    array->distribution.block[d] = 1 + sftest_below(random, array->extent[d] + 2);
    break;
  default:
    if (array->distribution.grid[d] > 0)
      choose_bounds(array, d, random);
  }
}

static void choose_distribution(sftest_array_t *array, uint64_t *random)
{
  array->has_distribution = sftest_below(random, 8) != 0;
  if (!array->has_distribution)
    return;
  choose_grid(array, random);
  for (int32_t d = 0; d < array->ndims; d++)
    choose_dimension(array, d, random);
}

void sftest_array_choose(sftest_array_t *array, int32_t size, int64_t most, uint64_t *random)
{
  memset(array, 0, sizeof *array);
  array->size = size;
  array->base = (sftest_base_t)sftest_below(random, SFTEST_OPAQUE);
  array->type = sftest_unit_make((sftest_unit_t){array->base, 1});
  array->unit_bytes = sftest_base_size(array->base);
  array->ndims = 1 + (int32_t)sftest_below(random, SF_ARRAY_MAX_DIMS);
  array->count = 1;
  for (int32_t d = 0; d < array->ndims; d++) {
    int64_t limit = most / array->count < SFTEST_ARRAY_EXTENT ? most / array->count : SFTEST_ARRAY_EXTENT;
    if (d < array->ndims - 1 && limit > 40)
      limit = 40;
    array->extent[d] = 1 + sftest_below(random, limit);
    array->count *= array->extent[d];
  }
  choose_distribution(array, random);
  array->numbers = calloc((size_t)array->count, sizeof *array->numbers);
}

void sftest_array_choose_like(sftest_array_t *array, const sftest_array_t *other, bool transposed, uint64_t *random)
{
  memset(array, 0, sizeof *array);
  array->size = other->size;
  array->base = other->base;
  array->type = other->type;
  array->unit_bytes = other->unit_bytes;
  array->ndims = other->ndims;
  array->count = other->count;
  for (int32_t d = 0; d < array->ndims; d++)
    array->extent[d] = other->extent[transposed ? 1 - d : d];
  choose_distribution(array, random);
  array->numbers = calloc((size_t)array->count, sizeof *array->numbers);
}

void sftest_array_free(sftest_array_t *array)
{
  free(array->numbers);
}

/* Deals the indices of a dimension, block by block. */
static void deal(sftest_array_t *array, int32_t d, int32_t procs)
{
  sftest_dealt_t *dim = &array->dims[d];
  int64_t has[SFTEST_ARRAY_EXTENT] = {0}, block = array->distribution.block[d], left = 0;
  int32_t owner = -1;
  dim->extent = array->extent[d];
  dim->procs = procs;
  if (block == 0) /* the least that is enough */
    for (block = 1; block * procs < dim->extent;)
      block++;
  for (int64_t i = 0; i < dim->extent; i++) {
    if (array->distribution.bounds[d] != NULL) {
      owner = owner < 0 ? 0 : owner;
      while (array->distribution.bounds[d][owner + 1] <= i)
        owner++;
    } else if (left-- == 0) {
      owner = (owner + 1) % procs;
      left = block - 1;
    }
    dim->owner[i] = owner;
    dim->local[i] = has[owner]++;
  }
}

/* The grid is what was given; what was not given is found by asking who owns the last index. */
static sf_status_t find_grid(sftest_array_t *array, int32_t grid[])
{
  int32_t left = array->size, nfree = 0, last = 0;
  for (int32_t d = 0; d < array->ndims; d++) {
    grid[d] = array->distribution.grid[d];
    nfree += grid[d] == 0;
    last = grid[d] == 0 ? d : last;
    left /= grid[d] > 0 ? grid[d] : 1;
  }
  if (nfree == 1)
    grid[last] = left;
  if (nfree <= 1)
    return SF_OK;
  for (int32_t d = 0; d < array->ndims; d++) { /* regular blocks: each is as long as the first rank's */
    sf_array_part_t part;
    sf_status_t status = sf_array_distribution(array->real, 0, &part);
    if (status != SF_OK)
      return status;
    grid[d] = (int32_t)(part.stride[d] / part.block[d]);
  }
  return SF_OK;
}

sf_status_t sftest_array_create(sftest_array_t *array, sf_group_t *group)
{
  int32_t grid[SF_ARRAY_MAX_DIMS], product = 1;
  sf_status_t status = sf_array_create(group, array->type, array->ndims, array->extent,
                                       array->has_distribution ? &array->distribution : NULL, &array->real);
  if (status == SF_OK)
    status = find_grid(array, grid);
  for (int32_t d = 0; d < array->ndims && status == SF_OK; d++) {
    deal(array, d, grid[d]);
    product *= grid[d];
  }
  return status != SF_OK || product == array->size ? status : SF_ERR_RANGE;
}

/* ---- Patches ----------------------------------------------------------------------------------------------------- */

void sftest_patch_choose(const sftest_array_t *array, int32_t share, int32_t nshares, sftest_patch_t *patch,
                         uint64_t *random)
{
  patch->is_dense = sftest_below(random, 2) == 0;
  patch->room = 1;
  for (int32_t d = 0; d < array->ndims; d++) {
    int64_t first = 0, end = array->extent[d];
    if (d == 0 && nshares > 1) {
      first = array->extent[0] * share / nshares;
      end = array->extent[0] * (share + 1) / nshares;
    }
    int64_t most = end - first;
    patch->lo[d] = first + sftest_below(random, most + 1);
    patch->extent[d] = sftest_below(random, 3) == 0 ? end - patch->lo[d] : sftest_below(random, end - patch->lo[d] + 1);
    if (patch->extent[d] == 0 && sftest_below(random, 8) != 0 && most > 0) { /* seldom empty */
      patch->lo[d] = first;
      patch->extent[d] = most;
    }
    int64_t length = patch->extent[d] + (d > 0 && !patch->is_dense ? sftest_below(random, 4) : 0);
    if (d > 0)
      patch->ld[d - 1] = length;
    patch->room *= length;
  }
}

int64_t sftest_array_number(const sftest_array_t *array, const int64_t index[])
{
  int64_t number = 0;
  for (int32_t d = 0; d < array->ndims; d++)
    number = number * array->extent[d] + index[d];
  return number;
}

/* at[0] < 0: before the first. */
bool sftest_patch_next(const sftest_array_t *array, const sftest_patch_t *patch, int64_t at[])
{
  if (at[0] < 0) {
    bool empty = false;
    for (int32_t d = 0; d < array->ndims; d++) {
      at[d] = 0;
      empty |= patch->extent[d] == 0;
    }
    return !empty;
  }
  for (int32_t d = array->ndims - 1; d >= 0; d--) {
    if (++at[d] < patch->extent[d])
      return true;
    at[d] = 0;
  }
  return false;
}

int64_t sftest_patch_number(const sftest_array_t *array, const sftest_patch_t *patch, const int64_t at[])
{
  int64_t index[SF_ARRAY_MAX_DIMS];
  for (int32_t d = 0; d < array->ndims; d++)
    index[d] = patch->lo[d] + at[d];
  return sftest_array_number(array, index);
}

int64_t sftest_patch_place(const sftest_array_t *array, const sftest_patch_t *patch, const int64_t at[])
{
  int64_t place = at[0];
  for (int32_t d = 1; d < array->ndims; d++)
    place = place * patch->ld[d - 1] + at[d];
  return place;
}

int32_t sftest_array_owner(const sftest_array_t *array, const int64_t index[], int64_t *element_p)
{
  int32_t owner = 0;
  int64_t element = 0;
  for (int32_t d = 0; d < array->ndims; d++) {
    const sftest_dealt_t *dim = &array->dims[d];
    int64_t owned = 0;
    for (int64_t i = 0; i < dim->extent; i++)
      owned += dim->owner[i] == dim->owner[index[d]];
    owner = owner * dim->procs + dim->owner[index[d]];
    element = element * owned + dim->local[index[d]];
  }
  *element_p = element;
  return owner;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static bool is_complex(sftest_base_t base)
{
  return base == SFTEST_FLOAT_COMPLEX || base == SFTEST_DOUBLE_COMPLEX;
}

sftest_number_t sftest_number_make(const sftest_array_t *array, uint64_t seed)
{
  uint64_t random = sftest_hash(seed);
  sftest_number_t number = {.real = sftest_below(&random, 41) - 20};
  if (is_complex(array->base))
    number.imaginary = sftest_below(&random, 41) - 20;
  return number;
}

#define STORE(type, expression)                                                                                        \
  do {                                                                                                                 \
    type stored = (type)(expression);                                                                                  \
    memcpy(value, &stored, sizeof stored);                                                                             \
  } while (0)

void sftest_number_store(const sftest_array_t *array, sftest_number_t number, void *value)
{
  switch (array->base) {
  case SFTEST_FLOAT:
    STORE(float, number.real);
    break;
  case SFTEST_DOUBLE:
    STORE(double, number.real);
    break;
  case SFTEST_FLOAT_COMPLEX:
    STORE(float _Complex, (float)number.real + (float)number.imaginary * I);
    break;
  case SFTEST_DOUBLE_COMPLEX:
    STORE(double _Complex, (double)number.real + (double)number.imaginary * I);
    break;
  default: /* the low bytes, of integers that wrap around */
    memcpy(value, &number.real, array->unit_bytes);
  }
}

sftest_number_t sftest_number_times(sftest_number_t a, sftest_number_t b)
{
  return (sftest_number_t){a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

sftest_number_t sftest_number_plus(sftest_number_t a, sftest_number_t b)
{
  return (sftest_number_t){a.real + b.real, a.imaginary + b.imaginary};
}

/* Zeros of either sign are equal. */
bool sftest_number_is(const sftest_array_t *array, const void *value, sftest_number_t number)
{
  char expected[sizeof(double _Complex)];
  sftest_number_store(array, number, expected);
  switch (array->base) {
  case SFTEST_FLOAT:
    return *(const float *)value == *(const float *)(const void *)expected;
  case SFTEST_DOUBLE:
    return *(const double *)value == *(const double *)(const void *)expected;
  case SFTEST_FLOAT_COMPLEX:
    return *(const float _Complex *)value == *(const float _Complex *)(const void *)expected;
  case SFTEST_DOUBLE_COMPLEX:
    return *(const double _Complex *)value == *(const double _Complex *)(const void *)expected;
  default:
    return memcmp(value, expected, array->unit_bytes) == 0;
  }
}
