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
  sfpmpi_operation_t *operation;
  int code = sfpmpi_operation_make(star, call, SFPMPI_BLOCKING, &operation);
  if (code != MPI_SUCCESS)
    return report(star, code);
  code = sfpmpi_operation_begin(operation);
  if (code == MPI_SUCCESS) {
    (void)sfpmpi_operation_wait(operation, -1);
    code = operation->error;
  }
  sfpmpi_operation_give_back(operation);
  return report(star, code);
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

/* Parameters and arguments of a collective's forms, and what operations know of them. */
#define SAME_PARAMETERS                                                                                                \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,      \
      MPI_Comm comm
#define SAME_ARGUMENTS sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define SAME_CALL                                                                                                      \
  {.send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},                                                  \
   .receive = {.buffer = recvbuf, .count = recvcount, .type = recvtype}}

#define GATHERV_PARAMETERS                                                                                             \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],                    \
      const int displs[], MPI_Datatype recvtype, MPI_Comm comm
#define GATHERV_ARGUMENTS sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm
#define GATHERV_CALL                                                                                                   \
  {.send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},                                                  \
   .receive = {.buffer = recvbuf, .count = -1, .counts = recvcounts, .displs = displs, .type = recvtype}}

#define ALLTOALLV_PARAMETERS                                                                                           \
  const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf,              \
      const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm
#define ALLTOALLV_ARGUMENTS sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
#define ALLTOALLV_CALL                                                                                                 \
  {.send = {.buffer = sendbuf, .count = -1, .counts = sendcounts, .displs = sdispls, .type = sendtype},                             \
   .receive = {.buffer = recvbuf, .count = -1, .counts = recvcounts, .displs = rdispls, .type = recvtype}}

#define ALLTOALLW_PARAMETERS                                                                                           \
  const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],               \
      void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
#define ALLTOALLW_ARGUMENTS sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm
#define ALLTOALLW_CALL                                                                                                 \
  {.send = {.buffer = sendbuf, .count = -1, .counts = sendcounts, .offsets = sdispls, .types = sendtypes},                          \
   .receive = {.buffer = recvbuf, .count = -1, .counts = recvcounts, .offsets = rdispls, .types = recvtypes}}

/* The forms of one collective. star: the member of the topology. */
#define DEFINE(function, star, signature)                                                                              \
  SFPMPI_EXPORT int MPI_Neighbor_##function(signature##_PARAMETERS)                                                           \
  {                                                                                                                    \
    sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);                                                          \
    int code = SFPMPI_TO_MPI;                                                                                          \
    if (topology != NULL)                                                                                              \
      code = block(&topology->star, &(const sfpmpi_call_t)signature##_CALL);                                                \
    return code != SFPMPI_TO_MPI ? code : sfpmpi_next.Neighbor_##function(signature##_ARGUMENTS);                              \
  }                                                                                                                    \
  SFPMPI_EXPORT int MPI_Ineighbor_##function(signature##_PARAMETERS, MPI_Request *request)                                    \
  {                                                                                                                    \
    sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);                                                          \
    int code = SFPMPI_TO_MPI;                                                                                          \
    if (topology != NULL)                                                                                              \
      code = begin(&topology->star, &(const sfpmpi_call_t)signature##_CALL, request);                                       \
    return code != SFPMPI_TO_MPI ? code : sfpmpi_next.Ineighbor_##function(signature##_ARGUMENTS, request);                    \
  }                                                                                                                    \
  SFPMPI_EXPORT int SFPMPI_PERSISTENT(Neighbor_##function##_init)(signature##_PARAMETERS, MPI_Info info,                      \
                                                          MPI_Request * request)                                       \
  {                                                                                                                    \
    sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);                                                          \
    int code = SFPMPI_TO_MPI;                                                                                          \
    if (topology != NULL)                                                                                              \
      code = prepare(&topology->star, &(const sfpmpi_call_t)signature##_CALL, request);                                     \
    return code != SFPMPI_TO_MPI ? code : sfpmpi_next.Neighbor_##function##_init(signature##_ARGUMENTS, info, request);        \
  }

DEFINE(allgather, allgather, SAME)
DEFINE(allgatherv, allgather, GATHERV)
DEFINE(alltoall, alltoall, SAME)
DEFINE(alltoallv, alltoall, ALLTOALLV)
DEFINE(alltoallw, alltoall, ALLTOALLW)
