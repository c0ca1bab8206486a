/* A process of a ring is killed: each other one must get an error whose text names it from MPI_Neighbor_alltoall, by
 * the communicator's error handler, and no hang. Needs a launcher that lets the others go on. What process N found is
 * in DIRECTORY/N, because launchers lose output when processes end in this way. Plain MPI, one thread.
 *
 * usage: doomed DIRECTORY */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DOOMED 1
#define HANG_S 400

static int handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
  (void)comm;
  (void)code;
  handled++;
}

/* Writes what this process found, and waits until the others have: the first that ends may take the launcher along. */
static void write_found(const char *directory, int rank, int size, const char *found)
{
  char path[4096], complete[4096];
  snprintf(path, sizeof path, "%s/%d.part", directory, rank);
  snprintf(complete, sizeof complete, "%s/%d", directory, rank);
  FILE *file = fopen(path, "w");
  if (file == NULL || fprintf(file, "%s\n", found) < 0 || fclose(file) != 0 || rename(path, complete) != 0)
    perror(complete);
  for (int other = 0; other < size; other++) {
    snprintf(complete, sizeof complete, "%s/%d", directory, other);
    while (other != DOOMED && access(complete, F_OK) != 0)
      usleep(1000);
  }
}

int main(int argc, char *argv[])
{
  char found[MPI_MAX_ERROR_STRING + 40], text[MPI_MAX_ERROR_STRING];
  int rank, size, in[2], out[2] = {1, 2}, length, code = MPI_SUCCESS, periodic = 1;
  MPI_Comm ring;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(ring, handler);
  alarm(HANG_S);
  for (int i = 0; i < 1000000 && code == MPI_SUCCESS; i++) {
    if (rank == DOOMED && i == 100)
      raise(SIGKILL);
    code = MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
  }
  MPI_Error_string(code, text, &length);
  snprintf(found, sizeof found, "%s, %s", handled == 1 ? "handled" : "not handled",
           strstr(text, "rank 1") ? "rank 1" : text);
  write_found(argc > 1 ? argv[1] : ".", rank, size, found);
  _exit(0); /* MPI can't be finalized without the other process */
}
