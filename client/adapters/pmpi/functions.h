/* The functions of MPI that this library defines in front of MPI's own. Their signatures are here once: entry points,
 * those for Fortran and the tables of the next definitions are made of them. */
#ifndef SFC_ADAPTERS_PMPI_FUNCTIONS_H
#define SFC_ADAPTERS_PMPI_FUNCTIONS_H

#include <mpi.h>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#define SFPMPI_EXTENDED MPIX /* Open MPI 4 has persistent forms as extensions */
#else
#define SFPMPI_EXTENDED MPI
#endif

/* A function's symbol, and the one that begins with P. */
#define SFPMPI_SYMBOL(prefix, name) SFPMPI_PASTE(prefix, name)
#define SFPMPI_SYMBOL_P(prefix, name) SFPMPI_PASTE_P(prefix, name)
#define SFPMPI_PASTE(prefix, name) prefix##_##name
#define SFPMPI_PASTE_P(prefix, name) P##prefix##_##name

/* ---- Lists: X(prefix, name, parameters, arguments) --------------------------------------------------------------- */

/* Those that create a communicator before they return. */
#define SFPMPI_MAKERS(X)                                                                                               \
  X(MPI, Cart_create, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *created),   \
    (comm, n, dims, periods, reorder, created))                                                                        \
  X(MPI, Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *created), (comm, remain, created))                    \
  X(MPI, Graph_create, (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *created),   \
    (comm, n, index, edges, reorder, created))                                                                         \
  X(MPI, Dist_graph_create,                                                                                            \
    (MPI_Comm comm, int n, const int from[], const int degrees[], const int to[], const int weights[], MPI_Info info,  \
     int reorder, MPI_Comm *created),                                                                                  \
    (comm, n, from, degrees, to, weights, info, reorder, created))                                                     \
  X(MPI, Dist_graph_create_adjacent,                                                                                   \
    (MPI_Comm comm, int nin, const int in[], const int in_weights[], int nout, const int out[],                        \
     const int out_weights[], MPI_Info info, int reorder, MPI_Comm *created),                                          \
    (comm, nin, in, in_weights, nout, out, out_weights, info, reorder, created))                                       \
  X(MPI, Comm_dup, (MPI_Comm comm, MPI_Comm * created), (comm, created))                                               \
  X(MPI, Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * created), (comm, info, created))

/* Those whose communicator is not complete when they return: graphs would have to be made later, and not collectively.
 * With MPI 4 there is one more, and collectives have large counts. */
#define SFPMPI_DUPLICATORS_3(X)                                                                                        \
  X(MPI, Comm_idup, (MPI_Comm comm, MPI_Comm * created, MPI_Request * request), (comm, created, request))
#if MPI_VERSION >= 4
#define SFPMPI_DUPLICATORS(X)                                                                                          \
  SFPMPI_DUPLICATORS_3(X)                                                                                              \
  X(MPI, Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * created, MPI_Request * request),               \
    (comm, info, created, request))
#define SFPMPI_LARGE(X) SFPMPI_FUNCTIONS_OF_NEIGHBORS(SFPMPI_LARGE_FORMS, X)
#else
#define SFPMPI_DUPLICATORS(X) SFPMPI_DUPLICATORS_3(X)
#define SFPMPI_LARGE(X)
#endif

#define SFPMPI_RARE(X)                                                                                                 \
  X(MPI, Init, (int *argc, char ***argv), (argc, argv))                                                                \
  X(MPI, Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))        \
  X(MPI, Finalize, (void), ())                                                                                         \
  X(MPI, Comm_set_name, (MPI_Comm comm, const char *name), (comm, name))                                               \
  SFPMPI_MAKERS(X)                                                                                                     \
  SFPMPI_DUPLICATORS(X)

#define SFPMPI_COMPLETIONS(X)                                                                                          \
  X(MPI, Start, (MPI_Request * request), (request))                                                                    \
  X(MPI, Startall, (int n, MPI_Request requests[]), (n, requests))                                                     \
  X(MPI, Wait, (MPI_Request * request, MPI_Status * status), (request, status))                                        \
  X(MPI, Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]), (n, requests, statuses))                     \
  X(MPI, Waitany, (int n, MPI_Request requests[], int *index, MPI_Status *status), (n, requests, index, status))       \
  X(MPI, Waitsome, (int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]),                  \
    (n, requests, count, indices, statuses))                                                                           \
  X(MPI, Test, (MPI_Request * request, int *done, MPI_Status *status), (request, done, status))                        \
  X(MPI, Testall, (int n, MPI_Request requests[], int *done, MPI_Status statuses[]), (n, requests, done, statuses))    \
  X(MPI, Testany, (int n, MPI_Request requests[], int *index, int *done, MPI_Status *status),                          \
    (n, requests, index, done, status))                                                                                \
  X(MPI, Testsome, (int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]),                  \
    (n, requests, count, indices, statuses))                                                                           \
  X(MPI, Request_get_status, (MPI_Request request, int *done, MPI_Status *status), (request, done, status))            \
  X(MPI, Request_free, (MPI_Request * request), (request))                                                             \
  X(MPI, Cancel, (MPI_Request * request), (request))

/* ---- Collectives ------------------------------------------------------------------------------------------------- */

/* Parameters by the kind of arguments. int_t, displ_t: int; of large counts MPI_Count and MPI_Aint. */
#define SFPMPI_SAME_PARAMETERS(int_t, displ_t)                                                                         \
  const void *out, int_t nout, MPI_Datatype out_type, void *in, int_t nin, MPI_Datatype in_type, MPI_Comm comm
#define SFPMPI_SAME_ARGUMENTS out, nout, out_type, in, nin, in_type, comm
#define SFPMPI_GATHERV_PARAMETERS(int_t, displ_t)                                                                      \
  const void *out, int_t nout, MPI_Datatype out_type, void *in, const int_t nin[], const displ_t in_displs[],          \
      MPI_Datatype in_type, MPI_Comm comm
#define SFPMPI_GATHERV_ARGUMENTS out, nout, out_type, in, nin, in_displs, in_type, comm
#define SFPMPI_ALLTOALLV_PARAMETERS(int_t, displ_t)                                                                    \
  const void *out, const int_t nout[], const displ_t out_displs[], MPI_Datatype out_type, void *in, const int_t nin[], \
      const displ_t in_displs[], MPI_Datatype in_type, MPI_Comm comm
#define SFPMPI_ALLTOALLV_ARGUMENTS out, nout, out_displs, out_type, in, nin, in_displs, in_type, comm
#define SFPMPI_ALLTOALLW_PARAMETERS(int_t, displ_t)                                                                    \
  const void *out, const int_t nout[], const MPI_Aint out_displs[], const MPI_Datatype out_types[], void *in,          \
      const int_t nin[], const MPI_Aint in_displs[], const MPI_Datatype in_types[], MPI_Comm comm
#define SFPMPI_ALLTOALLW_ARGUMENTS out, nout, out_displs, out_types, in, nin, in_displs, in_types, comm

/* F(X, function, graph, kind); graph: the one along which it goes, in sfpmpi_topology_t. */
#define SFPMPI_FUNCTIONS_OF_NEIGHBORS(F, X)                                                                            \
  F(X, allgather, allgather, SAME)                                                                                     \
  F(X, allgatherv, allgather, GATHERV)                                                                                 \
  F(X, alltoall, alltoall, SAME)                                                                                       \
  F(X, alltoallv, alltoall, ALLTOALLV)                                                                                 \
  F(X, alltoallw, alltoall, ALLTOALLW)

/* The blocking, the nonblocking and the persistent form; suffix: of the name. */
#define SFPMPI_FORMS_OF(X, function, kind, suffix, int_t, displ_t)                                                     \
  X(MPI, Neighbor_##function##suffix, (SFPMPI_##kind##_PARAMETERS(int_t, displ_t)), (SFPMPI_##kind##_ARGUMENTS))       \
  X(MPI, Ineighbor_##function##suffix, (SFPMPI_##kind##_PARAMETERS(int_t, displ_t), MPI_Request * request),            \
    (SFPMPI_##kind##_ARGUMENTS, request))                                                                              \
  X(SFPMPI_EXTENDED, Neighbor_##function##_init##suffix,                                                               \
    (SFPMPI_##kind##_PARAMETERS(int_t, displ_t), MPI_Info info, MPI_Request * request),                                \
    (SFPMPI_##kind##_ARGUMENTS, info, request))
#define SFPMPI_FORMS(X, function, graph, kind) SFPMPI_FORMS_OF(X, function, kind, , int, int)
#define SFPMPI_LARGE_FORMS(X, function, graph, kind) SFPMPI_FORMS_OF(X, function, kind, _c, MPI_Count, MPI_Aint)

#define SFPMPI_FREQUENT(X)                                                                                             \
  SFPMPI_COMPLETIONS(X)                                                                                                \
  SFPMPI_FUNCTIONS_OF_NEIGHBORS(SFPMPI_FORMS, X)                                                                       \
  SFPMPI_LARGE(X)

/* ---- Definitions of others --------------------------------------------------------------------------------------- */

typedef struct sfpmpi_functions {
#define SFPMPI_MEMBER(prefix, name, parameters, arguments) int(*name) parameters;
  SFPMPI_RARE(SFPMPI_MEMBER)
  SFPMPI_FREQUENT(SFPMPI_MEMBER)
#undef SFPMPI_MEMBER
} sfpmpi_functions_t;

/* The next definitions of MPI_X in the order of loaded libraries: a profiler's, else MPI's; and MPI's PMPI_X. Constant
 * once loaded. */
extern sfpmpi_functions_t sfpmpi_next, sfpmpi_own;

/* Exported, unlike all else of this library. */
#define SFPMPI_EXPORT __attribute__((visibility("default")))

#endif
