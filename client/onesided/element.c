/* Lists of elements, and atomic operations on one element. Any thread. */
#include <string.h>

#include "client/onesided/array.h"
#include "client/onesided/remote.h"
#include "client/onesided/request.h"
#include "shm/array/transfer.h"
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

/* One call. */
typedef struct list {
  sf_array_t *array;
  int64_t n;
  const int64_t *index;
  char *values;
  const void *alpha;
  sfshm_array_access_t access;
  sfshm_array_row_t *row;
} list_t;

static sf_status_t check_list(const list_t *list, const char *function)
{
  int32_t ndims = list->array->shape.ndims;
  if (list->n < 0 || (list->n > 0 && (list->index == NULL || list->values == NULL)))
    return sfshm_error(SF_ERR_ARG, "%s: n %lld, index %p, values %p", function, (long long)list->n,
                       (const void *)list->index, (void *)list->values);
  for (int64_t i = 0; i < list->n; i++)
    if (!sfc_array_has(list->array, list->index + i * ndims)) {
      (void)sfc_array_refuse_index(list->array, function, list->index + i * ndims);
      return sfshm_error(SF_ERR_RANGE, "element %lld of the list: %s", (long long)i, sfshm_error_detail());
    }
  return SF_OK;
}

static sf_status_t move_list(const list_t *list, const char *function)
{
  sf_array_t *array = list->array;
  int32_t ndims = array->shape.ndims;
  uint32_t unit = array->shape.unit_bytes;
  uint64_t n[SFSHM_ARRAY_WAYS] = {0};
  sfc_remote_t remote = {
      .array = array, .access = list->access, .buffer = list->values, .alpha = list->alpha, .is_submitted = true};
  sf_status_t status = check_list(list, function);
  if (status == SF_OK && array->nodes != NULL) {
    remote.is_submitted = false;
    sfc_remote_list(&remote, list->n, list->index);
    status = sfc_array_submit_earlier(array);
  }
  if (status != SF_OK)
    return status;
  if (array->nodes != NULL)
    (void)sfc_remote_advance(&remote);
  for (int64_t i = 0; i < list->n; i++) {
    int64_t element;
    const sfc_array_part_t *part = &array->parts[sfc_array_locate(array, list->index + i * ndims, &element)];
    if (part->data == NULL)
      continue;
    list->row(part->data + element * unit, list->values + i * unit, 1, 1, list->alpha);
    n[part->way]++;
  }
  for (int way = 0; way < SFSHM_ARRAY_WAYS; way++)
    if (n[way] > 0)
      sfc_array_count(array, (sfshm_array_way_t)way, list->access, n[way] * unit);
  return array->nodes != NULL ? sfc_remote_finish(&remote) : SF_OK;
}

sf_status_t sf_array_gather(sf_array_t *array, int64_t n, const int64_t index[], void *values)
{
  sf_status_t status = sfc_array_check(array, __func__);
  if (status != SF_OK)
    return status;
  list_t list = {.array = array, .n = n, .index = index, .values = values, .access = SFSHM_ARRAY_GET};
  list.row = sfshm_array_get_row(array->shape.unit_bytes);
  return move_list(&list, __func__);
}

sf_status_t sf_array_scatter(sf_array_t *array, int64_t n, const int64_t index[], const void *values)
{
  sf_status_t status = sfc_array_check(array, __func__);
  if (status != SF_OK)
    return status;
  list_t list = {.array = array, .n = n, .index = index, .values = (char *)(uintptr_t)values};
  list.access = SFSHM_ARRAY_PUT;
  list.row = sfshm_array_put_row(array->shape.unit_bytes);
  return move_list(&list, __func__);
}

sf_status_t sf_array_scatter_acc(sf_array_t *array, int64_t n, const int64_t index[], const void *values,
                                 const void *alpha)
{
  sf_status_t status = sfc_array_check(array, __func__);
  if (status != SF_OK)
    return status;
  list_t list = {.array = array, .n = n, .index = index, .values = (char *)(uintptr_t)values, .alpha = alpha};
  list.access = SFSHM_ARRAY_ACC;
  list.row = sfshm_array_accumulate(array->shape.base, alpha);
  return move_list(&list, __func__);
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

/* Values of 4 or 8 bytes as bits; numbers are little-endian on all machines of a job (daemon/net/frame.h). */
static uint64_t load_bits(const sf_array_t *array, const void *value)
{
  uint64_t bits = 0;
  memcpy(&bits, value, array->shape.unit_bytes);
  return bits;
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

/* request: FETCH_OP or COMPARE_SWAP, with op and operands. */
static inline sf_status_t update(sf_array_t *array, const int64_t index[], sfshm_array_request_t *request,
                                 const char *function, uint64_t *bits_p)
{
  int64_t element;
  sfshm_op_t op = (sfshm_op_t)request->op;
  sf_status_t status = check_element(array, index, op, function);
  if (status != SF_OK)
    return status;
  int32_t rank = sfc_array_locate(array, index, &element);
  const sfc_array_part_t *part = &array->parts[rank];
  sfc_array_count(array, part->way, SFSHM_ARRAY_ATOMIC, array->shape.unit_bytes);
  if (__builtin_expect(part->data == NULL, false)) {
    status = sfc_array_submit_earlier(array);
    return status == SF_OK ? sfc_remote_atomic(array, rank, index, request, bits_p) : status;
  }
  void *data = part->data + element * array->shape.unit_bytes;
  *bits_p = request->kind == SFSHM_ARRAY_FETCH_OP
                ? sfshm_array_fetch_op(op, array->shape.base, data, request->operand)
                : sfshm_array_compare_swap(array->shape.base, data, request->compare, request->operand);
  return SF_OK;
}

sf_status_t sf_array_fetch_op(sf_array_t *array, const int64_t index[], const void *operand, void *previous,
                              const sf_op_t *op)
{
  uint64_t bits;
  sf_status_t status = sfc_array_check(array, __func__);
  if (status == SF_OK && (operand == NULL || previous == NULL || op == NULL))
    status = sfshm_error(SF_ERR_ARG, "sf_array_fetch_op: %s is NULL",
                         operand == NULL    ? "operand"
                         : previous == NULL ? "previous"
                                            : "op");
  if (status != SF_OK)
    return status;
  sfshm_array_request_t request = {.kind = SFSHM_ARRAY_FETCH_OP, .op = op->op, .operand = load_bits(array, operand)};
  status = update(array, index, &request, __func__, &bits);
  if (status == SF_OK)
    memcpy(previous, &bits, array->shape.unit_bytes);
  return status;
}

sf_status_t sf_array_compare_swap(sf_array_t *array, const int64_t index[], const void *compare, const void *value,
                                  void *previous)
{
  uint64_t bits;
  sf_status_t status = sfc_array_check(array, __func__);
  if (status == SF_OK && (compare == NULL || value == NULL || previous == NULL))
    status = sfshm_error(SF_ERR_ARG, "sf_array_compare_swap: %s is NULL",
                         compare == NULL ? "compare"
                         : value == NULL ? "value"
                                         : "previous");
  if (status != SF_OK)
    return status;
  sfshm_array_request_t request = {.kind = SFSHM_ARRAY_COMPARE_SWAP, .op = SFSHM_OP_REPLACE};
  request.operand = load_bits(array, value);
  request.compare = load_bits(array, compare);
  status = update(array, index, &request, __func__, &bits);
  if (status == SF_OK)
    memcpy(previous, &bits, array->shape.unit_bytes);
  return status;
}

sf_status_t sf_array_read_inc(sf_array_t *array, const int64_t index[], int64_t increment, int64_t *previous_p)
{
  uint64_t bits;
  sf_status_t status = sfc_array_check(array, __func__);
  if (status == SF_OK && previous_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "sf_array_read_inc: previous_p is NULL");
  if (status != SF_OK)
    return status;
  sfshm_array_request_t request = {.kind = SFSHM_ARRAY_FETCH_OP, .op = SFSHM_OP_SUM, .operand = (uint64_t)increment};
  status = update(array, index, &request, __func__, &bits);
  if (status == SF_OK)
    *previous_p = array->shape.base == SFSHM_BASE_INT32    ? (int32_t)bits
                  : array->shape.base == SFSHM_BASE_UINT32 ? (uint32_t)bits
                                                           : (int64_t)bits;
  return status;
}
