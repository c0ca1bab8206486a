/* Entry points of neighbourhood collectives: blocking, nonblocking and persistent. Any thread that may call MPI. */
#include <sf/sf.h>

#include "client/adapters/pmpi/functions.h"
#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/operation.h"
#include "client/adapters/pmpi/request.h"
#include "client/adapters/pmpi/topology.h"

/* ---- Forms ------------------------------------------------------------------------------------------------------- */

/* All return a code of MPI, for which the communicator's error handler has been called, or SFPMPI_TO_MPI. */

static int report(const sfpmpi_star_t *star, int code)
{
  return code == SFPMPI_TO_MPI ? code : sfpmpi_raise(star->topology->comm, code);
}

static int block(sfpmpi_star_t *star, const sfpmpi_call_t *call)
{
  int code = sfpmpi_operation_run(star, call);
  return code == MPI_SUCCESS ? code : report(star, code);
}

static int begin(sfpmpi_star_t *star, const sfpmpi_call_t *call, MPI_Request *request_p)
{
  sfpmpi_operation_t *operation;
  if (request_p == NULL)
    return SFPMPI_TO_MPI;
  int code = sfpmpi_operation_make(star, call, SFPMPI_NONBLOCKING, &operation);
  if (code != MPI_SUCCESS)
    return report(star, code);
  code = sfpmpi_operation_begin(operation);
  if (code == MPI_SUCCESS)
    code = sfpmpi_request_make(operation, request_p);
  if (code != MPI_SUCCESS) {
    (void)sfpmpi_operation_wait(operation, -1);
    sfpmpi_operation_give_back(operation);
  }
  return report(star, code);
}

static int prepare(sfpmpi_star_t *star, const sfpmpi_call_t *call, MPI_Request *request_p)
{
  sfpmpi_operation_t *operation;
  if (request_p == NULL)
    return SFPMPI_TO_MPI;
  int code = sfpmpi_operation_make(star, call, SFPMPI_PERSISTENT_FORM, &operation);
  if (code != MPI_SUCCESS)
    return report(star, code);
  code = sfpmpi_request_make(operation, request_p);
  if (code != MPI_SUCCESS)
    sfpmpi_operation_give_back(operation);
  return report(star, code);
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

static sfpmpi_side_t same(const void *buffer, int count, MPI_Datatype type)
{
  return (sfpmpi_side_t){.buffer = buffer, .count = count, .type = type};
}

static sfpmpi_side_t several(const void *buffer, const int counts[], const int displs[], MPI_Datatype type)
{
  return (sfpmpi_side_t){.buffer = buffer, .count = -1, .counts = counts, .displs = displs, .type = type};
}

static sfpmpi_side_t several_types(const void *buffer, const int counts[], const MPI_Aint offsets[],
                                   const MPI_Datatype types[])
{
  return (sfpmpi_side_t){.buffer = buffer, .count = -1, .counts = counts, .offsets = offsets, .types = types};
}

/* Parameters and arguments of a collective's forms, and what operations know of them. */
#define SAME_PARAMETERS                                                                                                \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,      \
      MPI_Comm comm
#define SAME_ARGUMENTS sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define SAME_CALL SFPMPI_SAME, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype)

#define GATHERV_PARAMETERS                                                                                             \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],                    \
      const int displs[], MPI_Datatype recvtype, MPI_Comm comm
#define GATHERV_ARGUMENTS sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm
#define GATHERV_CALL SFPMPI_V, same(sendbuf, sendcount, sendtype), several(recvbuf, recvcounts, displs, recvtype)

#define ALLTOALLV_PARAMETERS                                                                                           \
  const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf,              \
      const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm
#define ALLTOALLV_ARGUMENTS sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
#define ALLTOALLV_CALL                                                                                                 \
  SFPMPI_V, several(sendbuf, sendcounts, sdispls, sendtype), several(recvbuf, recvcounts, rdispls, recvtype)

#define ALLTOALLW_PARAMETERS                                                                                           \
  const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],               \
      void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
#define ALLTOALLW_ARGUMENTS sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm
#define ALLTOALLW_CALL                                                                                                 \
  SFPMPI_W, several_types(sendbuf, sendcounts, sdispls, sendtypes),                                                    \
      several_types(recvbuf, recvcounts, rdispls, recvtypes)

/* The forms of one collective. star: the member of the topology. */
#define DEFINE(function, star, signature)                                                                              \
  SFPMPI_EXPORT int MPI_Neighbor_##function(signature##_PARAMETERS)                                                    \
  {                                                                                                                    \
    sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);                                                          \
    int code = SFPMPI_TO_MPI;                                                                                          \
    if (topology != NULL)                                                                                              \
      code = block(&topology->star, &(const sfpmpi_call_t){signature##_CALL});                                         \
    return code != SFPMPI_TO_MPI ? code : sfpmpi_next.Neighbor_##function(signature##_ARGUMENTS);                      \
  }                                                                                                                    \
  SFPMPI_EXPORT int MPI_Ineighbor_##function(signature##_PARAMETERS, MPI_Request *request)                             \
  {                                                                                                                    \
    sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);                                                          \
    int code = SFPMPI_TO_MPI;                                                                                          \
    if (topology != NULL)                                                                                              \
      code = begin(&topology->star, &(const sfpmpi_call_t){signature##_CALL}, request);                                \
    return code != SFPMPI_TO_MPI ? code : sfpmpi_next.Ineighbor_##function(signature##_ARGUMENTS, request);            \
  }                                                                                                                    \
  SFPMPI_EXPORT int SFPMPI_PERSISTENT(Neighbor_##function##_init)(signature##_PARAMETERS, MPI_Info info,               \
                                                                  MPI_Request * request)                               \
  {                                                                                                                    \
    sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);                                                          \
    int code = SFPMPI_TO_MPI;                                                                                          \
    if (topology != NULL)                                                                                              \
      code = prepare(&topology->star, &(const sfpmpi_call_t){signature##_CALL}, request);                              \
    return code != SFPMPI_TO_MPI ? code                                                                                \
                                 : sfpmpi_next.Neighbor_##function##_init(signature##_ARGUMENTS, info, request);       \
  }

DEFINE(allgather, allgather, SAME)
DEFINE(allgatherv, allgather, GATHERV)
DEFINE(alltoall, alltoall, SAME)
DEFINE(alltoallv, alltoall, ALLTOALLV)
DEFINE(alltoallw, alltoall, ALLTOALLW)
