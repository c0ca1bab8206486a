/* What the stand-in for a device-aware MPI (device_mpi.c) was given of devices. */
#ifndef SFTEST_DEVICE_MPI_H
#define SFTEST_DEVICE_MPI_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SFTEST_DEVICE_MPI_LIBRARY "tests/cuda/libsftest_device_mpi.so" /* from the build directory */

/* Messages, by all processes that have the file. */
typedef struct sftest_device_mpi {
  _Atomic uint64_t sent;
  _Atomic uint64_t sent_bytes;
  _Atomic uint64_t received;
  _Atomic uint64_t received_bytes;
} sftest_device_mpi_t;

#endif
