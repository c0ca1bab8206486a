/* Checking and carrying out requests: see apply.h. */
#include "daemon/onesided/apply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shm/array/accumulate.h"
#include "shm/array/transfer.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

/* Cost of an element, in addition to its bytes: measured roughly, strided copies and uncontended updates. */
#define COST_OF_MOVE 4
#define COST_OF_ACC 32
#define COST_OF_LIST 64 /* a cache miss */

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

static sf_status_t check_patch(const sfd_array_t *array, const sfshm_array_request_t *request,
                               sfd_array_needs_t *needs_p)
{
  const sfshm_array_t *shape = &array->shape;
  sfshm_array_box_t box;
  int64_t count = 0;
  for (int32_t d = 0; d < shape->ndims; d++)
    if (request->extent[d] < 1 || request->extent[d] > shape->dims[d].extent || request->first[d] < 0 ||
        request->first[d] > shape->dims[d].extent - request->extent[d])
      return sfshm_error(SF_ERR_PROTO,
                         "%" PRId64 " indices from %" PRId64 " on of dimension %d; 0 to %" PRId64 " are there",
                         request->extent[d], request->first[d], d, shape->dims[d].extent - 1);
  for (int32_t i = 0; i < array->nparts; i++)
    if (sfshm_array_box(shape, array->parts[i].rank, request->first, request->extent, &box))
      count += sfshm_array_count(shape->ndims, box.extent);
  if (count < 1 || count > SFSHM_ARRAY_MAX_PATCH || (uint64_t)count * shape->unit_bytes > SFSHM_ARRAY_MAX_DATA)
    return sfshm_error(SF_ERR_PROTO, "patch with %" PRId64 " elements here", count);
  uint64_t bytes = (uint64_t)count * shape->unit_bytes;
  needs_p->data_bytes = request->kind == SFSHM_ARRAY_PATCH_GET ? 0 : bytes;
  needs_p->returned_bytes = request->kind == SFSHM_ARRAY_PATCH_GET ? bytes : 0;
  needs_p->cost = (int64_t)bytes + count * (request->kind == SFSHM_ARRAY_PATCH_ACC ? COST_OF_ACC : COST_OF_MOVE);
  return SF_OK;
}

static sf_status_t check_list(const sfd_array_t *array, const sfshm_array_request_t *request,
                              sfd_array_needs_t *needs_p)
{
  int64_t n = request->extent[0];
  if (n < 1 || n > SFSHM_ARRAY_MAX_LIST)
    return sfshm_error(SF_ERR_PROTO, "list of %" PRId64 " elements", n);
  uint64_t values = (uint64_t)n * array->shape.unit_bytes;
  needs_p->data_bytes = (uint64_t)n * sizeof(uint64_t) + (request->kind == SFSHM_ARRAY_LIST_GET ? 0 : values);
  needs_p->returned_bytes = request->kind == SFSHM_ARRAY_LIST_GET ? values : 0;
  needs_p->cost = n * COST_OF_LIST;
  return SF_OK;
}

/* Address of an element; NULL: the element is not on this node. */
static char *find_element(const sfd_array_t *array, const int64_t index[])
{
  int64_t element;
  for (int32_t d = 0; d < array->shape.ndims; d++)
    if (index[d] < 0 || index[d] >= array->shape.dims[d].extent)
      return NULL;
  int32_t owner = sfshm_array_owner(&array->shape, index, &element);
  const sfd_array_part_t *part =
      bsearch(&owner, array->parts, (size_t)array->nparts, sizeof array->parts[0], sfshm_compare_int32);
  return part != NULL ? part->data + element * array->shape.unit_bytes : NULL;
}

static sf_status_t check_atomic(const sfd_array_t *array, const sfshm_array_request_t *request,
                                sfd_array_needs_t *needs_p)
{
  uint32_t op = request->kind == SFSHM_ARRAY_FETCH_OP ? request->op : SFSHM_OP_REPLACE;
  if (op >= SFSHM_OP_COUNT || !sfshm_array_fetch_applies((sfshm_op_t)op, array->shape.base))
    return sfshm_error(SF_ERR_PROTO, "op %u is not defined for %s", op, sfshm_base_name(array->shape.base));
  if (find_element(array, request->first) == NULL)
    return sfshm_error(SF_ERR_PROTO, "element that is not here");
  *needs_p = (sfd_array_needs_t){.returned_bytes = sizeof(uint64_t), .cost = COST_OF_ACC};
  return SF_OK;
}

sf_status_t sfd_array_check(const sfd_array_t *array, const sfshm_array_request_t *request, sfd_array_needs_t *needs_p)
{
  *needs_p = (sfd_array_needs_t){0};
  bool acc = request->kind == SFSHM_ARRAY_PATCH_ACC || request->kind == SFSHM_ARRAY_LIST_ACC;
  if (acc && sfshm_array_arithmetic[array->shape.base].accumulate == NULL)
    return sfshm_error(SF_ERR_PROTO, "acc is not defined for %s", sfshm_base_name(array->shape.base));
  switch (request->kind) {
  case SFSHM_ARRAY_PATCH_PUT:
  case SFSHM_ARRAY_PATCH_GET:
  case SFSHM_ARRAY_PATCH_ACC:
    return check_patch(array, request, needs_p);
  case SFSHM_ARRAY_LIST_PUT:
  case SFSHM_ARRAY_LIST_GET:
  case SFSHM_ARRAY_LIST_ACC:
    return check_list(array, request, needs_p);
  case SFSHM_ARRAY_FETCH_OP:
  case SFSHM_ARRAY_COMPARE_SWAP:
    return check_atomic(array, request, needs_p);
  default:
    return sfshm_error(SF_ERR_PROTO, "request of kind %u", request->kind);
  }
}

/* ---- Patches ----------------------------------------------------------------------------------------------------- */

static sfshm_array_row_t *choose_row(const sfd_array_t *array, uint32_t kind)
{
  switch (kind) {
  case SFSHM_ARRAY_PATCH_GET:
  case SFSHM_ARRAY_LIST_GET:
    return sfshm_array_get_row(array->shape.unit_bytes);
  case SFSHM_ARRAY_PATCH_PUT:
  case SFSHM_ARRAY_LIST_PUT:
    return sfshm_array_put_row(array->shape.unit_bytes);
  default:
    return sfshm_array_arithmetic[array->shape.base].accumulate;
  }
}

static void move_patch(const sfd_array_t *array, const sfshm_array_request_t *request, char *buffer)
{
  sfshm_array_row_t *row = choose_row(array, request->kind);
  sfshm_array_box_t box;
  for (int32_t i = 0; i < array->nparts; i++) {
    const sfd_array_part_t *part = &array->parts[i];
    if (!sfshm_array_box(&array->shape, part->rank, request->first, request->extent, &box))
      continue;
    sfshm_array_move(&array->shape, &box, part->data, buffer, NULL, row, NULL);
    buffer += sfshm_array_count(array->shape.ndims, box.extent) * array->shape.unit_bytes;
  }
}

/* Whether the box is contiguous: in all dimensions behind the first with more than one index it has all indices of the
 * part. *first_p: its first element. */
static bool is_run(const sfshm_array_box_t *box, int32_t ndims, int64_t *first_p)
{
  bool wide = false, run = true;
  int64_t first = 0;
  for (int32_t d = 0; d < ndims; d++) {
    run &= !wide || box->extent[d] == box->part[d];
    wide |= box->extent[d] > 1;
    first = first * box->part[d] + box->first[d];
  }
  *first_p = first;
  return run;
}

char *sfd_array_find_run(const sfd_array_t *array, const sfshm_array_request_t *request)
{
  char *run = NULL;
  for (int32_t i = 0; i < array->nparts; i++) {
    sfshm_array_box_t box;
    int64_t first;
    if (!sfshm_array_box(&array->shape, array->parts[i].rank, request->first, request->extent, &box))
      continue;
    if (run != NULL || !is_run(&box, array->shape.ndims, &first))
      return NULL;
    run = array->parts[i].data + first * array->shape.unit_bytes;
  }
  return run;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* Element at a position, counted over all parts of this node; NULL: this node has fewer elements. */
static char *find_place(const sfd_array_t *array, uint64_t place)
{
  for (int32_t i = 0; i < array->nparts; i++) {
    uint64_t count = (uint64_t)array->parts[i].count;
    if (place < count)
      return array->parts[i].data + place * array->shape.unit_bytes;
    place -= count;
  }
  return NULL;
}

static sf_status_t move_list(const sfd_array_t *array, const sfshm_array_request_t *request, const char *data,
                             char *returned)
{
  sfshm_array_row_t *row = choose_row(array, request->kind);
  int64_t n = request->extent[0], unit = array->shape.unit_bytes;
  char *values = request->kind == SFSHM_ARRAY_LIST_GET ? returned : (char *)(uintptr_t)data + n * 8;
  for (int64_t i = 0; i < n; i++) {
    uint64_t place;
    memcpy(&place, data + i * 8, sizeof place);
    char *element = find_place(array, place);
    if (element == NULL)
      return sfshm_error(SF_ERR_PROTO, "place %" PRIu64 " of a list is not here", place);
    row(element, values + i * unit, 1, 1, NULL);
  }
  return SF_OK;
}

sf_status_t sfd_array_apply(const sfd_array_t *array, const sfshm_array_request_t *request, const char *data,
                            char *returned)
{
  uint64_t bits;
  switch (request->kind) {
  case SFSHM_ARRAY_PATCH_GET:
    move_patch(array, request, returned);
    return SF_OK;
  case SFSHM_ARRAY_PATCH_PUT:
  case SFSHM_ARRAY_PATCH_ACC:
    move_patch(array, request, (char *)(uintptr_t)data); /* a put or acc only reads the buffer */
    return SF_OK;
  case SFSHM_ARRAY_FETCH_OP:
    bits = sfshm_array_fetch_op((sfshm_op_t)request->op, array->shape.base, find_element(array, request->first),
                                request->operand);
    break;
  case SFSHM_ARRAY_COMPARE_SWAP:
    bits = sfshm_array_compare_swap(array->shape.base, find_element(array, request->first), request->compare,
                                    request->operand);
    break;
  default:
    return move_list(array, request, data, returned);
  }
  memcpy(returned, &bits, sizeof bits);
  return SF_OK;
}
