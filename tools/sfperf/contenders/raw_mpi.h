/* Plain MPI as contenders. */
#ifndef SFPERF_CONTENDERS_RAW_MPI_H
#define SFPERF_CONTENDERS_RAW_MPI_H

#include "tools/sfperf/contenders/method.h"

/* "mpi_neighbor": MPI_Neighbor_alltoallv between packing and unpacking loops as an application would write them. */
extern const sfperf_method_t sfperf_mpi_neighbor;

/* "mpi": MPI_Isend and MPI_Irecv, ended by MPI_Wait, along the pattern of sfperf_pattern_pair; reduce replaces. */
extern const sfperf_method_t sfperf_mpi_pair;

/* MPI_Send and MPI_Recv to and fro between ranks 0 and 1. */
typedef struct sfperf_mpi_pingpong {
  int rank;
  int count;      /* doubles in a message */
  double *buffer; /* both sent from and received into */
} sfperf_mpi_pingpong_t;

/* For sfperf_contender_t; state: sfperf_mpi_pingpong_t. */
double sfperf_mpi_pingpong_run(void *state, int64_t iterations);

#endif
