/* Entry points that initialise and finalise MPI, and that create and name communicators. The thread that calls them. */
#include "client/adapters/pmpi/functions.h"
#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/topology.h"

static int joined(int code)
{
  if (code == MPI_SUCCESS)
    sfpmpi_job_join();
  return code;
}

SFPMPI_EXPORT int MPI_Init(int *argc, char ***argv)
{
  return joined(sfpmpi_next.Init(argc, argv));
}

SFPMPI_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  return joined(sfpmpi_next.Init_thread(argc, argv, required, provided));
}

SFPMPI_EXPORT int MPI_Finalize(void)
{
  sfpmpi_job_leave();
  return sfpmpi_next.Finalize();
}

#define MAKE(prefix, name, parameters, arguments)                                                                      \
  SFPMPI_EXPORT int MPI_##name parameters                                                                              \
  {                                                                                                                    \
    int code = sfpmpi_next.name arguments;                                                                             \
    if (code == MPI_SUCCESS && created != NULL)                                                                        \
      sfpmpi_topology_attach(*created, "MPI_" #name, __builtin_return_address(0));                                     \
    return code;                                                                                                       \
  }
SFPMPI_MAKERS(MAKE)

#define LEAVE(what, name, parameters, arguments)                                                                       \
  SFPMPI_EXPORT int MPI_##name parameters                                                                              \
  {                                                                                                                    \
    sfpmpi_topology_leave(comm, what);                                                                                 \
    return sfpmpi_next.name arguments;                                                                                 \
  }
#define LEAVE_COPIES(prefix, ...) LEAVE(SFPMPI_LEFT_COPIES, __VA_ARGS__)
#define LEAVE_LARGE(prefix, ...) LEAVE(SFPMPI_LEFT_LARGE, __VA_ARGS__)
SFPMPI_DUPLICATORS(LEAVE_COPIES)
SFPMPI_LARGE(LEAVE_LARGE)

SFPMPI_EXPORT int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
  int code = sfpmpi_next.Comm_set_name(comm, name);
  if (code == MPI_SUCCESS)
    sfpmpi_topology_describe(comm);
  return code;
}
