/* Communicators and calls that sfd leaves to MPI: a copy by MPI_Comm_idup, or by MPI_Comm_idup_with_info; calls with
 * large counts; a communicator whose processes disagree about who sends to whom; and communicators with processes that
 * were spawned, with and without the library, also while a process's library has no memory. Exchanges must work on all
 * but the one whose processes disagree; then the first process runs the command, which looks at them. Plain MPI, one
 * thread.
 *
 * usage: refused COMMAND */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NCOMMS 7

static int starved; /* the library of this process gets no memory */

extern void *__libc_calloc(size_t n, size_t size);

void *calloc(size_t n, size_t size)
{
  Dl_info info;
  if (starved && dladdr(__builtin_return_address(0), &info) != 0 && strstr(info.dli_fname, "libsfclient_pmpi") != NULL)
    return NULL;
  return __libc_calloc(n, size);
}

/* Some of the functions of MPI 4. */
static void gather_large(int *rank, int from[2], MPI_Comm ring)
{
#if MPI_VERSION >= 4
  const MPI_Count counts[2] = {1, 1};
  const MPI_Aint displs[2] = {0, 1};
  MPI_Request request;
  MPI_Neighbor_allgather_c(rank, 1, MPI_INT, from, 1, MPI_INT, ring);
  MPI_Ineighbor_allgatherv_c(rank, 1, MPI_INT, from, counts, displs, MPI_INT, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
  MPI_Neighbor_allgather(rank, 1, MPI_INT, from, 1, MPI_INT, ring);
#endif
}

/* A ring of the processes, each of which sends its rank to the next one. */
static void expect_ring(MPI_Comm ring, bool large)
{
  int rank, size, from[2] = {-1, -1};
  MPI_Comm_rank(ring, &rank);
  MPI_Comm_size(ring, &size);
  if (large)
    gather_large(&rank, from, ring);
  else
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, from, 1, MPI_INT, ring);
  if (from[0] != (rank + size - 1) % size || from[1] != (rank + 1) % size) {
    fprintf(stderr, "rank %d of %d: received %d and %d\n", rank, size, from[0], from[1]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static MPI_Comm make_ring(MPI_Comm comm, const char *name)
{
  int size, periodic = 1;
  MPI_Comm ring;
  MPI_Comm_size(comm, &size);
  MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
  MPI_Comm_set_name(ring, name);
  return ring;
}

static MPI_Comm make_merged(MPI_Comm between, int high, int low_is_starved)
{
  MPI_Comm merged, ring;
  MPI_Intercomm_merge(between, high, &merged);
  starved = low_is_starved;
  ring = make_ring(merged, "of starved worlds");
  starved = 0;
  expect_ring(ring, false);
  MPI_Comm_free(&ring);
  ring = make_ring(merged, "of two worlds");
  expect_ring(ring, false);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&between);
  return ring;
}

static MPI_Comm make_with_spawned(const char *program, int rank)
{
#ifdef OPEN_MPI
  char spawned[] = "spawned", *arguments[] = {spawned, NULL};
  MPI_Comm child;
  MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
  return make_merged(child, 0, rank == 1);
#else
  (void)program;
  (void)rank;
  return make_ring(MPI_COMM_WORLD, "of one world");
#endif
}

static int be_spawned(int *argc, char ***argv)
{
  MPI_Comm parent, ring;
  setenv("SF_MPI_NEIGHBORS", "off", 1);
  MPI_Init(argc, argv);
  MPI_Comm_get_parent(&parent);
  ring = make_merged(parent, 1, 0);
  MPI_Comm_free(&ring);
  return MPI_Finalize();
}

/* Who sends to the next process, and receives from nobody. */
static MPI_Comm make_odd(int rank, int size)
{
  int next = (rank + 1) % size;
  MPI_Comm odd;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &odd);
  MPI_Comm_set_name(odd, "odd");
  return odd;
}

int main(int argc, char *argv[])
{
  int rank, size, failed = 0;
  MPI_Comm comms[NCOMMS];
  MPI_Request request;
  alarm(30);
  if (argc > 1 && strcmp(argv[1], "spawned") == 0)
    return be_spawned(&argc, &argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comms[0] = make_ring(MPI_COMM_WORLD, "copied");
  MPI_Comm_idup(comms[0], &comms[1], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_ring(comms[0], false);
  expect_ring(comms[1], false);
  comms[4] = make_ring(MPI_COMM_WORLD, "copied with info");
#if MPI_VERSION >= 4
  MPI_Comm_idup_with_info(comms[4], MPI_INFO_NULL, &comms[5], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
  MPI_Comm_dup_with_info(comms[4], MPI_INFO_NULL, &comms[5]);
#endif
  expect_ring(comms[5], false);
  comms[6] = make_ring(MPI_COMM_WORLD, "large");
  expect_ring(comms[6], true);
  comms[2] = make_odd(rank, size);
  comms[3] = make_with_spawned(argv[0], rank);
  if (rank == 0)
    failed = argc != 2 || system(argv[1]) != 0;
  MPI_Bcast(&failed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < NCOMMS; i++)
    MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return failed;
}
