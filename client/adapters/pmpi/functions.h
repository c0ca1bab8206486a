/* The functions of MPI that this library defines in front of MPI's own, which it reaches through a table: the next
 * definition in the order of loaded libraries (a profiler's, else MPI's). Constant once loaded. */
#ifndef SFC_ADAPTERS_PMPI_FUNCTIONS_H
#define SFC_ADAPTERS_PMPI_FUNCTIONS_H

#include <mpi.h>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#define SFPMPI_FUNCTIONS(X)                                                                                            \
  X(Init)                                                                                                              \
  X(Init_thread)                                                                                                       \
  X(Finalize)                                                                                                          \
  X(Cart_create)                                                                                                       \
  X(Cart_sub)                                                                                                          \
  X(Graph_create)                                                                                                      \
  X(Dist_graph_create)                                                                                                 \
  X(Dist_graph_create_adjacent)                                                                                        \
  X(Comm_dup)                                                                                                          \
  X(Comm_dup_with_info)                                                                                                \
  X(Comm_idup)                                                                                                         \
  X(Comm_set_name)                                                                                                     \
  X(Neighbor_allgather)                                                                                                \
  X(Neighbor_allgatherv)                                                                                               \
  X(Neighbor_alltoall)                                                                                                 \
  X(Neighbor_alltoallv)                                                                                                \
  X(Neighbor_alltoallw)                                                                                                \
  X(Ineighbor_allgather)                                                                                               \
  X(Ineighbor_allgatherv)                                                                                              \
  X(Ineighbor_alltoall)                                                                                                \
  X(Ineighbor_alltoallv)                                                                                               \
  X(Ineighbor_alltoallw)                                                                                               \
  X(Start)                                                                                                             \
  X(Startall)                                                                                                          \
  X(Wait)                                                                                                              \
  X(Waitall)                                                                                                           \
  X(Waitany)                                                                                                           \
  X(Waitsome)                                                                                                          \
  X(Test)                                                                                                              \
  X(Testall)                                                                                                           \
  X(Testany)                                                                                                           \
  X(Testsome)                                                                                                          \
  X(Request_get_status)                                                                                                \
  X(Request_free)                                                                                                      \
  X(Cancel)

/* Persistent forms. Open MPI 4 has them as extensions. */
#define SFPMPI_PERSISTENT_FUNCTIONS(X)                                                                                 \
  X(Neighbor_allgather_init)                                                                                           \
  X(Neighbor_allgatherv_init)                                                                                          \
  X(Neighbor_alltoall_init)                                                                                            \
  X(Neighbor_alltoallv_init)                                                                                           \
  X(Neighbor_alltoallw_init)

#if defined(OPEN_MPI)
#define SFPMPI_PERSISTENT(name) MPIX_##name
#define SFPMPI_PERSISTENT_P(name) PMPIX_##name
#define SFPMPI_PERSISTENT_NAME(name) "MPIX_" #name
#else
#define SFPMPI_PERSISTENT(name) MPI_##name
#define SFPMPI_PERSISTENT_P(name) PMPI_##name
#define SFPMPI_PERSISTENT_NAME(name) "MPI_" #name
#endif

typedef struct sfpmpi_functions {
#define SFPMPI_MEMBER(name) __typeof__(PMPI_##name) *name;
  SFPMPI_FUNCTIONS(SFPMPI_MEMBER)
#undef SFPMPI_MEMBER
#define SFPMPI_MEMBER(name) __typeof__(SFPMPI_PERSISTENT_P(name)) *name;
  SFPMPI_PERSISTENT_FUNCTIONS(SFPMPI_MEMBER)
#undef SFPMPI_MEMBER
} sfpmpi_functions_t;

extern sfpmpi_functions_t sfpmpi_next;

/* Exported, unlike all else of this library. */
#define SFPMPI_EXPORT __attribute__((visibility("default")))

#endif
