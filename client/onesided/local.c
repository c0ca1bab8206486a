/* Elements of a rank; flush and sync. */
#include <stdatomic.h>

#include "client/onesided/array.h"
#include "client/onesided/request.h"
#include "client/onesided/window.h"
#include "shm/base/error.h"

/* ---- The elements of a rank -------------------------------------------------------------------------------------- */

static sf_status_t check_rank(const sf_array_t *array, int32_t rank, const char *function)
{
  if (rank < 0 || rank >= array->shape.nranks)
    return sfshm_error(SF_ERR_RANGE, "%s: rank %d; the array has ranks 0 to %d", function, rank,
                       array->shape.nranks - 1);
  return SF_OK;
}

void sfc_array_describe_part(const sf_array_t *array, int32_t rank, sf_array_part_t *part_p)
{
  *part_p = (sf_array_part_t){.block = {0}};
  (void)sfshm_array_part(&array->shape, rank, part_p->extent);
  for (int32_t d = array->shape.ndims - 1; d >= 0; d--) {
    const sfshm_array_dim_t *dim = &array->shape.dims[d];
    int32_t coordinate = rank % dim->procs;
    rank /= dim->procs;
    if (dim->bounds != NULL) {
      part_p->first[d] = dim->bounds[coordinate];
      part_p->block[d] = part_p->extent[d] > 0 ? part_p->extent[d] : 1;
    } else {
      part_p->first[d] = coordinate * dim->block;
      part_p->block[d] = dim->block;
      part_p->stride[d] = dim->block * dim->procs;
    }
  }
}

sf_status_t sf_array_distribution(const sf_array_t *array, int32_t rank, sf_array_part_t *part_p)
{
  sf_status_t status = sfc_array_check(array, __func__);
  status = sfc_array_require(status, part_p, "part_p", __func__);
  if (status == SF_OK)
    status = check_rank(array, rank, __func__);
  if (status == SF_OK)
    sfc_array_describe_part(array, rank, part_p);
  return status;
}

sf_status_t sf_array_owner(const sf_array_t *array, const int64_t index[], int32_t *rank_p)
{
  int64_t element;
  sf_status_t status = sfc_array_check(array, __func__);
  status = sfc_array_require(status, index, "index", __func__);
  status = sfc_array_require(status, rank_p, "rank_p", __func__);
  if (status == SF_OK && !sfc_array_has(array, index))
    status = sfc_array_refuse_index(array, __func__, index);
  if (status == SF_OK)
    *rank_p = sfc_array_locate(array, index, &element);
  return status;
}

sf_status_t sf_array_local(sf_array_t *array, sf_array_part_t *part_p, void **data_p)
{
  sf_status_t status = sfc_array_check(array, __func__);
  status = sfc_array_require(status, part_p, "part_p", __func__);
  status = sfc_array_require(status, data_p, "data_p", __func__);
  if (status != SF_OK)
    return status;
  sfc_array_describe_part(array, array->rank, part_p);
  *data_p = array->parts[array->rank].data;
  return SF_OK;
}

sf_status_t sf_array_release(sf_array_t *array)
{
  sf_status_t status = sfc_array_check(array, __func__);
  if (status == SF_OK)
    atomic_thread_fence(memory_order_release);
  return status;
}

/* ---- Trace ------------------------------------------------------------------------------------------------------- */

_Static_assert((int)SFSHM_TRACE_CALL_ATOMIC == 1 + (int)SFSHM_ARRAY_ATOMIC, "calls are in the order of accesses");

void sfc_array_trace_end(const sf_array_t *array, sfshm_trace_call_t call, uint64_t begin_ns, int64_t nelements)
{
  if (begin_ns == 0)
    return;
  sfshm_trace_record_t record = {.begin_ns = begin_ns,
                                 .end_ns = sfshm_trace_now_ns(),
                                 .message = call,
                                 .bytes = (uint64_t)nelements * array->shape.unit_bytes,
                                 .peer = -1,
                                 .kind = SFSHM_TRACE_ARRAY};
  sfc_trace_write(array->graph, &record);
}

/* ---- Completion -------------------------------------------------------------------------------------------------- */

/* Operations within the node are complete. The fence orders them before later stores of the caller. */
static sf_status_t check_flush(const sf_array_t *array, int32_t rank, const char *function)
{
  sf_status_t status = sfc_array_check(array, function);
  if (status == SF_OK && rank != SF_ARRAY_ALL_RANKS)
    status = check_rank(array, rank, function);
  if (status == SF_OK)
    atomic_thread_fence(memory_order_seq_cst);
  return status;
}

static __attribute__((noinline)) sf_status_t flush(sf_array_t *array, int32_t rank, const char *function)
{
  sf_status_t status = check_flush(array, rank, function);
  if (status != SF_OK || array->nodes == NULL || (rank >= 0 && array->parts[rank].node == NULL))
    return status;
  uint64_t begin_ns = sfc_array_trace_begin(array);
  status = sfc_array_flush_requests(array);
  if (status == SF_OK)
    status = sfc_window_flush(array, rank >= 0 ? array->parts[rank].node->node : -1);
  sfc_array_trace_end(array, SFSHM_TRACE_CALL_FLUSH, begin_ns, 0);
  return status;
}

/* Within a node there is nothing to wait for. */
sf_status_t sf_array_flush(sf_array_t *array, int32_t rank)
{
  if (!sfc_array_is_usable(array) || array->nodes != NULL || (uint32_t)rank >= (uint32_t)array->shape.nranks)
    return flush(array, rank, __func__);
  atomic_thread_fence(memory_order_seq_cst);
  return SF_OK;
}

sf_status_t sf_array_flush_local(sf_array_t *array, int32_t rank)
{
  sf_status_t status = check_flush(array, rank, __func__);
  return status == SF_OK ? sfc_array_flush_requests(array) : status;
}

sf_status_t sf_array_sync(sf_array_t *array)
{
  sf_status_t status = sfc_array_check(array, __func__);
  if (status != SF_OK)
    return status;
  if (array->nodes != NULL)
    status = sf_array_flush(array, SF_ARRAY_ALL_RANKS);
  sf_status_t barrier_status = sfc_array_barrier(array, SFC_ARRAY_SYNC);
  return barrier_status != SF_OK ? barrier_status : status;
}
