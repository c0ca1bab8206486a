/* Distribution of arrays: see distribution.h. Pure functions, any thread. */
#include "shm/array/distribution.h"

#include "shm/base/error.h"

static sf_status_t check_bounds(const sfshm_array_dim_t *dim, int32_t d)
{
  if (dim->bounds[0] != 0 || dim->bounds[dim->procs] != dim->extent)
    return sfshm_error(SF_ERR_ARG, "bounds of dimension %d: from 0 to %lld expected, from %lld to %lld found", d,
                       (long long)dim->extent, (long long)dim->bounds[0], (long long)dim->bounds[dim->procs]);
  for (int32_t c = 0; c < dim->procs; c++)
    if (dim->bounds[c + 1] < dim->bounds[c])
      return sfshm_error(SF_ERR_ARG, "bounds[%d][%d] is %lld, below the one before, %lld", d, c + 1,
                         (long long)dim->bounds[c + 1], (long long)dim->bounds[c]);
  return SF_OK;
}

static sf_status_t check_dim(sfshm_array_dim_t *dim, int32_t d, int64_t *bytes, int64_t *nranks)
{
  if (dim->extent < 1 || __builtin_mul_overflow(*bytes, dim->extent, bytes) || *bytes > SFSHM_ARRAY_MAX_BYTES)
    return sfshm_error(SF_ERR_ARG, "extent of dimension %d: %lld; at least 1, and at most 2^56 bytes in all, expected",
                       d, (long long)dim->extent);
  *nranks *= dim->procs;
  if (dim->procs < 1 || *nranks > INT32_MAX)
    return sfshm_error(SF_ERR_ARG, "%d ranks along dimension %d", dim->procs, d);
  if (dim->bounds != NULL)
    return check_bounds(dim, d);
  if (dim->block < 1 || dim->block > dim->extent)
    return sfshm_error(SF_ERR_ARG, "blocks of %lld indices along dimension %d; 1 to %lld expected",
                       (long long)dim->block, d, (long long)dim->extent);
  dim->block_inverse = sfshm_array_inverse(dim->block);
  dim->procs_inverse = sfshm_array_inverse(dim->procs);
  return SF_OK;
}

sf_status_t sfshm_array_check(sfshm_array_t *array)
{
  int64_t nranks = 1;
  if (array->ndims < 1 || array->ndims > SFSHM_ARRAY_DIMS)
    return sfshm_error(SF_ERR_ARG, "%d dimensions; 1 to %d expected", array->ndims, SFSHM_ARRAY_DIMS);
  if ((unsigned)array->base >= SFSHM_BASE_OPAQUE)
    return sfshm_error(SF_ERR_ARG, "the unit of an array is a predefined number; %s found",
                       sfshm_base_name(array->base));
  array->unit_bytes = (uint32_t)sfshm_base_size(array->base);
  int64_t bytes = array->unit_bytes;
  for (int32_t d = 0; d < array->ndims; d++) {
    sf_status_t status = check_dim(&array->dims[d], d, &bytes, &nranks);
    if (status != SF_OK)
      return status;
  }
  array->nranks = (int32_t)nranks;
  return SF_OK;
}

void sfshm_array_find_bounded(const sfshm_array_dim_t *dim, int64_t index, sfshm_array_place_t *place_p)
{
  int32_t low = 0, high = dim->procs - 1; /* the last coordinate whose bound is not above the index */
  while (low < high) {
    int32_t middle = low + (high - low + 1) / 2;
    if (dim->bounds[middle] <= index)
      low = middle;
    else
      high = middle - 1;
  }
  *place_p = (sfshm_array_place_t){low, index - dim->bounds[low], dim->bounds[low + 1] - index};
}

int64_t sfshm_array_local_extent(const sfshm_array_dim_t *dim, int32_t coordinate)
{
  if (dim->bounds != NULL)
    return dim->bounds[coordinate + 1] - dim->bounds[coordinate];
  int64_t nblocks = dim->extent / dim->block, rest = dim->extent - nblocks * dim->block;
  int64_t rounds = nblocks / dim->procs, last = nblocks - rounds * dim->procs; /* whole blocks in the last round */
  return rounds * dim->block + (coordinate < last ? dim->block : coordinate == last ? rest : 0);
}

int64_t sfshm_array_part(const sfshm_array_t *array, int32_t rank, int64_t extents[])
{
  int64_t count = 1;
  for (int32_t d = array->ndims - 1; d >= 0; d--) {
    extents[d] = sfshm_array_local_extent(&array->dims[d], rank % array->dims[d].procs);
    rank /= array->dims[d].procs;
    count *= extents[d];
  }
  return count;
}

int32_t sfshm_array_owner(const sfshm_array_t *array, const int64_t index[], int64_t *element_p)
{
  int32_t rank = 0;
  int64_t element = 0;
  for (int32_t d = 0; d < array->ndims; d++) {
    const sfshm_array_dim_t *dim = &array->dims[d];
    sfshm_array_place_t place;
    sfshm_array_find(dim, index[d], &place);
    rank = rank * dim->procs + place.coordinate;
    element = element * sfshm_array_local_extent(dim, place.coordinate) + place.local;
  }
  *element_p = element;
  return rank;
}

/* Number of the coordinate's indices below the given one. */
static int64_t count_below(const sfshm_array_dim_t *dim, int32_t coordinate, int64_t index)
{
  sfshm_array_dim_t below = {.extent = index, .block = dim->block, .procs = dim->procs};
  if (dim->bounds == NULL)
    return sfshm_array_local_extent(&below, coordinate);
  int64_t first = dim->bounds[coordinate], end = dim->bounds[coordinate + 1];
  return (index < first ? first : index > end ? end : index) - first;
}

/* Computes one dimension of a box; false: the box is empty. */
static bool intersect(const sfshm_array_dim_t *dim, int32_t coordinate, int64_t lo, int64_t extent, int32_t d,
                      sfshm_array_box_t *box)
{
  int64_t first = count_below(dim, coordinate, lo), end = count_below(dim, coordinate, lo + extent);
  box->first[d] = first;
  box->extent[d] = end - first;
  box->part[d] = sfshm_array_local_extent(dim, coordinate);
  if (dim->bounds != NULL || dim->procs == 1) {
    box->patch[d] = first + (dim->bounds != NULL ? dim->bounds[coordinate] : 0) - lo;
    box->in_block[d] = 0;
    box->block[d] = INT64_MAX;
    box->skip[d] = 0;
  } else {
    int64_t round = first / dim->block;
    box->in_block[d] = first - round * dim->block;
    box->patch[d] = (round * dim->procs + coordinate) * dim->block + box->in_block[d] - lo;
    box->block[d] = dim->block;
    box->skip[d] = dim->block * (dim->procs - 1);
  }
  return end > first;
}

bool sfshm_array_box(const sfshm_array_t *array, int32_t rank, const int64_t lo[], const int64_t extent[],
                     sfshm_array_box_t *box_p)
{
  for (int32_t d = array->ndims - 1; d >= 0; d--) {
    const sfshm_array_dim_t *dim = &array->dims[d];
    if (!intersect(dim, rank % dim->procs, lo[d], extent[d], d, box_p))
      return false;
    rank /= dim->procs;
  }
  return true;
}

int64_t sfshm_array_count(int32_t ndims, const int64_t extent[])
{
  int64_t count = 1;
  for (int32_t d = 0; d < ndims; d++)
    count *= extent[d];
  return count;
}

void sfshm_array_ranks_start(const sfshm_array_t *array, const int64_t lo[], const int64_t extent[],
                             sfshm_array_ranks_t *ranks)
{
  *ranks = (sfshm_array_ranks_t){.over = false};
  for (int32_t d = 0; d < array->ndims; d++) {
    const sfshm_array_dim_t *dim = &array->dims[d];
    sfshm_array_place_t first, last;
    if (extent[d] == 0) {
      ranks->over = true;
      return;
    }
    sfshm_array_find(dim, lo[d], &first);
    sfshm_array_find(dim, lo[d] + extent[d] - 1, &last);
    ranks->first[d] = first.coordinate;
    if (dim->bounds != NULL)
      ranks->n[d] = last.coordinate - first.coordinate + 1;
    else {
      int64_t nblocks = (lo[d] + extent[d] - 1) / dim->block - lo[d] / dim->block + 1;
      ranks->n[d] = nblocks < dim->procs ? (int32_t)nblocks : dim->procs;
    }
  }
}

int32_t sfshm_array_ranks_next(const sfshm_array_t *array, sfshm_array_ranks_t *ranks)
{
  int32_t rank = 0;
  if (ranks->over)
    return -1;
  for (int32_t d = 0; d < array->ndims; d++) {
    int32_t procs = array->dims[d].procs, coordinate = ranks->first[d] + ranks->at[d];
    rank = rank * procs + (coordinate < procs ? coordinate : coordinate - procs);
  }
  for (int32_t d = array->ndims - 1; d >= 0; d--) {
    if (++ranks->at[d] < ranks->n[d])
      return rank;
    ranks->at[d] = 0;
  }
  ranks->over = true;
  return rank;
}
