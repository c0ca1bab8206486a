/* Contexts and groups from MPI communicators. The thread that calls MPI. */
#include <sf/sf_mpi.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "client/adapters/mpi/error.h"
#include "client/core.h"
#include "shm/base/error.h"

/* Sent by rank 0. */
typedef struct sfmpi_identity {
  char job[160];
  char key[40];
} sfmpi_identity_t;

static sf_status_t check_launcher(void)
{
  int size = 0;
  sf_status_t status = sfmpi_check(MPI_Comm_size(MPI_COMM_WORLD, &size), "sf_mpi_init: MPI_Comm_size");
  return status ? status : sfc_identity_check_world("sf_mpi_init", size);
}

static sf_status_t make_identity(sfmpi_identity_t *identity)
{
  uint64_t random[3];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return sfshm_error_errno(SF_ERR_SYS, "sf_mpi_init: getrandom");
  /* SF_JOB_KEY is for sf_init; there may be several communicators */
  const char *name = getenv("SF_JOB");
  if (name == NULL || *name == '\0')
    name = program_invocation_short_name;
  snprintf(identity->job, sizeof identity->job, "%.128s-%06llx", name, (unsigned long long)random[0] & 0xffffff);
  snprintf(identity->key, sizeof identity->key, "%016llx%016llx", (unsigned long long)random[1],
           (unsigned long long)random[2]);
  return SF_OK;
}

/* Result of one process. */
typedef struct sfmpi_outcome {
  int32_t status;
  char detail[508];
} sfmpi_outcome_t;

/* Agrees on success among the processes of comm. After a failure, a process with an error returns its own error; any
 * other process returns the error of the lowest rank that has one. */
static sf_status_t agree(MPI_Comm comm, sf_status_t status, const char *what)
{
  int rank = 0, mine, lowest = INT_MAX;
  sfmpi_outcome_t own = {.status = status}, told;
  snprintf(own.detail, sizeof own.detail, "%s", sfshm_error_detail());
  sf_status_t mpi = sfmpi_check(MPI_Comm_rank(comm, &rank), what);
  mine = status == SF_OK ? INT_MAX : rank;
  if (mpi == SF_OK)
    mpi = sfmpi_check(MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, comm), what);
  if (mpi == SF_OK && lowest != INT_MAX) {
    told = own;
    mpi = sfmpi_check(MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, lowest, comm), what);
  }
  if (status != SF_OK)
    return sfshm_error(status, "%s", own.detail);
  if (mpi != SF_OK || lowest == INT_MAX)
    return mpi;
  return sfshm_error((sf_status_t)told.status, "process %d of the communicator: %s", lowest, told.detail);
}

sf_status_t sf_mpi_init(MPI_Comm comm, const sf_init_options_t *options, sf_context_t **context_p)
{
  sf_init_options_t filled = SF_INIT_OPTIONS_DEFAULT;
  sfmpi_identity_t identity = {.job = ""};
  int rank = 0, size = 0;
  if (options != NULL)
    filled = *options;
  sf_status_t status = SF_OK;
  if (context_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "sf_mpi_init: context_p is NULL");
  else if (filled.job != NULL || filled.key != NULL || filled.rank != -1 || filled.size != -1)
    status = sfshm_error(SF_ERR_ARG, "sf_mpi_init: job, key, rank and size come from the communicator");
  sf_status_t mpi = sfmpi_check(MPI_Comm_rank(comm, &rank), "sf_mpi_init: MPI_Comm_rank");
  if (mpi == SF_OK)
    mpi = sfmpi_check(MPI_Comm_size(comm, &size), "sf_mpi_init: MPI_Comm_size");
  if (mpi != SF_OK)
    return mpi;
  if (status == SF_OK)
    status = check_launcher();
  if (rank == 0 && status == SF_OK)
    status = make_identity(&identity);
  mpi = sfmpi_check(MPI_Bcast(&identity, (int)sizeof identity, MPI_BYTE, 0, comm), "sf_mpi_init: MPI_Bcast");
  if (status == SF_OK)
    status = mpi;
  status = agree(comm, status, "sf_mpi_init"); /* before the others wait for one that will not come */
  if (status != SF_OK)
    return status;
  filled.job = identity.job;
  filled.key = identity.key;
  filled.rank = rank;
  filled.size = size;
  sf_context_t *context = NULL;
  status = agree(comm, sf_init(&filled, &context), "sf_init");
  if (status != SF_OK) {
    (void)sf_finalize(context);
    return status;
  }
  *context_p = context;
  return SF_OK;
}

/* Tag of these groups; callers of sf_group_create use other tags. */
#define GROUP_TAG (-0x4d5049)

sf_status_t sf_mpi_group(sf_context_t *context, MPI_Comm comm, sf_group_t **group_p)
{
  int size = 0;
  int32_t rank = sf_rank(context);
  sf_status_t status = sfmpi_check(MPI_Comm_size(comm, &size), "sf_mpi_group: MPI_Comm_size");
  if (status != SF_OK)
    return status;
  int32_t *ranks = malloc((size_t)size * sizeof *ranks);
  if (context == NULL || group_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "sf_mpi_group: %s is NULL", context == NULL ? "context" : "group_p");
  else if (ranks == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "sf_mpi_group: list of %d ranks", size);
  status = agree(comm, status, "sf_mpi_group"); /* before the others wait for one that will not come */
  if (status == SF_OK)
    status =
        sfmpi_check(MPI_Allgather(&rank, 1, MPI_INT32_T, ranks, 1, MPI_INT32_T, comm), "sf_mpi_group: MPI_Allgather");
  if (status == SF_OK)
    status = sf_group_create(context, size, ranks, GROUP_TAG, group_p);
  free(ranks);
  return status;
}
