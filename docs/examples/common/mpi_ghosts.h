/* The ghost exchange of cg done by hand, with MPI_Isend and MPI_Irecv: to compare with, in time and in lines. */
#ifndef EXAMPLES_MPI_GHOSTS_H
#define EXAMPLES_MPI_GHOSTS_H

#include <mpi.h>
#include <stdint.h>

typedef struct mpi_ghosts {
  int size;
  int *send_count, *send_first; /* per rank: which part of send_index and send_buffer goes there */
  int *recv_count, *recv_first; /* per rank: which part of the ghosts comes from there */
  int nsend;                    /* values sent in all */
  int32_t *send_index;          /* which entries of x they are */
  double *send_buffer;
  MPI_Request *request; /* two per rank at most */
} mpi_ghosts_t;

/* Ghost k is entry ghost_index[k] of rank ghost_rank[k]; ranks ascend. Collective. */
mpi_ghosts_t mpi_ghosts_new(int nghosts, const int32_t *ghost_rank, const int32_t *ghost_index);
void mpi_ghosts_free(mpi_ghosts_t *exchange);

/* Fills ghosts with the entries of the other ranks' x. Collective. */
void mpi_ghosts_exchange(mpi_ghosts_t *exchange, const double *x, double *ghosts);

#endif
