/* Fuzz target: a daemon refuses whatever request on an array another daemon sends, or carries it out within the parts
 * of the array on its node. Built with libFuzzer, or with SFTEST_STANDALONE as an ordinary program that makes up its
 * inputs.
 *
 * An input is a byte that chooses the array, a request, and its data. Bytes that are missing are 0. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/onesided/apply.h"
#include "shm/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARGIN 64 /* bytes on both sides of a part, which nothing changes */
#define MARK 0x5a
#define RANKS_HERE 3

static void require(bool condition, const char *what)
{
  if (condition)
    return;
  fprintf(stderr, "fuzz_array_requests: %s: %s\n", what, sfshm_error_detail());
  abort();
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

static const int64_t uneven[] = {0, 7, 7, 20, 31};

/* Of 8 ranks, of which 1, 4 and 6 are here. */
static const sfshm_array_t shapes[] = {
    {.ndims = 1, .base = SFSHM_BASE_INT64, .dims = {{.extent = 1000, .block = 125, .procs = 8}}},
    {.ndims = 2,
     .base = SFSHM_BASE_DOUBLE,
     .dims = {{.extent = 600, .block = 1, .procs = 2}, {.extent = 700, .block = 1, .procs = 4}}},
    {.ndims = 2,
     .base = SFSHM_BASE_INT32,
     .dims = {{.extent = 31, .procs = 4, .bounds = uneven}, {.extent = 50, .block = 7, .procs = 2}}},
    {.ndims = 3,
     .base = SFSHM_BASE_DOUBLE_COMPLEX,
     .dims = {{.extent = 9, .block = 2, .procs = 2},
              {.extent = 11, .block = 6, .procs = 2},
              {.extent = 10, .block = 5, .procs = 2}}},
    {.ndims = 4,
     .base = SFSHM_BASE_INT8,
     .dims = {{.extent = 5, .block = 1, .procs = 4},
              {.extent = 6, .block = 3, .procs = 2},
              {.extent = 4, .block = 4, .procs = 1},
              {.extent = 9, .block = 9, .procs = 1}}},
};
enum { NSHAPES = sizeof shapes / sizeof shapes[0] };

static size_t part_bytes(const sfd_array_t *array, int32_t i)
{
  return (size_t)array->parts[i].count * array->shape.unit_bytes;
}

static sfd_array_t *make_array(const sfshm_array_t *shape)
{
  static const int32_t ranks[RANKS_HERE] = {1, 4, 6};
  sfd_array_t *array = calloc(1, sizeof *array + RANKS_HERE * sizeof array->parts[0]);
  require(array != NULL, "no memory");
  array->shape = *shape;
  require(sfshm_array_check(&array->shape) == SF_OK, "a shape");
  array->nparts = array->nmapped = RANKS_HERE;
  for (int32_t i = 0; i < RANKS_HERE; i++) {
    int64_t extents[SFSHM_ARRAY_DIMS];
    array->parts[i].rank = ranks[i];
    array->parts[i].count = sfshm_array_part(&array->shape, ranks[i], extents);
    char *memory = aligned_alloc(MARGIN, (part_bytes(array, i) + 3 * MARGIN - 1) / MARGIN * MARGIN);
    require(memory != NULL, "no memory");
    memset(memory, MARK, part_bytes(array, i) + 2 * MARGIN);
    array->parts[i].data = memory + MARGIN;
    memset(array->parts[i].data, 0, part_bytes(array, i));
  }
  return array;
}

static void check_and_free(sfd_array_t *array)
{
  for (int32_t i = 0; i < array->nparts; i++) {
    const char *data = array->parts[i].data, *before = data - MARGIN;
    for (size_t at = 0; at < MARGIN; at++)
      require(before[at] == MARK && data[part_bytes(array, i) + at] == MARK, "a part's neighbours changed");
    free(array->parts[i].data - MARGIN);
  }
  free(array);
}

/* Elements of a patch that lie in a row are within one part. */
static void check_run(const sfd_array_t *array, const sfshm_array_request_t *request, uint64_t bytes)
{
  const char *run = sfd_array_find_run(array, request);
  bool within = run == NULL;
  for (int32_t i = 0; i < array->nparts; i++)
    within |= run >= array->parts[i].data && run + bytes <= array->parts[i].data + part_bytes(array, i);
  require(within, "a run beyond the parts");
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* What has been put is got. */
static void get_back(const sfd_array_t *array, const sfshm_array_request_t *put, const char *data, size_t bytes)
{
  sfshm_array_request_t get = *put;
  sfd_array_needs_t needs;
  get.kind = SFSHM_ARRAY_PATCH_GET;
  require(sfd_array_check(array, &get, &needs) == SF_OK && needs.returned_bytes == bytes, "a get like a put");
  char *values = malloc(bytes);
  require(values != NULL, "no memory");
  require(sfd_array_apply(array, &get, NULL, values) == SF_OK, "a get");
  require(memcmp(values, data, bytes) == 0, "other values than those that were put");
  free(values);
}

/* data and result have the sizes that the check demands, so that a sanitizer sees accesses beyond them. */
static void carry_out(const sfd_array_t *array, const sfshm_array_request_t *request, const sfd_array_needs_t *needs,
                      const uint8_t *from, size_t size)
{
  char *data = calloc(1, needs->data_bytes + 1), *returned = malloc(needs->returned_bytes + 1);
  require(data != NULL && returned != NULL, "no memory");
  memcpy(data, from, size < needs->data_bytes ? size : needs->data_bytes);
  bool is_patch = request->kind <= SFSHM_ARRAY_PATCH_ACC, is_list = !is_patch && request->kind <= SFSHM_ARRAY_LIST_ACC;
  if (is_patch)
    check_run(array, request, needs->data_bytes + needs->returned_bytes);
  sf_status_t status = sfd_array_apply(array, request, data, returned);
  require(status == SF_OK || (is_list && status == SF_ERR_PROTO), "a request that was checked");
  if (request->kind == SFSHM_ARRAY_PATCH_PUT)
    get_back(array, request, data, needs->data_bytes);
  free(data);
  free(returned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  sfshm_array_request_t request = {.kind = 0};
  sfd_array_needs_t needs;
  if (size == 0)
    return 0;
  sfd_array_t *array = make_array(&shapes[data[0] % NSHAPES]);
  size_t bytes = size - 1 < sizeof request ? size - 1 : sizeof request;
  memcpy(&request, data + 1, bytes);
  sf_status_t status = sfd_array_check(array, &request, &needs);
  require(status == SF_OK || status == SF_ERR_PROTO, "unexpected status");
  if (status == SF_OK) {
    require(needs.data_bytes <= SFSHM_ARRAY_MAX_DATA && needs.returned_bytes <= SFSHM_ARRAY_MAX_DATA && needs.cost > 0,
            "needs beyond the limits");
    carry_out(array, &request, &needs, data + 1 + bytes, size - 1 - bytes);
  }
  check_and_free(array);
  return 0;
}

#ifdef SFTEST_STANDALONE

#include "tests/fuzz/made.h"

#define ROUNDS 10000u

/* An index of the dimension, or one that is not. */
static int64_t make_index(int64_t extent)
{
  static const int64_t others[] = {INT64_MIN, -1, INT64_MAX - 1, INT64_MAX, INT64_C(1) << 32};
  unsigned choice = below(60);
  return choice < 5 ? others[choice] : choice == 5 ? extent : (int64_t)below((unsigned)extent);
}

static void make_input(sftest_made_t *input)
{
  sfshm_array_request_t request = {.kind = below(SFSHM_ARRAY_KINDS), .op = below(SFSHM_OP_COUNT)};
  input->bytes[0] = (uint8_t)below(NSHAPES);
  const sfshm_array_t *shape = &shapes[input->bytes[0]];
  for (int32_t d = 0; d < shape->ndims; d++) {
    request.first[d] = make_index(shape->dims[d].extent);
    bool within = request.first[d] >= 0 && request.first[d] < shape->dims[d].extent && below(8) != 0;
    request.extent[d] =
        within ? 1 + below((unsigned)(shape->dims[d].extent - request.first[d])) : make_index(shape->dims[d].extent);
  }
  request.operand = below(100);
  memcpy(input->bytes + 1, &request, sizeof request);
  input->size = 1 + sizeof request + below(40) * sizeof(uint64_t);
  for (size_t at = 1 + sizeof request; at < input->size; at += sizeof(uint64_t)) { /* places of a list */
    uint64_t place = below(20) == 0 ? UINT64_MAX - below(9) : below(400);
    memcpy(input->bytes + at, &place, sizeof place);
  }
  if (below(5) == 0) {
    size_t behind = input->size - 1;
    spoil_bytes(input->bytes + 1, &behind, behind);
    input->size = 1 + behind;
  }
}

int main(void)
{
  return run_rounds("fuzz_array_requests", ROUNDS, make_input);
}

#endif
