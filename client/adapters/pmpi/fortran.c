/* Fortran programs. The Fortran library of MPI converts arguments and calls PMPI_X: Open MPI's does so in all
 * functions, MPICH's in functions of mpi_f08 without buffers. Therefore this file defines PMPI_X, too: calls that come
 * from the Fortran library go to MPI_X of this library, and all other calls to MPI's own PMPI_X. Any thread that may
 * call MPI. */
#include "client/adapters/pmpi/functions.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- The library with MPI's functions for Fortran ---------------------------------------------------------------- */

#if defined(OPEN_MPI)
#define FORTRAN_LIBRARY "/libmpi_mpifh.so"
#else
#define FORTRAN_LIBRARY "/libmpichfort.so"
#endif

/* Where its code is; both 0 while it isn't loaded. The end is written first. */
static _Atomic uintptr_t first, end;

static int look_at(struct dl_phdr_info *object, size_t size, void *unused)
{
  (void)size;
  (void)unused;
  if (object->dlpi_name == NULL || strstr(object->dlpi_name, FORTRAN_LIBRARY) == NULL)
    return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
      continue;
    uintptr_t address = (uintptr_t)(object->dlpi_addr + part->p_vaddr);
    atomic_store_explicit(&end, address + (uintptr_t)part->p_memsz, memory_order_relaxed);
    atomic_store_explicit(&first, address, memory_order_release); /* read by is_fortran */
  }
  return 1;
}

static bool is_fortran(const void *caller)
{
  uintptr_t address = (uintptr_t)caller, least = atomic_load_explicit(&first, memory_order_acquire);
  return least != 0 && address >= least && address < atomic_load_explicit(&end, memory_order_relaxed);
}

/* Of rare calls, also by a library for Fortran that was loaded later than this one. */
static bool is_fortran_now(const void *caller)
{
  if (atomic_load_explicit(&first, memory_order_relaxed) == 0)
    (void)dl_iterate_phdr(look_at, NULL);
  return is_fortran(caller);
}

/* ---- MPI's own PMPI_X -------------------------------------------------------------------------------------------- */

static sfpmpi_functions_t own;

static void find(const char *name, void *function)
{
  void *next = dlsym(RTLD_NEXT, name);
  memcpy(function, &next, sizeof next);
}

__attribute__((constructor)) static void find_all(void)
{
#define FIND(name) find("PMPI_" #name, &own.name);
  SFPMPI_FUNCTIONS(FIND)
#undef FIND
#define FIND(name) find("P" SFPMPI_PERSISTENT_NAME(name), &own.name);
  SFPMPI_PERSISTENT_FUNCTIONS(FIND)
#undef FIND
  (void)dl_iterate_phdr(look_at, NULL);
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

#define CALLER __builtin_return_address(0)

#define DEFINE(entry, name, target, is_from_fortran, parameters, arguments)                                            \
  SFPMPI_EXPORT int entry parameters                                                                                   \
  {                                                                                                                    \
    return (is_from_fortran(CALLER) ? target : own.name)arguments;                                                     \
  }
#define FORWARD(name, parameters, arguments) DEFINE(PMPI_##name, name, MPI_##name, is_fortran, parameters, arguments)
#define FORWARD_RARE(name, parameters, arguments)                                                                      \
  DEFINE(PMPI_##name, name, MPI_##name, is_fortran_now, parameters, arguments)
#define FORWARD_PERSISTENT(name, parameters, arguments)                                                                \
  DEFINE(SFPMPI_PERSISTENT_P(name), name, SFPMPI_PERSISTENT(name), is_fortran, parameters, arguments)

FORWARD_RARE(Init, (int *argc, char ***argv), (argc, argv))
FORWARD_RARE(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
FORWARD_RARE(Finalize, (void), ())
FORWARD_RARE(Cart_create, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *created),
             (comm, n, dims, periods, reorder, created))
FORWARD_RARE(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *created), (comm, remain, created))
FORWARD_RARE(Graph_create, (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *created),
             (comm, n, index, edges, reorder, created))
FORWARD_RARE(Dist_graph_create,
             (MPI_Comm comm, int n, const int from[], const int degrees[], const int to[], const int weights[],
              MPI_Info info, int reorder, MPI_Comm *created),
             (comm, n, from, degrees, to, weights, info, reorder, created))
FORWARD_RARE(Dist_graph_create_adjacent,
             (MPI_Comm comm, int nin, const int in[], const int in_weights[], int nout, const int out[],
              const int out_weights[], MPI_Info info, int reorder, MPI_Comm *created),
             (comm, nin, in, in_weights, nout, out, out_weights, info, reorder, created))
FORWARD_RARE(Comm_dup, (MPI_Comm comm, MPI_Comm *created), (comm, created))
FORWARD_RARE(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *created), (comm, info, created))
FORWARD_RARE(Comm_set_name, (MPI_Comm comm, const char *name), (comm, name))

FORWARD(Start, (MPI_Request * request), (request))
FORWARD(Startall, (int n, MPI_Request requests[]), (n, requests))
FORWARD(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
FORWARD(Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]), (n, requests, statuses))
FORWARD(Waitany, (int n, MPI_Request requests[], int *index, MPI_Status *status), (n, requests, index, status))
FORWARD(Waitsome, (int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]),
        (n, requests, count, indices, statuses))
FORWARD(Test, (MPI_Request * request, int *done, MPI_Status *status), (request, done, status))
FORWARD(Testall, (int n, MPI_Request requests[], int *done, MPI_Status statuses[]), (n, requests, done, statuses))
FORWARD(Testany, (int n, MPI_Request requests[], int *index, int *done, MPI_Status *status),
        (n, requests, index, done, status))
FORWARD(Testsome, (int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]),
        (n, requests, count, indices, statuses))
FORWARD(Request_get_status, (MPI_Request request, int *done, MPI_Status *status), (request, done, status))
FORWARD(Request_free, (MPI_Request * request), (request))
FORWARD(Cancel, (MPI_Request * request), (request))

/* ---- Entry points of collectives --------------------------------------------------------------------------------- */

#define SAME_PARAMETERS                                                                                                \
  const void *out, int nout, MPI_Datatype out_type, void *in, int nin, MPI_Datatype in_type, MPI_Comm comm
#define SAME_ARGUMENTS out, nout, out_type, in, nin, in_type, comm
#define GATHERV_PARAMETERS                                                                                             \
  const void *out, int nout, MPI_Datatype out_type, void *in, const int nin[], const int in_displs[],                  \
      MPI_Datatype in_type, MPI_Comm comm
#define GATHERV_ARGUMENTS out, nout, out_type, in, nin, in_displs, in_type, comm
#define ALLTOALLV_PARAMETERS                                                                                           \
  const void *out, const int nout[], const int out_displs[], MPI_Datatype out_type, void *in, const int nin[],         \
      const int in_displs[], MPI_Datatype in_type, MPI_Comm comm
#define ALLTOALLV_ARGUMENTS out, nout, out_displs, out_type, in, nin, in_displs, in_type, comm
#define ALLTOALLW_PARAMETERS                                                                                           \
  const void *out, const int nout[], const MPI_Aint out_displs[], const MPI_Datatype out_types[], void *in,            \
      const int nin[], const MPI_Aint in_displs[], const MPI_Datatype in_types[], MPI_Comm comm
#define ALLTOALLW_ARGUMENTS out, nout, out_displs, out_types, in, nin, in_displs, in_types, comm

#define FORWARD_COLLECTIVE(name, signature)                                                                            \
  FORWARD(Neighbor_##name, (signature##_PARAMETERS), (signature##_ARGUMENTS))                                          \
  FORWARD(Ineighbor_##name, (signature##_PARAMETERS, MPI_Request * request), (signature##_ARGUMENTS, request))         \
  FORWARD_PERSISTENT(Neighbor_##name##_init, (signature##_PARAMETERS, MPI_Info info, MPI_Request * request),           \
                     (signature##_ARGUMENTS, info, request))

FORWARD_COLLECTIVE(allgather, SAME)
FORWARD_COLLECTIVE(allgatherv, GATHERV)
FORWARD_COLLECTIVE(alltoall, SAME)
FORWARD_COLLECTIVE(alltoallv, ALLTOALLV)
FORWARD_COLLECTIVE(alltoallw, ALLTOALLW)
