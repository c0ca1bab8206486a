/* Entry points of neighbourhood collectives: blocking, nonblocking and persistent. Any thread that may call MPI. */
#include "client/adapters/pmpi/functions.h"
#include "client/adapters/pmpi/operation.h"

static inline sfpmpi_side_t same(const void *buffer, int count, MPI_Datatype type)
{
  return (sfpmpi_side_t){.buffer = buffer, .count = count, .type = type};
}

static inline sfpmpi_side_t several(const void *buffer, const int counts[], const int displs[], MPI_Datatype type)
{
  return (sfpmpi_side_t){.buffer = buffer, .count = -1, .counts = counts, .displs = displs, .type = type};
}

static inline sfpmpi_side_t several_types(const void *buffer, const int counts[], const MPI_Aint offsets[],
                                          const MPI_Datatype types[])
{
  return (sfpmpi_side_t){.buffer = buffer, .count = -1, .counts = counts, .offsets = offsets, .types = types};
}

/* What operations know of the arguments. */
#define SAME_CALL SFPMPI_SAME, same(out, nout, out_type), same(in, nin, in_type)
#define GATHERV_CALL SFPMPI_V, same(out, nout, out_type), several(in, nin, in_displs, in_type)
#define ALLTOALLV_CALL SFPMPI_V, several(out, nout, out_displs, out_type), several(in, nin, in_displs, in_type)
#define ALLTOALLW_CALL                                                                                                 \
  SFPMPI_W, several_types(out, nout, out_displs, out_types), several_types(in, nin, in_displs, in_types)

/* MPI carries what sfd doesn't. request_p: NULL in the blocking form. */
#define CARRY(prefix, name, form, request_p, graph, call, parameters, arguments)                                       \
  SFPMPI_EXPORT int SFPMPI_SYMBOL(prefix, name) parameters                                                             \
  {                                                                                                                    \
    sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);                                                          \
    int code = SFPMPI_TO_MPI;                                                                                          \
    if (topology != NULL)                                                                                              \
      code = sfpmpi_operation_carry(&topology->graph, &(const sfpmpi_call_t){call}, form, request_p);                  \
    return code != SFPMPI_TO_MPI ? code : sfpmpi_next.name arguments;                                                  \
  }
#define CARRY_FORMS(unused, function, graph, kind)                                                                     \
  CARRY(MPI, Neighbor_##function, SFPMPI_BLOCKING, NULL, graph, kind##_CALL, (SFPMPI_##kind##_PARAMETERS(int, int)),   \
        (SFPMPI_##kind##_ARGUMENTS))                                                                                   \
  CARRY(MPI, Ineighbor_##function, SFPMPI_NONBLOCKING, request, graph, kind##_CALL,                                    \
        (SFPMPI_##kind##_PARAMETERS(int, int), MPI_Request * request), (SFPMPI_##kind##_ARGUMENTS, request))           \
  CARRY(SFPMPI_EXTENDED, Neighbor_##function##_init, SFPMPI_PERSISTENT_FORM, request, graph, kind##_CALL,              \
        (SFPMPI_##kind##_PARAMETERS(int, int), MPI_Info info, MPI_Request * request),                                  \
        (SFPMPI_##kind##_ARGUMENTS, info, request))
SFPMPI_FUNCTIONS_OF_NEIGHBORS(CARRY_FORMS, )
