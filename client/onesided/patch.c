/* Put, get and acc of patches. A patch that lies within one block of one rank is moved at once: a look-up, a check and
 * a copy. Others are split by the ranks that own their elements. Any thread. */
#include "client/onesided/array.h"
#include "shm/array/transfer.h"
#include "shm/base/error.h"

/* One call. */
typedef struct patch {
  sf_array_t *array;
  const int64_t *lo;
  const int64_t *extent;
  char *buffer;
  const void *alpha;
  sfshm_array_access_t access;
  sfshm_array_row_t *row;
  int64_t step[SFSHM_ARRAY_DIMS]; /* of the buffer */
} patch_t;

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static sf_status_t refuse_patch(const patch_t *patch, const int64_t ld[], const char *function)
{
  const sfshm_array_t *shape = &patch->array->shape;
  for (int32_t d = 0; d < shape->ndims; d++) {
    int64_t lo = patch->lo[d], extent = patch->extent[d];
    if (lo < 0 || extent < 0 || lo > shape->dims[d].extent || extent > shape->dims[d].extent - lo)
      return sfshm_error(SF_ERR_RANGE, "%s: dimension %d: lo %lld, extent %lld; the array has %lld indices", function,
                         d, (long long)lo, (long long)extent, (long long)shape->dims[d].extent);
    if (d > 0 && ld != NULL && ld[d - 1] < extent)
      return sfshm_error(SF_ERR_RANGE, "%s: ld[%d] is %lld; at least %lld, the patch's extent[%d], expected", function,
                         d - 1, (long long)ld[d - 1], (long long)extent, d);
  }
  return sfshm_error(SF_ERR_RANGE, "%s: the buffer of the patch is longer than memory can be", function);
}

/* Checks the patch against the array, and finds the steps in the buffer. */
static inline sf_status_t check_patch(patch_t *patch, const int64_t ld[], const char *function)
{
  const sfshm_array_t *shape = &patch->array->shape;
  int64_t step = 1;
  bool fits = true;
  for (int32_t d = shape->ndims - 1; d >= 0; d--) {
    int64_t lo = patch->lo[d], extent = patch->extent[d], all = shape->dims[d].extent;
    fits &= (uint64_t)lo <= (uint64_t)all && (uint64_t)extent <= (uint64_t)all - (uint64_t)lo;
    patch->step[d] = step;
    if (d > 0) {
      int64_t length = ld != NULL ? ld[d - 1] : extent;
      fits &= length >= extent && !__builtin_mul_overflow(step, length, &step) && step <= SFSHM_ARRAY_MAX_BYTES;
    }
  }
  return __builtin_expect(fits, true) ? SF_OK : refuse_patch(patch, ld, function);
}

static inline sf_status_t check_call(const sf_array_t *array, const int64_t lo[], const int64_t extent[],
                                     const void *buffer, const char *function)
{
  sf_status_t status = sfc_array_check(array, function);
  if (status == SF_OK && (lo == NULL || extent == NULL || buffer == NULL))
    status = sfshm_error(SF_ERR_ARG, "%s: %s is NULL", function,
                         lo == NULL       ? "lo"
                         : extent == NULL ? "extent"
                                          : "buffer");
  return status;
}

/* ---- Moving ------------------------------------------------------------------------------------------------------ */

/* Rows of a patch within one block. */
static void move_rows(const patch_t *patch, const sfc_array_part_t *part, int32_t d, char *data, char *buffer)
{
  int64_t unit = patch->array->shape.unit_bytes;
  if (d == patch->array->shape.ndims - 1) {
    patch->row(data, buffer, patch->extent[d], 1, patch->alpha);
    return;
  }
  for (int64_t i = 0; i < patch->extent[d]; i++)
    move_rows(patch, part, d + 1, data + i * part->step[d] * unit, buffer + i * patch->step[d] * unit);
}

/* Moves the patch if it lies within one block of one rank; false: it does not. */
static inline bool move_block(const patch_t *patch)
{
  sf_array_t *array = patch->array;
  int64_t element = 0, count = 1, local[SFSHM_ARRAY_DIMS];
  int32_t rank = 0;
  for (int32_t d = 0; d < array->shape.ndims; d++) {
    sfshm_array_place_t place;
    if (patch->extent[d] == 0)
      return true;
    sfshm_array_find(&array->shape.dims[d], patch->lo[d], &place);
    if (place.run < patch->extent[d])
      return false;
    rank = rank * array->shape.dims[d].procs + place.coordinate;
    local[d] = place.local;
    count *= patch->extent[d];
  }
  sfc_array_part_t *part = &array->parts[rank];
  for (int32_t d = 0; d < array->shape.ndims; d++)
    element += local[d] * part->step[d];
  char *data = part->data + element * array->shape.unit_bytes;
  if (count == 1)
    patch->row(data, patch->buffer, 1, 1, patch->alpha);
  else
    move_rows(patch, part, 0, data, patch->buffer);
  sfc_array_count(array, part->way, patch->access, (uint64_t)count * array->shape.unit_bytes);
  return true;
}

/* Moves the part of the patch that the rank owns. */
static void move_box(const patch_t *patch, int32_t rank)
{
  sf_array_t *array = patch->array;
  const sfc_array_part_t *part = &array->parts[rank];
  sfshm_array_box_t box;
  if (!sfshm_array_box(&array->shape, rank, patch->lo, patch->extent, &box))
    return;
  sfshm_array_move(&array->shape, &box, part->data, patch->buffer, patch->step, patch->row, patch->alpha);
  sfc_array_count(array, part->way, patch->access,
                  (uint64_t)sfshm_array_count(array->shape.ndims, box.extent) * array->shape.unit_bytes);
}

static __attribute__((noinline)) void move_boxes(const patch_t *patch)
{
  sfshm_array_ranks_t ranks;
  sfshm_array_ranks_start(&patch->array->shape, patch->lo, patch->extent, &ranks);
  for (int32_t rank; (rank = sfshm_array_ranks_next(&patch->array->shape, &ranks)) >= 0;)
    move_box(patch, rank);
}

static inline sf_status_t move(patch_t *patch, const int64_t ld[], const char *function)
{
  sf_status_t status = check_patch(patch, ld, function);
  if (status == SF_OK && !move_block(patch))
    move_boxes(patch);
  return status;
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

sf_status_t sf_array_put(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                         const int64_t ld[])
{
  sf_status_t status = check_call(array, lo, extent, buffer, __func__);
  if (status != SF_OK)
    return status;
  patch_t patch = {.array = array, .lo = lo, .extent = extent, .buffer = (char *)(uintptr_t)buffer};
  patch.access = SFSHM_ARRAY_PUT;
  patch.row = sfshm_array_put_row(array->shape.unit_bytes);
  return move(&patch, ld, __func__);
}

sf_status_t sf_array_get(sf_array_t *array, const int64_t lo[], const int64_t extent[], void *buffer,
                         const int64_t ld[])
{
  sf_status_t status = check_call(array, lo, extent, buffer, __func__);
  if (status != SF_OK)
    return status;
  patch_t patch = {.array = array, .lo = lo, .extent = extent, .buffer = buffer};
  patch.access = SFSHM_ARRAY_GET;
  patch.row = sfshm_array_get_row(array->shape.unit_bytes);
  return move(&patch, ld, __func__);
}

sf_status_t sf_array_acc(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                         const int64_t ld[], const void *alpha)
{
  sf_status_t status = check_call(array, lo, extent, buffer, __func__);
  if (status != SF_OK)
    return status;
  patch_t patch = {.array = array, .lo = lo, .extent = extent, .buffer = (char *)(uintptr_t)buffer, .alpha = alpha};
  patch.access = SFSHM_ARRAY_ACC;
  patch.row = sfshm_array_accumulate(array->shape.base, alpha);
  return move(&patch, ld, __func__);
}

/* Within a node operations are complete when they return. */

sf_status_t sf_array_put_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                               const int64_t ld[], sf_request_t **request_p)
{
  if (request_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_array_put_begin: request_p is NULL");
  sf_status_t status = sf_array_put(array, lo, extent, buffer, ld);
  if (status == SF_OK)
    *request_p = NULL;
  return status;
}

sf_status_t sf_array_get_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], void *buffer,
                               const int64_t ld[], sf_request_t **request_p)
{
  if (request_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_array_get_begin: request_p is NULL");
  sf_status_t status = sf_array_get(array, lo, extent, buffer, ld);
  if (status == SF_OK)
    *request_p = NULL;
  return status;
}

sf_status_t sf_array_acc_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                               const int64_t ld[], const void *alpha, sf_request_t **request_p)
{
  if (request_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_array_acc_begin: request_p is NULL");
  sf_status_t status = sf_array_acc(array, lo, extent, buffer, ld, alpha);
  if (status == SF_OK)
    *request_p = NULL;
  return status;
}
