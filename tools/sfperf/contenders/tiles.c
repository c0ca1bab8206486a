/* Calls the library and MPI. Runs in each rank's only thread. */
#include "tools/sfperf/contenders/tiles.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/fail.h"

enum { EXIT_USAGE = 2 };

void sfperf_tiles_init(sfperf_tiles_t *tiles, sf_context_t *context, int64_t extent, int64_t ntasks, bool in_blocks)
{
  int64_t across = 1;
  *tiles = (sfperf_tiles_t){
      .context = context, .rank = sf_rank(context), .size = sf_size(context), .in_blocks = in_blocks, .extent = extent};
  for (int n = 1; n * n <= tiles->size; n++)
    tiles->grid[0] = tiles->size % n == 0 ? n : tiles->grid[0];
  tiles->grid[1] = tiles->size / tiles->grid[0];
  while ((across + 1) * (across + 1) <= ntasks)
    across++;
  tiles->edge = extent / across;
  bool fits = across * across == ntasks && tiles->edge * across == extent && tiles->edge > 0;
  for (int d = 0; d < 2; d++)
    fits = fits && (in_blocks ? across : tiles->edge) % tiles->grid[d] == 0;
  if (!fits)
    sfperf_fail_all(EXIT_USAGE,
                    "%lld tasks on %d x %d ranks: square tiles of %lld x %lld elements expected, %s of each rank",
                    (long long)ntasks, tiles->grid[0], tiles->grid[1], (long long)extent, (long long)extent,
                    in_blocks ? "as many" : "with as many elements");
  size_t bytes = (size_t)(tiles->edge * tiles->edge) * sizeof(double);
  tiles->values = sfperf_malloc(bytes);
  tiles->result = sfperf_malloc(bytes);
}

void sfperf_tiles_free(sfperf_tiles_t *tiles)
{
  free(tiles->values);
  free(tiles->result);
}

/* First row and column of a tile. */
static void find_tile(const sfperf_tiles_t *tiles, int64_t number, int64_t lo[2])
{
  int64_t across = tiles->extent / tiles->edge;
  lo[0] = number / across * tiles->edge;
  lo[1] = number % across * tiles->edge;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

typedef struct array {
  const sfperf_tiles_t *tiles;
  sf_array_t *matrix;
  sf_array_t *counter;
} array_t;

static void *array_create(const sfperf_tiles_t *tiles)
{
  array_t *array = sfperf_malloc(sizeof *array);
  const int64_t extent[] = {tiles->extent, tiles->extent}, one = 1;
  const int64_t block = tiles->in_blocks ? 0 : 1;
  const sf_array_distribution_t distribution = {.grid = {tiles->grid[0], tiles->grid[1]}, .block = {block, block}};
  sf_group_t *world = sf_group_world(tiles->context);
  array->tiles = tiles;
  sfperf_check(sf_array_create(world, SF_DOUBLE, 2, extent, &distribution, &array->matrix), "sf_array_create");
  sfperf_check(sf_array_create(world, SF_INT64, 1, &one, NULL, &array->counter), "sf_array_create");
  return array;
}

static int64_t array_draw(void *opaque)
{
  const array_t *array = opaque;
  const int64_t index = 0;
  int64_t number;
  sfperf_check(sf_array_read_inc(array->counter, &index, 1, &number), "sf_array_read_inc");
  return number;
}

static void array_acc(void *opaque, int64_t number)
{
  const array_t *array = opaque;
  const int64_t extent[] = {array->tiles->edge, array->tiles->edge};
  int64_t lo[2];
  find_tile(array->tiles, number, lo);
  sfperf_check(sf_array_acc(array->matrix, lo, extent, array->tiles->values, NULL, NULL), "sf_array_acc");
}

static void array_get(void *opaque, int64_t number)
{
  const array_t *array = opaque;
  const int64_t extent[] = {array->tiles->edge, array->tiles->edge};
  int64_t lo[2];
  find_tile(array->tiles, number, lo);
  sfperf_check(sf_array_get(array->matrix, lo, extent, array->tiles->result, NULL), "sf_array_get");
}

static void array_sync(void *opaque)
{
  const array_t *array = opaque;
  sfperf_check(sf_array_sync(array->matrix), "sf_array_sync");
}

static void array_destroy(void *opaque)
{
  array_t *array = opaque;
  sfperf_check(sf_array_destroy(array->counter), "sf_array_destroy");
  sfperf_check(sf_array_destroy(array->matrix), "sf_array_destroy");
  free(array);
}

const sfperf_tiles_method_t sfperf_tiles_array = {
    .name = "sf_array",
    .create = array_create,
    .draw = array_draw,
    .acc = array_acc,
    .get = array_get,
    .sync = array_sync,
    .destroy = array_destroy,
};

/* ---- MPI --------------------------------------------------------------------------------------------------------- */

typedef struct windows {
  const sfperf_tiles_t *tiles;
  MPI_Win matrix;
  MPI_Win counter;     /* of rank 0 */
  MPI_Datatype origin; /* the elements of one rank, in a tile */
  MPI_Datatype target; /* the same, in the rank's memory */
} windows_t;

static MPI_Win window_create(int64_t nelements)
{
  void *memory;
  MPI_Win window;
  MPI_Win_allocate((MPI_Aint)nelements * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, (size_t)nelements * 8);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  return window;
}

static void *mpi_create(const sfperf_tiles_t *tiles)
{
  windows_t *windows = sfperf_malloc(sizeof *windows);
  const int grid[] = {tiles->in_blocks ? 1 : tiles->grid[0], tiles->in_blocks ? 1 : tiles->grid[1]};
  const int64_t rows = tiles->edge / grid[0], columns = tiles->edge / grid[1];
  MPI_Datatype row;
  windows->tiles = tiles;
  windows->matrix = window_create(tiles->extent / tiles->grid[0] * (tiles->extent / tiles->grid[1]));
  windows->counter = window_create(512); /* a page: see rma.c */
  MPI_Type_vector((int)columns, 1, grid[1], MPI_DOUBLE, &row);
  MPI_Type_create_hvector((int)rows, 1, (MPI_Aint)tiles->edge * grid[0] * 8, row, &windows->origin);
  MPI_Type_vector((int)rows, (int)columns, (int)(tiles->extent / tiles->grid[1]), MPI_DOUBLE, &windows->target);
  MPI_Type_commit(&windows->origin);
  MPI_Type_commit(&windows->target);
  MPI_Type_free(&row);
  return windows;
}

static int64_t mpi_draw(void *opaque)
{
  const windows_t *windows = opaque;
  const int64_t one = 1;
  int64_t number;
  MPI_Fetch_and_op(&one, &number, MPI_INT64_T, 0, 0, MPI_SUM, windows->counter);
  MPI_Win_flush(0, windows->counter);
  return number;
}

/* Accesses the elements of one rank: in the tile from first on, in the rank's memory from element (row, column) on. */
static void mpi_access_rank(const windows_t *windows, int owner, int64_t first, int64_t row, int64_t column,
                            bool is_get)
{
  const sfperf_tiles_t *tiles = windows->tiles;
  MPI_Aint at = row * (tiles->extent / tiles->grid[1]) + column;
  if (is_get)
    MPI_Get(tiles->result + first, 1, windows->origin, owner, at, 1, windows->target, windows->matrix);
  else
    MPI_Accumulate(tiles->values + first, 1, windows->origin, owner, at, 1, windows->target, MPI_SUM, windows->matrix);
}

/* Accesses the elements of each rank, beginning with this one: ranks do not all begin with the same. */
static void mpi_access(const windows_t *windows, int64_t number, bool is_get)
{
  const sfperf_tiles_t *tiles = windows->tiles;
  const int64_t rows = tiles->extent / tiles->grid[0], columns = tiles->extent / tiles->grid[1];
  int64_t lo[2];
  find_tile(tiles, number, lo);
  for (int k = 0; !tiles->in_blocks && k < tiles->size; k++) {
    int owner = (tiles->rank + k) % tiles->size, row = owner / tiles->grid[1], column = owner % tiles->grid[1];
    mpi_access_rank(windows, owner, row * tiles->edge + column, lo[0] / tiles->grid[0], lo[1] / tiles->grid[1], is_get);
  }
  if (tiles->in_blocks) {
    int owner = (int)(lo[0] / rows * tiles->grid[1] + lo[1] / columns);
    mpi_access_rank(windows, owner, 0, lo[0] % rows, lo[1] % columns, is_get);
  }
  MPI_Win_flush_local_all(windows->matrix);
}

static void mpi_acc(void *opaque, int64_t number)
{
  mpi_access(opaque, number, false);
}

static void mpi_get(void *opaque, int64_t number)
{
  mpi_access(opaque, number, true);
}

static void mpi_sync(void *opaque)
{
  const windows_t *windows = opaque;
  MPI_Win_flush_all(windows->matrix);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(windows->matrix);
}

static void mpi_destroy(void *opaque)
{
  windows_t *windows = opaque;
  MPI_Win_unlock_all(windows->matrix);
  MPI_Win_unlock_all(windows->counter);
  MPI_Win_free(&windows->matrix);
  MPI_Win_free(&windows->counter);
  MPI_Type_free(&windows->origin);
  MPI_Type_free(&windows->target);
  free(windows);
}

const sfperf_tiles_method_t sfperf_tiles_mpi = {
    .name = "mpi",
    .create = mpi_create,
    .draw = mpi_draw,
    .acc = mpi_acc,
    .get = mpi_get,
    .sync = mpi_sync,
    .destroy = mpi_destroy,
};
