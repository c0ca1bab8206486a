/* Neighbours of this process in a topology of MPI, in the order of the blocks in neighbourhood collectives. */
#ifndef SFC_ADAPTERS_PMPI_NEIGHBORS_H
#define SFC_ADAPTERS_PMPI_NEIGHBORS_H

#include <mpi.h>
#include <stdbool.h>

/* Forms of calls. */
typedef enum sfpmpi_form { SFPMPI_BLOCKING, SFPMPI_NONBLOCKING, SFPMPI_PERSISTENT_FORM, SFPMPI_FORMS } sfpmpi_form_t;

/* Ranks of the communicator, or MPI_PROC_NULL. */
typedef struct sfpmpi_neighbors {
  int nin, nout;
  int *in;
  int *out;
  bool cartesian;
} sfpmpi_neighbors_t;

/* Returns false if the communicator has no topology, or without memory. */
bool sfpmpi_neighbors_find(MPI_Comm comm, sfpmpi_neighbors_t *neighbors_p);
void sfpmpi_neighbors_free(sfpmpi_neighbors_t *neighbors);

/* Numbers the blocks to be sent, MPI_PROC_NULL left out: -1. Writes the neighbours to ranks, and returns how many. */
int sfpmpi_neighbors_number_out(const sfpmpi_neighbors_t *neighbors, int *number, int *ranks);

/* The same for the blocks to be received, so that the k-th block that a process sends to another is the k-th that the
 * other has among ranks from the process.
 *
 * In a periodic dimension of one or two processes both neighbours are the same process. By the standard a block sent in
 * the negative direction arrives as the one from the positive direction. For some forms of calls Open MPI 4 delivers
 * such blocks in the order in which they are sent instead, which programs must find here, too: the first use tries. */
int sfpmpi_neighbors_number_in(const sfpmpi_neighbors_t *neighbors, int *const number[SFPMPI_FORMS], int *ranks);

#endif
