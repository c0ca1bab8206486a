/* Lists of elements, and atomic operations on one element. Any thread. */
#include <string.h>

#include "client/onesided/adder.h"
#include "client/onesided/array.h"
#include "client/onesided/remote.h"
#include "client/onesided/request.h"
#include "shm/base/error.h"

sf_status_t sfc_array_refuse_index(const sf_array_t *array, const char *function, const int64_t index[])
{
  int32_t d = 0;
  while ((uint64_t)index[d] < (uint64_t)array->shape.dims[d].extent)
    d++;
  return sfshm_error(SF_ERR_RANGE, "%s: index[%d] is %lld; 0 to %lld expected", function, d, (long long)index[d],
                     (long long)array->shape.dims[d].extent - 1);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static sf_status_t check_list(const sf_array_t *array, int64_t n, const int64_t index[], const void *values,
                              const char *function)
{
  int32_t ndims = array->shape.ndims;
  if (n < 0 || (n > 0 && (index == NULL || values == NULL)))
    return sfshm_error(SF_ERR_ARG, "%s: n %lld, index %p, values %p", function, (long long)n, (const void *)index,
                       values);
  for (int64_t i = 0; i < n; i++)
    if (!sfc_array_has(array, index + i * ndims)) {
      (void)sfc_array_refuse_index(array, function, index + i * ndims);
      return sfshm_error(SF_ERR_RANGE, "element %lld of the list: %s", (long long)i, sfshm_error_detail());
    }
  return SF_OK;
}

/* Moves the elements of this node. */
static sf_status_t move_local(const sfc_remote_t *list, int64_t n)
{
  sf_array_t *array = list->array;
  const bool is_acc = list->access == SFSHM_ARRAY_ACC;
  sfshm_array_row_t *row = is_acc ? sfc_adder_row : sfc_array_row(array, list->access);
  sfc_adder_t adder = {.array = array, .alpha = list->alpha};
  int64_t element, unit = array->shape.unit_bytes;
  uint64_t counts[SFSHM_ARRAY_WAYS] = {0};
  for (int64_t i = 0; i < n; i++) {
    int32_t rank = sfc_array_locate(array, list->index + i * array->shape.ndims, &element);
    const sfc_array_part_t *part = &array->parts[rank];
    if (part->data == NULL)
      continue;
    if (is_acc)
      sfc_adder_turn(&adder, part);
    row(part->data + element * unit, list->buffer + i * unit, 1, 1, &adder);
    counts[part->way]++;
  }
  for (sfshm_array_way_t way = 0; way < SFSHM_ARRAY_WAYS; way++)
    if (counts[way] > 0)
      sfc_array_count(array, way, list->access, counts[way] * (uint64_t)unit);
  return sfc_adder_end(&adder);
}

static sf_status_t move_list(sf_array_t *array, sfshm_array_access_t access, int64_t n, const int64_t index[],
                             const void *values, const void *alpha, const char *function)
{
  sfc_remote_t list = {.array = array, .access = access, .buffer = (char *)(uintptr_t)values, .alpha = alpha};
  sf_status_t status = sfc_array_check(array, function);
  if (status == SF_OK)
    status = check_list(array, n, index, values, function);
  if (status == SF_OK && array->nodes != NULL)
    status = sfc_array_submit_earlier(array);
  if (status != SF_OK)
    return status;
  uint64_t begin_ns = sfc_array_trace_begin(array);
  sfc_remote_list(&list, n, index);
  if (array->nodes != NULL)
    (void)sfc_remote_advance(&list);
  status = move_local(&list, n);
  if (array->nodes != NULL)
    status = sfc_remote_finish(&list);
  sfc_array_trace_end(array, (sfshm_trace_call_t)(1 + access), begin_ns, n);
  return status;
}

sf_status_t sf_array_gather(sf_array_t *array, int64_t n, const int64_t index[], void *values)
{
  return move_list(array, SFSHM_ARRAY_GET, n, index, values, NULL, __func__);
}

sf_status_t sf_array_scatter(sf_array_t *array, int64_t n, const int64_t index[], const void *values)
{
  return move_list(array, SFSHM_ARRAY_PUT, n, index, values, NULL, __func__);
}

sf_status_t sf_array_scatter_acc(sf_array_t *array, int64_t n, const int64_t index[], const void *values,
                                 const void *alpha)
{
  return move_list(array, SFSHM_ARRAY_ACC, n, index, values, alpha, __func__);
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

/* Copies a value of 4 or 8 bytes from or to the low bytes of 64 bits. All machines of a job are little-endian
 * (daemon/net/frame.h). Lengths are constants so that no function is called. */
static inline void copy_bits(const sf_array_t *array, void *to, const void *from)
{
  if (array->shape.unit_bytes == 4)
    memcpy(to, from, 4);
  else
    memcpy(to, from, 8);
}

static sf_status_t check_element(const sf_array_t *array, const int64_t index[], sfshm_op_t op, const char *function)
{
  if (!sfshm_array_fetch_applies(op, array->shape.base))
    return sfshm_error(SF_ERR_ARG, "%s: op %s is not defined for %s", function, sfshm_op_name(op),
                       sfshm_base_name(array->shape.base));
  if (index == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: index is NULL", function);
  return sfc_array_has(array, index) ? SF_OK : sfc_array_refuse_index(array, function, index);
}

/* request: kind and op are set, other fields are 0. compare: NULL for FETCH_OP. */
static inline sf_status_t update(sf_array_t *array, const int64_t index[], sfshm_array_request_t *request,
                                 const void *operand, const void *compare, void *previous, const char *function)
{
  int64_t element;
  uint64_t bits, begin_ns = sfc_array_trace_begin(array);
  sfshm_op_t op = (sfshm_op_t)request->op;
  sf_status_t status = check_element(array, index, op, function);
  if (status != SF_OK)
    return status;
  copy_bits(array, &request->operand, operand);
  if (compare != NULL)
    copy_bits(array, &request->compare, compare);
  int32_t rank = sfc_array_locate(array, index, &element);
  const sfc_array_part_t *part = &array->parts[rank];
  int64_t offset = element * array->shape.unit_bytes;
  sfc_array_count(array, part->way, SFSHM_ARRAY_ATOMIC, array->shape.unit_bytes);
  if (__builtin_expect(part->data == NULL, false)) {
    status = sfc_array_submit_earlier(array);
    if (status == SF_OK)
      status = sfc_remote_atomic(array, rank, index, request, &bits);
  } else if (request->kind == SFSHM_ARRAY_FETCH_OP) {
    bits = sfshm_array_fetch_op(op, array->shape.base, part->data + offset, request->operand);
  } else {
    bits = sfshm_array_compare_swap(array->shape.base, part->data + offset, request->compare, request->operand);
  }
  if (status == SF_OK)
    copy_bits(array, previous, &bits);
  if (__builtin_expect(begin_ns != 0, false))
    sfc_array_trace_end(array, SFSHM_TRACE_CALL_ATOMIC, begin_ns, 1);
  return status;
}

sf_status_t sf_array_fetch_op(sf_array_t *array, const int64_t index[], const void *operand, void *previous,
                              const sf_op_t *op)
{
  sf_status_t status = sfc_array_check(array, __func__);
  status = sfc_array_require(status, operand, "operand", __func__);
  status = sfc_array_require(status, previous, "previous", __func__);
  status = sfc_array_require(status, op, "op", __func__);
  if (status != SF_OK)
    return status;
  sfshm_array_request_t request = {.kind = SFSHM_ARRAY_FETCH_OP, .op = op->op};
  return update(array, index, &request, operand, NULL, previous, __func__);
}

sf_status_t sf_array_compare_swap(sf_array_t *array, const int64_t index[], const void *compare, const void *value,
                                  void *previous)
{
  sf_status_t status = sfc_array_check(array, __func__);
  status = sfc_array_require(status, compare, "compare", __func__);
  status = sfc_array_require(status, value, "value", __func__);
  status = sfc_array_require(status, previous, "previous", __func__);
  sfshm_array_request_t request = {.kind = SFSHM_ARRAY_COMPARE_SWAP, .op = SFSHM_OP_REPLACE};
  return status == SF_OK ? update(array, index, &request, value, compare, previous, __func__) : status;
}

sf_status_t sf_array_read_inc(sf_array_t *array, const int64_t index[], int64_t increment, int64_t *previous_p)
{
  int64_t previous = 0;
  sfshm_array_request_t request = {.kind = SFSHM_ARRAY_FETCH_OP, .op = SFSHM_OP_SUM};
  sf_status_t status = sfc_array_require(sfc_array_check(array, __func__), previous_p, "previous_p", __func__);
  if (status == SF_OK)
    status = update(array, index, &request, &increment, NULL, &previous, __func__);
  if (status == SF_OK)
    *previous_p = array->shape.base == SFSHM_BASE_INT32 ? (int32_t)previous : previous;
  return status;
}
