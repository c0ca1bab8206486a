/* Contenders that access a patch in the memory of rank 1 from rank 0: arrays of the library, MPI's one-sided
 * communication, and memcpy. All are used through one table of functions, so that every side is called, timed and
 * checked alike. */
#ifndef SFPERF_CONTENDERS_RMA_H
#define SFPERF_CONTENDERS_RMA_H

#include <sf/sf.h>

typedef enum sfperf_rma_operation {
  SFPERF_RMA_PUT, /* complete at the target, as all of them */
  SFPERF_RMA_GET,
  SFPERF_RMA_ACC,      /* adds the values */
  SFPERF_RMA_READ_INC, /* of a counter of 8 bytes */
  SFPERF_RMA_OPERATIONS,
} sfperf_rma_operation_t;

/* rows x columns doubles at the begin of rows x width doubles, which rank 1 owns. Valid as long as a contender's state.
 */
typedef struct sfperf_patch {
  sf_context_t *context;
  int rank;
  int64_t rows;
  int64_t columns;
  int64_t width;
  double *values;   /* rows x columns, for put and acc */
  double *result;   /* the same, of get */
  int64_t previous; /* result of read_inc */
} sfperf_patch_t;

/* create and destroy are collective over two ranks, the others are called by rank 0 alone, but local by rank 1. All
 * fail by ending the program. */
typedef struct sfperf_rma_method {
  const char *name; /* stable: appears in tables and JSON */
  void *(*create)(sfperf_patch_t *patch);
  void (*operations[SFPERF_RMA_OPERATIONS])(void *state); /* NULL: has none */
  const double *(*local)(void *state); /* rank 1's rows x width doubles, after a barrier; zero at first */
  void (*destroy)(void *state);
} sfperf_rma_method_t;

/* "sf_array": sf_array_put, _acc and sf_array_flush; sf_array_get; sf_array_read_inc. */
extern const sfperf_rma_method_t sfperf_rma_array;

/* "mpi": MPI_Put, _Get, _Accumulate, _Fetch_and_op, each with MPI_Win_flush, in an epoch of MPI_Win_lock_all. Memory of
 * MPI_Win_allocate; patches of several rows have a vector type at the target. */
extern const sfperf_rma_method_t sfperf_rma_mpi;

/* "memcpy": put and get, row by row, in memory that two ranks of one node share. */
extern const sfperf_rma_method_t sfperf_rma_memcpy;

#endif
