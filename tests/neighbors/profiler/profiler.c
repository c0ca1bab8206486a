/* Stands in for a profiler: a library to preload behind another one. It counts the neighbourhood collectives that come
 * to MPI's own functions, under either name, and prints their number when the process ends. Any thread. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int ncalls;

__attribute__((destructor)) static void print_calls(void)
{
  if (getenv("SF_TEST_PROFILER") != NULL)
    fprintf(stderr, "profiler: %d calls\n", atomic_load(&ncalls));
}

static void find_next(const char *name, void *function)
{
  void *next = dlsym(RTLD_NEXT, name);
  if (next == NULL)
    abort();
  memcpy(function, &next, sizeof next);
}

#define COUNT(name, parameters, arguments)                                                                             \
  int name parameters                                                                                                  \
  {                                                                                                                    \
    __typeof__(name) *next;                                                                                            \
    find_next(#name, &next);                                                                                           \
    atomic_fetch_add(&ncalls, 1);                                                                                      \
    return next arguments;                                                                                             \
  }
#define COUNT_BOTH(name, parameters, arguments)                                                                        \
  COUNT(MPI_##name, parameters, arguments)                                                                             \
  COUNT(PMPI_##name, parameters, arguments)

#define SAME const void *out, int nout, MPI_Datatype out_type, void *in, int nin, MPI_Datatype in_type, MPI_Comm comm
#define VECTOR                                                                                                         \
  const void *out, const int nout[], const int out_displs[], MPI_Datatype out_type, void *in, const int nin[],         \
      const int in_displs[], MPI_Datatype in_type, MPI_Comm comm

COUNT_BOTH(Neighbor_allgather, (SAME), (out, nout, out_type, in, nin, in_type, comm))
COUNT_BOTH(Neighbor_alltoall, (SAME), (out, nout, out_type, in, nin, in_type, comm))
COUNT_BOTH(Ineighbor_alltoall, (SAME, MPI_Request *request), (out, nout, out_type, in, nin, in_type, comm, request))
COUNT_BOTH(Neighbor_alltoallv, (VECTOR), (out, nout, out_displs, out_type, in, nin, in_displs, in_type, comm))
COUNT_BOTH(Ineighbor_alltoallv, (VECTOR, MPI_Request *request),
           (out, nout, out_displs, out_type, in, nin, in_displs, in_type, comm, request))
