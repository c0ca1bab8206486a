/* Communicators with a topology, and the graphs along which their neighbourhood collectives are carried. */
#ifndef SFC_ADAPTERS_PMPI_TOPOLOGY_H
#define SFC_ADAPTERS_PMPI_TOPOLOGY_H

#include <mpi.h>
#include <stdbool.h>

#include <sf/sf.h>

#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/neighbors.h"
#include "client/adapters/pmpi/table.h"

struct sfpmpi_operation;

/* A graph, and this process's roots and leaves on it. */
typedef struct sfpmpi_star {
  struct sfpmpi_topology *topology;
  const char *what;              /* "alltoall" or "allgather"; of a communicator that MPI carries: that it does */
  sf_graph_t *graph;             /* NULL: none */
  int nroots, nleaves;           /* both 0: this process never takes part */
  int nout, nin;                 /* blocks that a call sends and receives, with the blocks of MPI_PROC_NULL */
  int *root;                     /* nout numbers of roots; negative: MPI_PROC_NULL */
  int *leaf[SFPMPI_ORDERS];      /* nin numbers of leaves; negative: MPI_PROC_NULL */
  struct sfpmpi_operation *idle; /* operations for reuse */
} sfpmpi_star_t;

/* What MPI carries for a communicator that sfd carries. */
typedef enum sfpmpi_left { SFPMPI_LEFT_COPIES, SFPMPI_LEFT_LARGE, SFPMPI_NLEFT } sfpmpi_left_t;

/* Exists until the communicator is freed and none of its requests is left. */
typedef struct sfpmpi_topology {
  MPI_Comm comm;     /* MPI_COMM_WORLD after the communicator was freed: its error handler reports errors */
  int users;         /* the communicator, and operations */
  sf_group_t *group; /* NULL: all processes of the job */
  char made[80];     /* by which function, called where */
  bool left[SFPMPI_NLEFT];
  int *numbers; /* memory of the numbers of roots and leaves */
  sfpmpi_star_t alltoall;
  sfpmpi_star_t allgather;
} sfpmpi_topology_t;

/* Makes the graphs of a new communicator, if it has a topology. maker: the function of MPI that created it; caller: an
 * address in the function that called it, for sfctl. Collective over the communicator and blocking, if the communicator
 * is not MPI_COMM_NULL; all its processes come to the same result. */
void sfpmpi_topology_attach(MPI_Comm comm, const char *maker, const void *caller);

extern sfpmpi_table_t sfpmpi_topologies; /* by communicator */

/* The topology of a communicator that sfd carries; NULL: MPI does. */
static inline sfpmpi_topology_t *sfpmpi_topology_find(MPI_Comm comm)
{
  sfpmpi_lock();
  sfpmpi_topology_t *topology = sfpmpi_table_find(&sfpmpi_topologies, (uintptr_t)comm);
  sfpmpi_unlock();
  return topology;
}

void sfpmpi_topology_free(sfpmpi_topology_t *topology);

/* Ends a reference. */
static inline void sfpmpi_topology_release(sfpmpi_topology_t *topology)
{
  sfpmpi_lock();
  bool last = --topology->users == 0;
  sfpmpi_unlock();
  if (__builtin_expect(last, false))
    sfpmpi_topology_free(topology);
}

/* Tells sfctl the name of a communicator, which has changed; that MPI carries something. */
void sfpmpi_topology_describe(MPI_Comm comm);
void sfpmpi_topology_leave(MPI_Comm comm, sfpmpi_left_t what);

/* Before MPI_Finalize: forgets all communicators. */
void sfpmpi_topologies_leave(void);

#endif
