/* Put, get and acc of patches. A patch within one block of one rank takes the short path: check, look-up, copy. Other
 * patches are split by owner. Any thread. */
#include "client/onesided/adder.h"
#include "client/onesided/array.h"
#include "client/onesided/remote.h"
#include "client/onesided/request.h"
#include "shm/array/transfer.h"
#include "shm/base/error.h"

/* Arguments of a call. */
typedef struct call {
  sfshm_array_access_t access;
  const int64_t *lo;
  const int64_t *extent;
  char *buffer;
  const int64_t *ld;
  const void *alpha;
} call_t;

/* A patch that is split by owner. */
typedef struct patch {
  sf_array_t *array;
  const call_t *call;
  int64_t step[SFSHM_ARRAY_DIMS]; /* of the buffer */
} patch_t;

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static sf_status_t refuse_patch(const patch_t *patch, const char *function)
{
  const int64_t *ld = patch->call->ld;
  const sfshm_array_t *shape = &patch->array->shape;
  for (int32_t d = 0; d < shape->ndims; d++) {
    int64_t lo = patch->call->lo[d], extent = patch->call->extent[d];
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
static sf_status_t check_patch(patch_t *patch, const char *function)
{
  const int64_t *ld = patch->call->ld;
  const sfshm_array_t *shape = &patch->array->shape;
  int64_t step = 1;
  bool fits = true;
  for (int32_t d = shape->ndims - 1; d >= 0; d--) {
    int64_t lo = patch->call->lo[d], extent = patch->call->extent[d], all = shape->dims[d].extent;
    fits &= (uint64_t)lo <= (uint64_t)all && (uint64_t)extent <= (uint64_t)all - (uint64_t)lo;
    patch->step[d] = step;
    if (d > 0) {
      int64_t length = ld != NULL ? ld[d - 1] : extent;
      fits &= length >= extent && !__builtin_mul_overflow(step, length, &step) && step <= SFSHM_ARRAY_MAX_BYTES;
    }
  }
  return fits ? SF_OK : refuse_patch(patch, function);
}

/* Without elements: lo, ld and the buffer are not looked at. */
static bool is_empty(const call_t *call, int32_t ndims)
{
  int64_t least = call->extent[0];
  for (int32_t d = 1; d < ndims; d++)
    least = call->extent[d] < least ? call->extent[d] : least;
  return least == 0;
}

/* ---- One block ----------------------------------------------------------------------------------------------------
 */

/* Patch within one block of one rank of this node. */
typedef struct block {
  const sfc_array_part_t *part;
  char *data;                     /* first element */
  int64_t count;                  /* elements */
  int64_t step[SFSHM_ARRAY_DIMS]; /* of the buffer, in elements */
  sfc_adder_t *adder;             /* acc */
} block_t;

/* Finds the block; false: the patch is not within a block, or not correct. */
static inline __attribute__((always_inline)) bool find_block(const sf_array_t *array, const int64_t lo[],
                                                             const int64_t extent[], const int64_t ld[], int32_t ndims,
                                                             block_t *block)
{
  const sfshm_array_t *shape = &array->shape;
  int64_t local[SFSHM_ARRAY_DIMS], step = 1, element = 0;
  int32_t rank = 0, stride = 1;
  block->count = 1;
  for (int32_t d = ndims - 1; d >= 0; d--) {
    sfshm_array_place_t place;
    if ((uint64_t)lo[d] >= (uint64_t)shape->dims[d].extent)
      return false;
    sfshm_array_find(&shape->dims[d], lo[d], &place);
    if ((uint64_t)extent[d] - 1 >= (uint64_t)place.run)
      return false;
    rank += stride * place.coordinate;
    stride *= shape->dims[d].procs;
    local[d] = place.local;
    block->count *= extent[d];
    block->step[d] = step;
    int64_t length = d > 0 && ld != NULL ? ld[d - 1] : extent[d];
    if (d > 0 && (length < extent[d] || __builtin_mul_overflow(step, length, &step) || step > SFSHM_ARRAY_MAX_BYTES))
      return false;
  }
  block->part = &array->parts[rank];
  for (int32_t d = 0; d < ndims; d++)
    element += d == ndims - 1 ? local[d] : local[d] * block->part->step[d];
  block->data = block->part->data + element * shape->unit_bytes;
  return block->part->data != NULL;
}

/* Moves the elements of a block, by rows. */
static inline __attribute__((always_inline)) void move_rows(const sf_array_t *array, sfshm_array_access_t access,
                                                            const block_t *block, const int64_t extent[], int32_t d,
                                                            int32_t ndims, char *data, char *buffer)
{
  const int64_t unit = array->shape.unit_bytes, n = extent[ndims - 1], nrows = d < ndims - 1 ? extent[d] : 1;
  const int64_t step = d < ndims - 1 ? block->part->step[d] * unit : 0, buffer_step = block->step[d] * unit;
  if (access == SFSHM_ARRAY_PUT)
    sfshm_array_copy_rows(data, step, buffer, buffer_step, nrows, (size_t)(n * unit));
  else if (access == SFSHM_ARRAY_GET)
    sfshm_array_copy_rows(buffer, buffer_step, data, step, nrows, (size_t)(n * unit));
  else
    for (int64_t row = 0; row < nrows; row++)
      sfc_adder_row(data + row * step, buffer + row * buffer_step, n, 1, block->adder);
}

static void move_planes(const sf_array_t *array, sfshm_array_access_t access, const block_t *block,
                        const int64_t extent[], int32_t d, char *data, char *buffer)
{
  int32_t ndims = array->shape.ndims;
  int64_t unit = array->shape.unit_bytes;
  if (d == ndims - 2)
    move_rows(array, access, block, extent, d, ndims, data, buffer);
  else
    for (int64_t i = 0; i < extent[d]; i++)
      move_planes(array, access, block, extent, d + 1, data + i * block->part->step[d] * unit,
                  buffer + i * block->step[d] * unit);
}

static inline __attribute__((always_inline)) bool move_block_of(sf_array_t *array, const call_t *call, int32_t ndims,
                                                                sf_status_t *status_p)
{
  block_t block;
  sfc_adder_t adder;
  if (!find_block(array, call->lo, call->extent, call->ld, ndims, &block))
    return false;
  if (call->access == SFSHM_ARRAY_ACC) {
    adder = (sfc_adder_t){.array = array, .alpha = call->alpha, .part = block.part};
    block.adder = &adder;
  }
  if (ndims <= 2)
    move_rows(array, call->access, &block, call->extent, 0, ndims, block.data, call->buffer);
  else
    move_planes(array, call->access, &block, call->extent, 0, block.data, call->buffer);
  sfc_array_count(array, block.part->way, call->access, (uint64_t)block.count * array->shape.unit_bytes);
  *status_p = call->access == SFSHM_ARRAY_ACC ? sfc_adder_end(&adder) : SF_OK;
  return true;
}

static __attribute__((noinline)) bool move_deep_block(sf_array_t *array, const call_t *call, sf_status_t *status_p)
{
  return move_block_of(array, call, array->shape.ndims, status_p);
}

/* Moves the patch if it lies within one block of one rank of this node; false: nothing is moved. */
static inline __attribute__((always_inline)) bool move_block(sf_array_t *array, const call_t *call,
                                                             sf_status_t *status_p)
{
  return array->shape.ndims == 1   ? move_block_of(array, call, 1, status_p)
         : array->shape.ndims == 2 ? move_block_of(array, call, 2, status_p)
                                   : move_deep_block(array, call, status_p);
}

/* ---- Several blocks ---------------------------------------------------------------------------------------------- */

/* Moves the elements of this node, rank by rank. */
static sf_status_t move_boxes(const patch_t *patch)
{
  sf_array_t *array = patch->array;
  const sfshm_array_t *shape = &array->shape;
  const call_t *call = patch->call;
  sfshm_array_ranks_t ranks;
  sfshm_array_box_t box;
  sfc_adder_t adder = {.array = array, .alpha = call->alpha};
  sfshm_array_row_t *row = call->access == SFSHM_ARRAY_ACC ? sfc_adder_row : sfc_array_row(array, call->access);
  sfshm_array_ranks_start(shape, call->lo, call->extent, &ranks);
  for (int32_t rank; (rank = sfshm_array_ranks_next(shape, &ranks)) >= 0;) {
    const sfc_array_part_t *part = &array->parts[rank];
    if (part->data == NULL || !sfshm_array_box(shape, rank, call->lo, call->extent, &box))
      continue;
    sfc_adder_turn(&adder, part);
    sfshm_array_move(shape, &box, part->data, call->buffer, patch->step, row, &adder);
    sfc_array_count(array, part->way, call->access,
                    (uint64_t)sfshm_array_count(shape->ndims, box.extent) * shape->unit_bytes);
  }
  return sfc_adder_end(&adder);
}

/* Submits requests to other nodes first: their daemons work while this rank copies. */
static sf_status_t move_over_nodes(const patch_t *patch, sf_request_t **request_p)
{
  const call_t *call = patch->call;
  sfc_remote_t remote = {.array = patch->array, .access = call->access, .buffer = call->buffer, .alpha = call->alpha};
  sfc_remote_patch(&remote, call->lo, call->extent, patch->step);
  sf_status_t status = request_p != NULL ? sfc_array_begin(&remote, request_p) : sfc_array_submit_earlier(patch->array);
  if (status != SF_OK)
    return status;
  if (request_p == NULL)
    (void)sfc_remote_advance(&remote);
  (void)move_boxes(patch); /* takes no locks */
  return request_p == NULL ? sfc_remote_finish(&remote) : SF_OK;
}

/* ---- Public functions -------------------------------------------------------------------------------------------- */

/* Checks everything, and moves any patch. request_p: of begin; NULL if the call is blocking. */
static __attribute__((noinline)) sf_status_t transfer(sf_array_t *array, const call_t *call, bool is_blocking,
                                                      sf_request_t **request_p, const char *function)
{
  sf_status_t status = sfc_array_check(array, function);
  status = sfc_array_require(status, call->lo, "lo", function);
  status = sfc_array_require(status, call->extent, "extent", function);
  if (!is_blocking)
    status = sfc_array_require(status, request_p, "request_p", function);
  bool empty = status == SF_OK && is_empty(call, array->shape.ndims);
  if (!empty)
    status = sfc_array_require(status, call->buffer, "buffer", function);
  if (status != SF_OK)
    return status;
  uint64_t begin_ns = sfc_array_trace_begin(array);
  patch_t patch = {.array = array, .call = call};
  sf_request_t *request = NULL;
  status = empty ? SF_OK : check_patch(&patch, function);
  if (status != SF_OK)
    return status;
  int64_t count = empty ? 0 : sfshm_array_count(array->shape.ndims, call->extent);
  if (count > 0 && !move_block(array, call, &status)) {
    if (array->nodes != NULL)
      status = move_over_nodes(&patch, is_blocking ? NULL : &request);
    else
      status = move_boxes(&patch);
  }
  if (begin_ns != 0)
    sfc_array_trace_end(array, (sfshm_trace_call_t)(1 + call->access), begin_ns, count);
  if (!is_blocking && status == SF_OK)
    *request_p = request;
  return status;
}

/* Blocking calls. A correct patch within one block takes the short way while no events are collected. Inlined into each
 * function, so that access is a constant. */
static inline __attribute__((always_inline)) sf_status_t transfer_now(sf_array_t *array, sfshm_array_access_t access,
                                                                      const int64_t lo[], const int64_t extent[],
                                                                      const void *buffer, const int64_t ld[],
                                                                      const void *alpha, const char *function)
{
  call_t call = {access, lo, extent, (char *)(uintptr_t)buffer, ld, alpha};
  sf_status_t status;
  if (sfc_array_is_usable(array) && lo != NULL && extent != NULL && buffer != NULL &&
      !sfc_trace_is_on(array->context) && move_block(array, &call, &status))
    return status;
  call_t kept = call; /* only this one must be in memory */
  return transfer(array, &kept, true, NULL, function);
}

sf_status_t sf_array_put(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                         const int64_t ld[])
{
  return transfer_now(array, SFSHM_ARRAY_PUT, lo, extent, buffer, ld, NULL, __func__);
}

sf_status_t sf_array_get(sf_array_t *array, const int64_t lo[], const int64_t extent[], void *buffer,
                         const int64_t ld[])
{
  return transfer_now(array, SFSHM_ARRAY_GET, lo, extent, buffer, ld, NULL, __func__);
}

sf_status_t sf_array_acc(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                         const int64_t ld[], const void *alpha)
{
  return transfer_now(array, SFSHM_ARRAY_ACC, lo, extent, buffer, ld, alpha, __func__);
}

sf_status_t sf_array_put_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                               const int64_t ld[], sf_request_t **request_p)
{
  const call_t call = {SFSHM_ARRAY_PUT, lo, extent, (char *)(uintptr_t)buffer, ld, NULL};
  return transfer(array, &call, false, request_p, __func__);
}

sf_status_t sf_array_get_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], void *buffer,
                               const int64_t ld[], sf_request_t **request_p)
{
  const call_t call = {SFSHM_ARRAY_GET, lo, extent, buffer, ld, NULL};
  return transfer(array, &call, false, request_p, __func__);
}

sf_status_t sf_array_acc_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[], const void *buffer,
                               const int64_t ld[], const void *alpha, sf_request_t **request_p)
{
  const call_t call = {SFSHM_ARRAY_ACC, lo, extent, (char *)(uintptr_t)buffer, ld, alpha};
  return transfer(array, &call, false, request_p, __func__);
}
