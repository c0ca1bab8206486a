/* Daemons over a stand-in for a device-aware MPI: see device_mpi.h. */
#include "tests/system/device_mpi.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/system/fake_device.h"

static struct {
  char path[PATH_MAX];
  sftest_device_mpi_t *counts;
} given;

static void library(char path[PATH_MAX])
{
  const char *build = getenv("BUILD");
  snprintf(path, PATH_MAX, "%s/%s", build != NULL ? build : "build", SFTEST_DEVICE_MPI_LIBRARY);
}

const char *sftest_device_mpi_lacks(void)
{
  char path[PATH_MAX];
  library(path);
  if (!sftest_device_can_fail())
    return "a stand-in for MPI moves what the stand-in for the driver has";
  if (sftest_mpi_cluster_lacks() != NULL)
    return sftest_mpi_cluster_lacks();
  return access(path, R_OK) == 0 ? NULL : "the stand-in for a device-aware MPI was not built";
}

const sftest_device_mpi_t *sftest_device_mpi_start(sftest_mpi_cluster_t *cluster, int32_t n)
{
  char path[PATH_MAX], whole[PATH_MAX];
  const char *parent = getenv("TMPDIR");
  ck_assert(sftest_device_for_programs());
  library(path);
  ck_assert_ptr_nonnull(realpath(path, whole));
  snprintf(given.path, sizeof given.path, "%s/sftest-device-mpi.XXXXXX", parent != NULL ? parent : "/tmp");
  int fd = mkstemp(given.path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(ftruncate(fd, sizeof *given.counts), 0);
  given.counts = mmap(NULL, sizeof *given.counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ck_assert_ptr_ne(given.counts, MAP_FAILED);
  close(fd);
  setenv("SFTEST_PRELOAD", whole, 1);
  setenv("SFTEST_DEVICE_MPI", given.path, 1);
  sftest_mpi_cluster_start(cluster, n);
  return given.counts;
}

void sftest_device_mpi_stop(sftest_mpi_cluster_t *cluster, bool killed)
{
  sftest_mpi_cluster_stop(cluster, killed);
  unsetenv("SFTEST_PRELOAD");
  unsetenv("SFTEST_DEVICE_MPI");
  unlink(given.path);
  munmap(given.counts, sizeof *given.counts);
}
