/* Times one ghost exchange by sf beside the same by plain MPI. One thread per rank. */
#include "common/race.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/mpi_ghosts.h"

enum { BATCHES = 15, EXCHANGES = 100 };

typedef struct runners {
  const race_t *race;
  mpi_ghosts_t mpi;
  double *x;
  double *mpi_ghosts; /* what MPI delivers */
} runners_t;

/* Microseconds per exchange of the slowest rank. What is sent is written anew before each exchange, as a solver does:
 * it is then in the cache of its owner, from where it has to travel. */
static double time_batch(runners_t *runners, bool by_mpi)
{
  const race_t *race = runners->race;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < EXCHANGES; i++) {
    for (int k = 0; k < runners->mpi.nsend; k++)
      runners->x[runners->mpi.send_index[k]] = i + k;
    if (by_mpi)
      mpi_ghosts_exchange(&runners->mpi, runners->x, runners->mpi_ghosts);
    else
      must(sf_bcast(race->graph, SF_DOUBLE, runners->x, race->ghosts, SF_REPLACE), "sf_bcast");
  }
  return max_over_ranks(MPI_Wtime() - begin) / EXCHANGES * 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the times and prints them. Returns the median. */
static double report(const job_t *job, const char *name, double us[BATCHES])
{
  qsort(us, BATCHES, sizeof us[0], compare_doubles);
  say(job, "  %-22s %8.1f us   (median of %d batches of %d exchanges: %.1f to %.1f)\n", name, us[BATCHES / 2], BATCHES,
      EXCHANGES, us[0], us[BATCHES - 1]);
  return us[BATCHES / 2];
}

void race_run(job_t *job, const race_t *race)
{
  runners_t runners = {.race = race, .mpi = mpi_ghosts_new(race->nghosts, race->ghost_rank, race->ghost_index)};
  runners.x = vector_new(job, race->nroots);
  runners.mpi_ghosts = array_new(race->nghosts, sizeof *runners.mpi_ghosts);
  double sf_us[BATCHES], mpi_us[BATCHES];
  for (int batch = 0; batch < BATCHES; batch++) { /* in turns: what disturbs the machine disturbs both */
    sf_us[batch] = time_batch(&runners, false);
    mpi_us[batch] = time_batch(&runners, true);
  }
  double sf_median = report(job, "sf_bcast", sf_us), mpi_median = report(job, "MPI_Isend, MPI_Irecv", mpi_us);
  say(job, "  sf takes %.2f of the time that MPI takes.\n", sf_median / mpi_median);
  if (job->size > sysconf(_SC_NPROCESSORS_ONLN))
    say(job, "  There are more ranks than cores: both times include waiting for a core.\n");
  bool same = memcmp(runners.mpi_ghosts, race->ghosts, sizeof *race->ghosts * (size_t)race->nghosts) == 0;
  check(job, true_on_all_ranks(same), "both delivered the same ghosts");
  vector_free(job, runners.x);
  free(runners.mpi_ghosts);
  mpi_ghosts_free(&runners.mpi);
}
