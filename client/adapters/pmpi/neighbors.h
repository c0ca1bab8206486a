/* Neighbours of this process in a topology of MPI, in the order of the blocks in neighbourhood collectives. */
#ifndef SFC_ADAPTERS_PMPI_NEIGHBORS_H
#define SFC_ADAPTERS_PMPI_NEIGHBORS_H

#include <mpi.h>
#include <stdbool.h>

/* Forms of calls, and kinds: of arguments. */
typedef enum sfpmpi_form { SFPMPI_BLOCKING, SFPMPI_NONBLOCKING, SFPMPI_PERSISTENT_FORM, SFPMPI_FORMS } sfpmpi_form_t;
typedef enum sfpmpi_kind { SFPMPI_SAME, SFPMPI_V, SFPMPI_W, SFPMPI_KINDS } sfpmpi_kind_t;

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

/* Which of several blocks from a process belongs to which of several blocks to this one. The standard says: the k-th
 * that is sent is the k-th that is received, but in a periodic dimension of one or two processes, where both neighbours
 * are the same process, a block sent in the negative direction arrives as the one from the positive direction. Not all
 * functions of MPI libraries do so; programs must get here what they get from their MPI. */
typedef enum sfpmpi_order {
  SFPMPI_STANDARD,
  SFPMPI_AS_SENT,  /* the k-th is the k-th in Cartesian topologies, too: Open MPI 4, but for blocking functions */
  SFPMPI_REVERSED, /* the k-th is the k-th from the end: some functions of MPICH 4 */
  SFPMPI_ORDERS
} sfpmpi_order_t;

/* Numbers the blocks to be received, for each order; otherwise as sfpmpi_neighbors_number_out. */
int sfpmpi_neighbors_number_in(const sfpmpi_neighbors_t *neighbors, int *const number[SFPMPI_ORDERS], int *ranks);

/* The order of this MPI. Tried when it matters first. */
extern sfpmpi_order_t sfpmpi_neighbors_order[SFPMPI_FORMS][SFPMPI_KINDS];

#endif
