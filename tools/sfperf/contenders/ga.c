/* Calls Global Arrays. Runs in each rank's only thread. */
#include "tools/sfperf/contenders/ga.h"

#ifdef SFPERF_WITH_GA

#include <mpi.h>
/* ga.h needs mpi.h. */
#include <ga.h>
#include <macdecls.h>
#include <stdlib.h>

#include "tools/sfperf/fail.h"

enum { TARGET = 1 };

const char *const sfperf_ga_note = NULL;

void sfperf_ga_start(void)
{
#ifdef MPICH_VERSION
  setenv("ARMCI_USE_WIN_ALLOCATE", "0", 0); /* MPICH 4.0.2 puts values beside windows that it allocates */
#endif
  GA_Initialize();
}

void sfperf_ga_stop(void)
{
  GA_Terminate();
}

/* An array of zeros, in grid[0] x grid[1] blocks of the same size. */
static int create_blocks(int type, int ndims, int extent[], int grid[])
{
  int bounds[grid[0] + (ndims > 1 ? grid[1] : 0)], n = 0;
  for (int d = 0; d < ndims; d++)
    for (int i = 0; i < grid[d]; i++)
      bounds[n++] = extent[d] / grid[d] * i;
  int array = NGA_Create_irreg(type, ndims, extent, (char[]){"sfperf"}, grid, bounds);
  if (array == 0)
    sfperf_fail("NGA_Create_irreg: no array");
  GA_Zero(array);
  return array;
}

/* ---- Patches ----------------------------------------------------------------------------------------------------- */

/* A patch of one row is in an array of one dimension: lo and hi then are the last elements of these. */
typedef struct patch {
  sfperf_patch_t *patch;
  int values, counter;
  int lo[2], hi[2];
  int ld;
  int first; /* dimension of the two that the array has first */
} patch_t;

static void *patch_create(sfperf_patch_t *patch)
{
  patch_t *state = sfperf_malloc(sizeof *state);
  const int rows = (int)patch->rows, columns = (int)patch->columns, width = (int)patch->width, first = rows == 1;
  int shape[] = {2 * rows, first ? 2 * width : width}, counters = 2, halves[] = {2, 1};
  *state = (patch_t){.patch = patch, .lo = {rows, first ? width : 0}, .ld = columns, .first = first};
  state->hi[0] = 2 * rows - 1;
  state->hi[1] = state->lo[1] + columns - 1;
  state->values = create_blocks(C_DBL, 2 - first, shape + first, halves);
  state->counter = create_blocks(C_LONG, 1, &counters, halves);
  return state;
}

static void patch_put(void *opaque)
{
  patch_t *state = opaque;
  GA_Init_fence();
  NGA_Put(state->values, state->lo + state->first, state->hi + state->first, state->patch->values, &state->ld);
  GA_Fence();
}

static void patch_get(void *opaque)
{
  patch_t *state = opaque;
  NGA_Get(state->values, state->lo + state->first, state->hi + state->first, state->patch->result, &state->ld);
}

static void patch_acc(void *opaque)
{
  patch_t *state = opaque;
  double one = 1;
  GA_Init_fence();
  NGA_Acc(state->values, state->lo + state->first, state->hi + state->first, state->patch->values, &state->ld, &one);
  GA_Fence();
}

static void patch_read_inc(void *opaque)
{
  patch_t *state = opaque;
  int index = TARGET;
  state->patch->previous = NGA_Read_inc(state->counter, &index, 1);
}

static const double *patch_local(void *opaque)
{
  patch_t *state = opaque;
  int lo[2], hi[2], ld[2];
  void *data;
  NGA_Distribution(state->values, TARGET, lo, hi);
  NGA_Access(state->values, lo, hi, &data, ld);
  return data;
}

static void patch_destroy(void *opaque)
{
  patch_t *state = opaque;
  GA_Destroy(state->values);
  GA_Destroy(state->counter);
  free(state);
}

static const sfperf_rma_method_t rma = {
    .name = "ga",
    .create = patch_create,
    .operations = {patch_put, patch_get, patch_acc, patch_read_inc},
    .local = patch_local,
    .destroy = patch_destroy,
};
const sfperf_rma_method_t *const sfperf_rma_ga = &rma;

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

typedef struct tiles {
  const sfperf_tiles_t *tiles;
  int matrix, counter;
} tiles_t;

static void *tiles_create(const sfperf_tiles_t *tiles)
{
  tiles_t *state = sfperf_malloc(sizeof *state);
  int extent[] = {(int)tiles->extent, (int)tiles->extent}, grid[] = {tiles->grid[0], tiles->grid[1]}, one = 1;
  *state = (tiles_t){.tiles = tiles};
  state->matrix = create_blocks(C_DBL, 2, extent, grid);
  state->counter = create_blocks(C_LONG, 1, &one, (int[]){1});
  return state;
}

static int64_t tiles_draw(void *opaque)
{
  const tiles_t *state = opaque;
  int index = 0;
  return NGA_Read_inc(state->counter, &index, 1);
}

static void find_tile(const tiles_t *state, int64_t number, int lo[2], int hi[2])
{
  const int edge = (int)state->tiles->edge, across = (int)(state->tiles->extent / state->tiles->edge);
  const int at[] = {(int)(number / across), (int)(number % across)};
  for (int d = 0; d < 2; d++) {
    lo[d] = at[d] * edge;
    hi[d] = lo[d] + edge - 1;
  }
}

static void tiles_acc(void *opaque, int64_t number)
{
  const tiles_t *state = opaque;
  int lo[2], hi[2], ld = (int)state->tiles->edge;
  double one = 1;
  find_tile(state, number, lo, hi);
  NGA_Acc(state->matrix, lo, hi, state->tiles->values, &ld, &one);
}

static void tiles_get(void *opaque, int64_t number)
{
  const tiles_t *state = opaque;
  int lo[2], hi[2], ld = (int)state->tiles->edge;
  find_tile(state, number, lo, hi);
  NGA_Get(state->matrix, lo, hi, state->tiles->result, &ld);
}

static void tiles_sync(void *opaque)
{
  (void)opaque;
  GA_Sync();
}

static void tiles_destroy(void *opaque)
{
  tiles_t *state = opaque;
  GA_Destroy(state->matrix);
  GA_Destroy(state->counter);
  free(state);
}

static const sfperf_tiles_method_t tiles = {
    .name = "ga",
    .create = tiles_create,
    .draw = tiles_draw,
    .acc = tiles_acc,
    .get = tiles_get,
    .sync = tiles_sync,
    .destroy = tiles_destroy,
};
const sfperf_tiles_method_t *const sfperf_tiles_ga = &tiles;

#else

#include <stddef.h>

const char *const sfperf_ga_note = "Global Arrays is left out: it is not built in";
const sfperf_rma_method_t *const sfperf_rma_ga = NULL;
const sfperf_tiles_method_t *const sfperf_tiles_ga = NULL;

void sfperf_ga_start(void) {}

void sfperf_ga_stop(void) {}

#endif
