/* Contenders that access tiles of a matrix that is distributed over all ranks: arrays of the library, and MPI's
 * one-sided communication. All are used through one table of functions. */
#ifndef SFPERF_CONTENDERS_TILES_H
#define SFPERF_CONTENDERS_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

/* A square matrix of doubles, divided into square tiles that are numbered row by row. The elements are dealt out to the
 * ranks one by one: element (i, j) belongs to rank i % grid[0] * grid[1] + j % grid[1]; or each rank has a block, of
 * whole tiles. */
typedef struct sfperf_tiles {
  sf_context_t *context;
  int rank;
  int size;
  int grid[2];    /* ranks along each dimension */
  bool in_blocks; /* each rank has a block */
  int64_t extent; /* rows of the matrix, a multiple of edge */
  int64_t edge;   /* rows of a tile; a multiple of grid[0] and of grid[1] unless in_blocks */
  double *values; /* edge x edge, for acc */
  double *result; /* the same, of get */
} sfperf_tiles_t;

/* Divides a matrix with extent rows into ntasks tiles for all ranks of the context, and allocates the buffers, which
 * sfperf_tiles_free frees. Ends the program if the tiles cannot be dealt out evenly. */
void sfperf_tiles_init(sfperf_tiles_t *tiles, sf_context_t *context, int64_t extent, int64_t ntasks, bool in_blocks);
void sfperf_tiles_free(sfperf_tiles_t *tiles);

/* create, sync and destroy are collective. All fail by ending the program. */
typedef struct sfperf_tiles_method {
  const char *name; /* stable: appears in tables and JSON */
  void *(*create)(const sfperf_tiles_t *tiles);
  int64_t (*draw)(void *state);             /* next number of a counter that begins with 0 */
  void (*acc)(void *state, int64_t number); /* adds the values to the tile; until the buffer may be used again */
  void (*get)(void *state, int64_t number); /* reads the tile into the result */
  void (*sync)(void *state);                /* completes all operations of all ranks */
  void (*destroy)(void *state);
} sfperf_tiles_method_t;

/* "sf_array": sf_array_read_inc, sf_array_acc, sf_array_get, sf_array_sync. */
extern const sfperf_tiles_method_t sfperf_tiles_array;

/* "mpi": MPI_Fetch_and_op; MPI_Accumulate or MPI_Get for each rank that owns elements, with vector types at both ends,
 * and MPI_Win_flush_local_all. */
extern const sfperf_tiles_method_t sfperf_tiles_mpi;

#endif
