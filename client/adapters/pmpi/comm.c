/* Entry points that initialise and finalise MPI, and that create and name communicators. The thread that calls them. */
#include "client/adapters/pmpi/functions.h"
#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/topology.h"

SFPMPI_EXPORT int MPI_Init(int *argc, char ***argv)
{
  int code = sfpmpi_next.Init(argc, argv);
  if (code == MPI_SUCCESS)
    sfpmpi_job_join();
  return code;
}

SFPMPI_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  int code = sfpmpi_next.Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS)
    sfpmpi_job_join();
  return code;
}

SFPMPI_EXPORT int MPI_Finalize(void)
{
  sfpmpi_job_leave();
  return sfpmpi_next.Finalize();
}

/* The communicator that a function of MPI has created. */
static int attach(int code, const MPI_Comm *created, const char *maker, const void *caller)
{
  if (code == MPI_SUCCESS && created != NULL)
    sfpmpi_topology_attach(*created, maker, caller);
  return code;
}

#define CALLER __builtin_return_address(0)

SFPMPI_EXPORT int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
                                  MPI_Comm *created)
{
  return attach(sfpmpi_next.Cart_create(comm, ndims, dims, periods, reorder, created), created, "MPI_Cart_create",
                CALLER);
}

SFPMPI_EXPORT int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *created)
{
  return attach(sfpmpi_next.Cart_sub(comm, remain, created), created, "MPI_Cart_sub", CALLER);
}

SFPMPI_EXPORT int MPI_Graph_create(MPI_Comm comm, int n, const int index[], const int edges[], int reorder,
                                   MPI_Comm *created)
{
  return attach(sfpmpi_next.Graph_create(comm, n, index, edges, reorder, created), created, "MPI_Graph_create", CALLER);
}

SFPMPI_EXPORT int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
                                        const int destinations[], const int weights[], MPI_Info info, int reorder,
                                        MPI_Comm *created)
{
  int code = sfpmpi_next.Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder, created);
  return attach(code, created, "MPI_Dist_graph_create", CALLER);
}

SFPMPI_EXPORT int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int nin, const int in[], const int in_weights[],
                                                 int nout, const int out[], const int out_weights[], MPI_Info info,
                                                 int reorder, MPI_Comm *created)
{
  int code =
      sfpmpi_next.Dist_graph_create_adjacent(comm, nin, in, in_weights, nout, out, out_weights, info, reorder, created);
  return attach(code, created, "MPI_Dist_graph_create_adjacent", CALLER);
}

SFPMPI_EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *created)
{
  return attach(sfpmpi_next.Comm_dup(comm, created), created, "MPI_Comm_dup", CALLER);
}

SFPMPI_EXPORT int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *created)
{
  return attach(sfpmpi_next.Comm_dup_with_info(comm, info, created), created, "MPI_Comm_dup_with_info", CALLER);
}

/* Graphs can't be made before the communicator is complete, and then not collectively: MPI carries it. */
SFPMPI_EXPORT int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *created, MPI_Request *request)
{
  sfpmpi_topology_leave_copies(comm);
  return sfpmpi_next.Comm_idup(comm, created, request);
}

SFPMPI_EXPORT int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
  int code = sfpmpi_next.Comm_set_name(comm, name);
  if (code == MPI_SUCCESS)
    sfpmpi_topology_describe(comm);
  return code;
}
