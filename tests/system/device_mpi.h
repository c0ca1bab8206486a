/* Daemons over a stand-in for a device-aware MPI (tests/cuda/device_mpi.h). */
#ifndef SFTEST_SYSTEM_DEVICE_MPI_H
#define SFTEST_SYSTEM_DEVICE_MPI_H

#include "tests/cuda/device_mpi.h"
#include "tests/system/mpi_cluster.h"

/* Why there can be none here, or NULL. */
const char *sftest_device_mpi_lacks(void);

/* As sftest_mpi_cluster_start, with a driver for the daemons. Returns the counts, of which this process has one at a
 * time. */
const sftest_device_mpi_t *sftest_device_mpi_start(sftest_mpi_cluster_t *cluster, int32_t n);

/* As sftest_mpi_cluster_stop. */
void sftest_device_mpi_stop(sftest_mpi_cluster_t *cluster, bool killed);

#endif
