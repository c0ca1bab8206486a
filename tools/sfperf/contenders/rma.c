/* Calls the library, MPI and memcpy. Runs in each rank's only thread. */
#include "tools/sfperf/contenders/rma.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/contenders/limits.h"
#include "tools/sfperf/fail.h"

enum { TARGET = 1, PAGE = 4096 };

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* A patch of one row is in an array of one dimension: lo and extent then are the last elements of these. */
typedef struct array {
  sfperf_patch_t *patch;
  sf_array_t *values;
  sf_array_t *counter;
  int64_t lo[2];
  int64_t extent[2];
  int first; /* dimension of the two that the array has first */
} array_t;

static void *array_create(sfperf_patch_t *patch)
{
  array_t *array = sfperf_malloc(sizeof *array);
  const bool one_row = patch->rows == 1;
  const int64_t shape[] = {2 * patch->rows, one_row ? 2 * patch->width : patch->width}, counters[] = {2};
  const sf_array_distribution_t halves = {.grid = {2, 1}};
  *array = (array_t){
      .patch = patch,
      .lo = {patch->rows, one_row ? patch->width : 0},
      .extent = {patch->rows, patch->columns},
      .first = one_row ? 1 : 0,
  };
  sf_group_t *world = sf_group_world(patch->context);
  sfperf_call(sf_array_create, world, SF_DOUBLE, 2 - array->first, shape + array->first, &halves, &array->values);
  sfperf_call(sf_array_create, world, SF_INT64, 1, counters, &halves, &array->counter);
  return array;
}

static void array_put(void *opaque)
{
  const array_t *array = opaque;
  sfperf_call(sf_array_put, array->values, array->lo + array->first, array->extent + array->first, array->patch->values,
              NULL);
  sfperf_call(sf_array_flush, array->values, TARGET);
}

static void array_get(void *opaque)
{
  const array_t *array = opaque;
  sfperf_call(sf_array_get, array->values, array->lo + array->first, array->extent + array->first, array->patch->result,
              NULL);
}

static void array_acc(void *opaque)
{
  const array_t *array = opaque;
  sfperf_call(sf_array_acc, array->values, array->lo + array->first, array->extent + array->first, array->patch->values,
              NULL, NULL);
  sfperf_call(sf_array_flush, array->values, TARGET);
}

static void array_read_inc(void *opaque)
{
  const array_t *array = opaque;
  const int64_t index[] = {1};
  sfperf_call(sf_array_read_inc, array->counter, index, 1, &array->patch->previous);
}

static const double *array_local(void *opaque)
{
  const array_t *array = opaque;
  sf_array_part_t part;
  void *data;
  sfperf_call(sf_array_local, array->values, &part, &data);
  return data;
}

static void array_destroy(void *opaque)
{
  array_t *array = opaque;
  sfperf_call(sf_array_destroy, array->values);
  sfperf_call(sf_array_destroy, array->counter);
  free(array);
}

const sfperf_rma_method_t sfperf_rma_array = {
    .name = "sf_array",
    .create = array_create,
    .operations = {array_put, array_get, array_acc, array_read_inc},
    .local = array_local,
    .destroy = array_destroy,
};

/* ---- MPI --------------------------------------------------------------------------------------------------------- */

typedef struct windows {
  sfperf_patch_t *patch;
  MPI_Win values;
  MPI_Win counter;
  double *memory;   /* of the values, on a page of its own like that of the other contenders */
  MPI_Aint skipped; /* doubles before it in the target's window */
  MPI_Aint skipped_to_counter;
  int count; /* doubles in the patch */
  MPI_Datatype type;
  int ntypes; /* at the target */
} windows_t;

/* The length is of whole pages: of others MPICH 4.0.2 puts values beside the window. */
static double *window_create(int64_t nelements, MPI_Win *window_p, MPI_Aint *skipped_p)
{
  char *memory;
  MPI_Aint len = ((MPI_Aint)nelements * 8 + 2 * PAGE - 1) / PAGE * PAGE;
  MPI_Win_allocate(len, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, window_p);
  memset(memory, 0, (size_t)len);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, *window_p);
  MPI_Win_sync(*window_p);
  size_t skipped = -(uintptr_t)memory % PAGE;
  *skipped_p = (MPI_Aint)skipped / 8;
  MPI_Bcast(skipped_p, 1, MPI_AINT, TARGET, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  return (double *)(void *)(memory + skipped);
}

static void *mpi_create(sfperf_patch_t *patch)
{
  windows_t *windows = sfperf_malloc(sizeof *windows);
  *windows = (windows_t){.patch = patch, .count = (int)(patch->rows * patch->columns), .type = MPI_DOUBLE};
  windows->ntypes = windows->count;
  if (patch->rows > 1) {
    MPI_Type_vector((int)patch->rows, (int)patch->columns, (int)patch->width, MPI_DOUBLE, &windows->type);
    MPI_Type_commit(&windows->type);
    windows->ntypes = 1;
  }
  windows->memory = window_create(patch->rows * patch->width, &windows->values, &windows->skipped);
  (void)window_create(1, &windows->counter, &windows->skipped_to_counter);
  return windows;
}

static void mpi_put(void *opaque)
{
  const windows_t *windows = opaque;
  MPI_Put(windows->patch->values, windows->count, MPI_DOUBLE, TARGET, windows->skipped, windows->ntypes, windows->type,
          windows->values);
  MPI_Win_flush(TARGET, windows->values);
}

static void mpi_get(void *opaque)
{
  const windows_t *windows = opaque;
  MPI_Get(windows->patch->result, windows->count, MPI_DOUBLE, TARGET, windows->skipped, windows->ntypes, windows->type,
          windows->values);
  MPI_Win_flush(TARGET, windows->values);
}

static void mpi_acc(void *opaque)
{
  const windows_t *windows = opaque;
  MPI_Accumulate(windows->patch->values, windows->count, MPI_DOUBLE, TARGET, windows->skipped, windows->ntypes,
                 windows->type, MPI_SUM, windows->values);
  MPI_Win_flush(TARGET, windows->values);
}

static void mpi_read_inc(void *opaque)
{
  const windows_t *windows = opaque;
  const int64_t one = 1;
  MPI_Fetch_and_op(&one, &windows->patch->previous, MPI_INT64_T, TARGET, windows->skipped_to_counter, MPI_SUM,
                   windows->counter);
  MPI_Win_flush(TARGET, windows->counter);
}

static const double *mpi_local(void *opaque)
{
  const windows_t *windows = opaque;
  MPI_Win_sync(windows->values);
  return windows->memory;
}

static void mpi_destroy(void *opaque)
{
  windows_t *windows = opaque;
  MPI_Win_unlock_all(windows->values);
  MPI_Win_unlock_all(windows->counter);
  MPI_Win_free(&windows->values);
  MPI_Win_free(&windows->counter);
  if (windows->type != MPI_DOUBLE)
    MPI_Type_free(&windows->type);
  free(windows);
}

const sfperf_rma_method_t sfperf_rma_mpi = {
    .name = "mpi",
    .create = mpi_create,
    .operations = {mpi_put, mpi_get, mpi_acc, mpi_read_inc},
    .local = mpi_local,
    .destroy = mpi_destroy,
};

/* ---- memcpy ------------------------------------------------------------------------------------------------------ */

typedef struct shared {
  const sfperf_patch_t *patch;
  sfperf_limits_t limits;
  double *memory; /* of rank 1 */
} shared_t;

static void *memcpy_create(sfperf_patch_t *patch)
{
  shared_t *shared = sfperf_malloc(sizeof *shared);
  shared->patch = patch;
  sfperf_limits_init(&shared->limits, patch->rank, patch->rows * patch->width * 8);
  shared->memory = (double *)(void *)sfperf_limits_data(&shared->limits, TARGET);
  return shared;
}

static void memcpy_put(void *opaque)
{
  const shared_t *shared = opaque;
  const sfperf_patch_t *patch = shared->patch;
  for (int64_t row = 0; row < patch->rows; row++)
    memcpy(shared->memory + row * patch->width, patch->values + row * patch->columns, (size_t)patch->columns * 8);
}

static void memcpy_get(void *opaque)
{
  const shared_t *shared = opaque;
  const sfperf_patch_t *patch = shared->patch;
  for (int64_t row = 0; row < patch->rows; row++)
    memcpy(patch->result + row * patch->columns, shared->memory + row * patch->width, (size_t)patch->columns * 8);
}

static const double *memcpy_local(void *opaque)
{
  const shared_t *shared = opaque;
  return shared->memory;
}

static void memcpy_destroy(void *opaque)
{
  shared_t *shared = opaque;
  sfperf_limits_free(&shared->limits);
  free(shared);
}

const sfperf_rma_method_t sfperf_rma_memcpy = {
    .name = "memcpy",
    .create = memcpy_create,
    .operations = {[SFPERF_RMA_PUT] = memcpy_put, [SFPERF_RMA_GET] = memcpy_get},
    .local = memcpy_local,
    .destroy = memcpy_destroy,
};
