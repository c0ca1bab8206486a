/* Contexts and groups of MPI communicators when one process has wrong arguments: all get its error, and none waits for
 * ever; what is right works before and afterwards. Any number of processes from 2 on. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <sf/sf_mpi.h>

static int failures, rank, size;

static void expect(bool ok, const char *what)
{
  if (ok)
    return;
  fprintf(stderr, "process %d: not so: %s (%s)\n", rank, what, sf_error_detail());
  failures++;
}

/* What the last process refuses all are told of. */
static void expect_refused(sf_status_t status, const char *detail)
{
  char who[64];
  snprintf(who, sizeof who, "process %d of the communicator: ", size - 1);
  expect(status == SF_ERR_ARG, "SF_ERR_ARG");
  expect(strstr(sf_error_detail(), detail) != NULL, detail);
  expect(rank == size - 1 || strncmp(sf_error_detail(), who, strlen(who)) == 0, who);
}

static void refuse_init(void)
{
  sf_init_options_t options = SF_INIT_OPTIONS_DEFAULT;
  sf_context_t *context = NULL;
  if (rank == size - 1)
    options.size = size;
  expect_refused(sf_mpi_init(MPI_COMM_WORLD, &options, &context), "come from the communicator");
  expect(context == NULL, "no context");
}

static void refuse_group(sf_context_t *context)
{
  sf_group_t *group = NULL;
  expect_refused(sf_mpi_group(context, MPI_COMM_WORLD, rank == size - 1 ? NULL : &group), "group_p is NULL");
  expect(group == NULL, "no group");
  expect_refused(sf_mpi_group(rank == size - 1 ? NULL : context, MPI_COMM_WORLD, &group), "context is NULL");
  expect(group == NULL, "no group");
}

/* Of the processes in reverse order. */
static void make_group(sf_context_t *context)
{
  MPI_Comm reversed;
  sf_group_t *group = NULL;
  expect(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed) == MPI_SUCCESS, "MPI_Comm_split");
  expect(sf_mpi_group(context, reversed, &group) == SF_OK, "sf_mpi_group");
  expect(sf_group_rank(group) == size - 1 - rank && sf_group_size(group) == size, "the communicator's order");
  expect(sf_group_destroy(group) == SF_OK, "sf_group_destroy");
  MPI_Comm_free(&reversed);
}

int main(int argc, char **argv)
{
  sf_context_t *context = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  refuse_init();
  expect(sf_mpi_init(MPI_COMM_WORLD, NULL, &context) == SF_OK, "sf_mpi_init");
  if (context != NULL) {
    make_group(context);
    refuse_group(context);
    make_group(context);
    expect(sf_finalize(context) == SF_OK, "sf_finalize");
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
