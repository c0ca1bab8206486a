/* What every parallel example needs around its own work. One thread per rank. */
#include "common/job.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void must(sf_status_t status, const char *what)
{
  if (status == SF_OK)
    return;
  fprintf(stderr, "%s: %s: %s\n", what, sf_strerror(status), sf_error_detail());
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

job_t job_join(void)
{
  job_t job = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  must(sf_init(NULL, &job.context), "sf_init");
  if (sf_rank(job.context) != job.rank || sf_size(job.context) != job.size) {
    fprintf(
        stderr,
        "rank %d of %d for MPI is rank %d of %d for sf: is the program started by sfrun --launcher local or another "
        "MPI's mpirun, or are SF_RANK and SF_SIZE set by hand?\n",
        job.rank, job.size, sf_rank(job.context), sf_size(job.context));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  return job;
}

int job_end(job_t *job)
{
  int nfailed = job->nfailed;
  if (nfailed > 0)
    say(job, "\n%d check(s) FAILED: see above.\n", nfailed);
  else
    say(job, "\nAll checks passed.\n");
  MPI_Bcast(&nfailed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  must(sf_finalize(job->context), "sf_finalize");
  MPI_Finalize();
  return nfailed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

void end_with_usage(bool help, const char *format, ...)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
  }
  MPI_Finalize();
  exit(help ? EXIT_SUCCESS : EXIT_FAILURE);
}

int32_t number_argument(int argc, char *argv[], const char *what, int32_t least, int32_t most, int32_t otherwise)
{
  char *end = NULL;
  if (argc < 2)
    return otherwise;
  long number = strtol(argv[1], &end, 10);
  if (argc == 2 && end != argv[1] && *end == '\0' && number >= least && number <= most)
    return (int32_t)number;
  bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
  end_with_usage(help, "usage: sfrun -n RANKS -- %s [%s, %d to %d; otherwise %d]\n", argv[0], what, least, most,
                 otherwise);
}

void say(const job_t *job, const char *format, ...)
{
  if (job->rank != 0)
    return;
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

void check(job_t *job, bool ok, const char *format, ...)
{
  if (job->rank != 0)
    return;
  job->nfailed += !ok;
  printf(ok ? "  ok      " : "  FAILED  ");
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  fflush(stdout);
}

double sum_over_ranks(double value)
{
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

double max_over_ranks(double value)
{
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

bool true_on_all_ranks(bool value)
{
  int all = value;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all;
}

void wait_for_rank_0(void)
{
  MPI_Request barrier;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  while (MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), !done)
    usleep(1000);
}

double *vector_new(const job_t *job, int32_t n)
{
  void *address;
  must(sf_alloc(job->context, sizeof(double) * (size_t)(n > 0 ? n : 1), &address), "sf_alloc");
  return address;
}

void vector_free(const job_t *job, double *vector)
{
  must(sf_free(job->context, vector), "sf_free");
}
