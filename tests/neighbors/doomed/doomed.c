/* A process of a ring is killed: each other one must get an error whose text names it from MPI_Neighbor_alltoall, by
 * the communicator's error handler, and no hang. Needs a launcher that lets the others go on. Plain MPI, one thread. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
  (void)comm;
  (void)code;
  handled++;
}

int main(int argc, char *argv[])
{
  char text[MPI_MAX_ERROR_STRING];
  int rank, size, in[2], out[2] = {1, 2}, length, code = MPI_SUCCESS, periodic = 1;
  MPI_Comm ring;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(ring, handler);
  alarm(30);
  for (int i = 0; i < 1000000 && code == MPI_SUCCESS; i++) {
    if (rank == 1 && i == 100)
      raise(SIGKILL);
    code = MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
  }
  MPI_Error_string(code, text, &length);
  printf("rank %d: %s, %s\n", rank, handled == 1 ? "handled" : "not handled", strstr(text, "rank 1") ? "rank 1" : text);
  fflush(stdout);
  _exit(0); /* MPI can't be finalized without the other process */
}
