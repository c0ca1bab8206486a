/* Daemons on this host that are one MPI job: the mpi fabric. Only with Open MPI, and not under the sanitizers, whose
 * reports about MPI itself would drown ours. */
#ifndef SFTEST_MPI_CLUSTER_H
#define SFTEST_MPI_CLUSTER_H

#include "tests/system/harness.h"

#define SFTEST_MPI_NODES 4

typedef struct sftest_mpi_cluster {
  sftest_node_t nodes[SFTEST_MPI_NODES]; /* for sftest_job_start_over; pid 0 */
  pid_t daemons[SFTEST_MPI_NODES];
  int32_t n;
  pid_t mpirun;
} sftest_mpi_cluster_t;

/* Why there can be none here, or NULL. */
const char *sftest_mpi_cluster_lacks(void);

void sftest_mpi_cluster_start(sftest_mpi_cluster_t *cluster, int32_t n);

/* Ends the daemons and mpirun, which must succeed unless a daemon has been killed: then it may even hang in its own
 * finalization, when all daemons have ended, and is killed. */
void sftest_mpi_cluster_stop(sftest_mpi_cluster_t *cluster, bool killed);

#endif
