/* Put, get and acc of patches. A patch within one block of one rank takes the short path: check, look-up, copy. Other
 * patches are split by owner. Any thread. */
#include "client/onesided/array.h"
#include "client/onesided/remote.h"
#include "client/onesided/request.h"
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

/* ---- Moving ------------------------------------------------------------------------------------------------------ */

/* Moves the rows of a patch within one block. */
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

/* Moves the patch if it lies within one block of one rank of this node; false: it does not. */
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
  const sfc_array_part_t *part = &array->parts[rank];
  if (part->data == NULL)
    return false;
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

/* Moves the elements of this node, rank by rank. */
static __attribute__((noinline)) void move_boxes(const patch_t *patch)
{
  sf_array_t *array = patch->array;
  const sfshm_array_t *shape = &array->shape;
  sfshm_array_ranks_t ranks;
  sfshm_array_box_t box;
  sfshm_array_ranks_start(shape, patch->lo, patch->extent, &ranks);
  for (int32_t rank; (rank = sfshm_array_ranks_next(shape, &ranks)) >= 0;) {
    const sfc_array_part_t *part = &array->parts[rank];
    if (part->data == NULL || !sfshm_array_box(shape, rank, patch->lo, patch->extent, &box))
      continue;
    sfshm_array_move(shape, &box, part->data, patch->buffer, patch->step, patch->row, patch->alpha);
    sfc_array_count(array, part->way, patch->access,
                    (uint64_t)sfshm_array_count(shape->ndims, box.extent) * shape->unit_bytes);
  }
}

/* Submits requests to other nodes first: their daemons work while this rank copies. */
static __attribute__((noinline)) sf_status_t move_over_nodes(const patch_t *patch, sf_request_t **request_p)
{
  sfc_remote_t remote = {
      .array = patch->array, .access = patch->access, .buffer = patch->buffer, .alpha = patch->alpha};
  sfc_remote_patch(&remote, patch->lo, patch->extent, patch->step);
  sf_status_t status = request_p != NULL ? sfc_array_begin(&remote, request_p) : sfc_array_submit_earlier(patch->array);
  if (status != SF_OK)
    return status;
  if (request_p == NULL)
    (void)sfc_remote_advance(&remote);
  move_boxes(patch);
  return request_p == NULL ? sfc_remote_finish(&remote) : SF_OK;
}

/* ---- Public functions -------------------------------------------------------------------------------------------- */

/* Inlined into each function, so that access is a constant. */
static inline __attribute__((always_inline)) sf_status_t
transfer(sf_array_t *array, sfshm_array_access_t access, const int64_t lo[], const int64_t extent[], const void *buffer,
         const int64_t ld[], const void *alpha, bool is_blocking, sf_request_t **request_p, const char *function)
{
  sf_status_t status = sfc_array_check(array, function);
  status = sfc_array_require(status, lo, "lo", function);
  status = sfc_array_require(status, extent, "extent", function);
  status = sfc_array_require(status, buffer, "buffer", function);
  if (!is_blocking)
    status = sfc_array_require(status, request_p, "request_p", function);
  if (status != SF_OK)
    return status;
  uint64_t begin_ns = sfc_array_trace_begin(array);
  patch_t patch = {.array = array, .lo = lo, .extent = extent, .buffer = (char *)(uintptr_t)buffer, .alpha = alpha};
  patch.access = access;
  patch.row = sfc_array_row(array, access);
  if (!is_blocking)
    *request_p = NULL;
  status = check_patch(&patch, ld, function);
  if (status != SF_OK)
    return status;
  if (!move_block(&patch)) {
    if (array->nodes != NULL)
      status = move_over_nodes(&patch, request_p);
    else
      move_boxes(&patch);
  }
  if (__builtin_expect(begin_ns != 0, false))
    sfc_array_trace_end(array, (sfshm_trace_call_t)(1 + access), begin_ns,
                        sfshm_array_count(array->shape.ndims, extent));
  return status;
}

sf_status_t sf_array_put(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                         const int64_t ld[])
{
  return transfer(array, SFSHM_ARRAY_PUT, lo, extent, buffer, ld, NULL, true, NULL, __func__);
}

sf_status_t sf_array_get(sf_array_t *array, const int64_t lo[], const int64_t extent[], void *buffer,
                         const int64_t ld[])
{
  return transfer(array, SFSHM_ARRAY_GET, lo, extent, buffer, ld, NULL, true, NULL, __func__);
}

sf_status_t sf_array_acc(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                         const int64_t ld[], const void *alpha)
{
  return transfer(array, SFSHM_ARRAY_ACC, lo, extent, buffer, ld, alpha, true, NULL, __func__);
}

sf_status_t sf_array_put_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                               const int64_t ld[], sf_request_t **request_p)
{
  return transfer(array, SFSHM_ARRAY_PUT, lo, extent, buffer, ld, NULL, false, request_p, __func__);
}

sf_status_t sf_array_get_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], void *buffer,
                               const int64_t ld[], sf_request_t **request_p)
{
  return transfer(array, SFSHM_ARRAY_GET, lo, extent, buffer, ld, NULL, false, request_p, __func__);
}

sf_status_t sf_array_acc_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                               const int64_t ld[], const void *alpha, sf_request_t **request_p)
{
  return transfer(array, SFSHM_ARRAY_ACC, lo, extent, buffer, ld, alpha, false, request_p, __func__);
}
