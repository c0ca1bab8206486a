/* Job of the processes of PETSC_COMM_WORLD: see job.h. The thread that calls PETSc. */
#include "client/adapters/petsc/job.h"

#include <sf/sf_mpi.h>
#include <stdio.h>

/* A process has one job from loading the adapter until MPI_Finalize; another one if PETSc is initialised again with
 * processes outside of it. */
static sf_context_t *the_context;
static uintptr_t job_number; /* number of jobs so far */
static char why_not[1024] = "PETSc has not loaded the adapter";
static MPI_Group the_group = MPI_GROUP_NULL; /* processes in the job's order */
static int group_keyval = MPI_KEYVAL_INVALID;

PetscErrorCode sfpetsc_check(sf_status_t status)
{
  PetscFunctionBegin;
  PetscCheck(status == SF_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "sfd: %s: %s", sf_strerror(status), sf_error_detail());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Joining and leaving ----------------------------------------------------------------------------------------- */

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF. PETSc has freed its objects. */
static int leave(MPI_Comm comm, int keyval, void *value, void *extra)
{
  (void)comm;
  (void)keyval;
  (void)value;
  (void)extra;
  (void)sf_finalize(the_context); /* of a job that has failed: others have said so */
  the_context = NULL;
  if (the_group != MPI_GROUP_NULL)
    MPI_Group_free(&the_group);
  return MPI_SUCCESS;
}

static PetscErrorCode leave_in_the_end(void)
{
  int keyval;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &keyval, NULL));
  PetscCallMPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
  PetscCallMPI(MPI_Comm_free_keyval(&keyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int free_group(MPI_Comm comm, int keyval, void *value, void *extra)
{
  (void)comm;
  (void)keyval;
  if (the_context != NULL && (uintptr_t)extra == job_number && value != NULL && value != sf_group_world(the_context))
    (void)sf_group_destroy(value);
  return MPI_SUCCESS;
}

static PetscErrorCode find_ranks(MPI_Comm comm, int size, int32_t *ranks, PetscBool *all_p);

/* Whether all processes of PETSC_COMM_WORLD are in one job. Collective. */
static PetscErrorCode have_all_joined(PetscBool *joined_p)
{
  int size, mine, all;
  int32_t *ranks;
  PetscFunctionBegin;
  *joined_p = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (the_context != NULL) {
    PetscCall(PetscMalloc1(size, &ranks));
    PetscCall(find_ranks(PETSC_COMM_WORLD, size, ranks, joined_p));
    PetscCall(PetscFree(ranks));
  }
  mine = *joined_p == PETSC_TRUE;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  *joined_p = (PetscBool)(all != 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leaves the former job. PETSc has been finalised since, so it has no objects there. */
static PetscErrorCode leave_former(void)
{
  PetscFunctionBegin;
  if (the_context == NULL)
    PetscFunctionReturn(PETSC_SUCCESS);
  (void)sf_finalize(the_context); /* of a job that has failed: others have said so */
  the_context = NULL;
  PetscCallMPI(MPI_Group_free(&the_group));
  PetscCallMPI(MPI_Comm_free_keyval(&group_keyval)); /* attributes keep it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_job_join(void)
{
  PetscBool joined;
  PetscFunctionBegin;
  PetscCall(have_all_joined(&joined));
  if (joined)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(leave_former());
  sf_status_t status = sf_mpi_init(PETSC_COMM_WORLD, NULL, &the_context);
  if (status != SF_OK) {
    the_context = NULL;
    snprintf(why_not, sizeof why_not, "%s: %s", sf_strerror(status), sf_error_detail());
    PetscCall(PetscInfo(NULL, "sfd: not joined: %s\n", why_not));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_group(PETSC_COMM_WORLD, &the_group));
  job_number++;
  PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_group, &group_keyval, (void *)job_number));
  if (job_number == 1)
    PetscCall(leave_in_the_end());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_job_require(void)
{
  PetscFunctionBegin;
  PetscCheck(
      the_context != NULL, PETSC_COMM_SELF, PETSC_ERR_LIB,
      "PetscSF type %s: this process is not connected to a daemon: %s (for example: sfrun -n 4 -- ./program ...)",
      SFPETSC_TYPE, why_not);
  PetscFunctionReturn(PETSC_SUCCESS);
}

sf_context_t *sfpetsc_job_context(void)
{
  return the_context;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* Job ranks of the communicator's processes; *all_p false: one has none. */
static PetscErrorCode find_ranks(MPI_Comm comm, int size, int32_t *ranks, PetscBool *all_p)
{
  MPI_Group group;
  int *numbers;
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(size, &numbers));
  for (int i = 0; i < size; i++)
    numbers[i] = i;
  PetscCallMPI(MPI_Comm_group(comm, &group));
  PetscCallMPI(MPI_Group_translate_ranks(group, size, numbers, the_group, ranks));
  PetscCallMPI(MPI_Group_free(&group));
  PetscCall(PetscFree(numbers));
  *all_p = PETSC_TRUE;
  for (int i = 0; i < size; i++)
    if (ranks[i] == MPI_UNDEFINED)
      *all_p = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool is_world(int size, const int32_t *ranks)
{
  for (int i = 0; i < size; i++)
    if (ranks[i] != i)
      return PETSC_FALSE;
  return (PetscBool)(size == sf_size(the_context));
}

/* Tag of these groups. */
#define GROUP_TAG (-0x504554)

static PetscErrorCode make_group(MPI_Comm comm, sf_group_t **group_p)
{
  int size;
  int32_t *ranks;
  PetscBool all = PETSC_FALSE;
  PetscFunctionBegin;
  *group_p = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(size, &ranks));
  PetscCall(find_ranks(comm, size, ranks, &all));
  if (all && is_world(size, ranks))
    *group_p = sf_group_world(the_context);
  else if (all)
    PetscCall(sfpetsc_check(sf_group_create(the_context, size, ranks, GROUP_TAG, group_p)));
  PetscCall(PetscFree(ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_job_group(MPI_Comm comm, sf_group_t **group_p)
{
  int found;
  void *value;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_get_attr(comm, group_keyval, &value, &found));
  if (!found) {
    PetscCall(make_group(comm, group_p));
    PetscCallMPI(MPI_Comm_set_attr(comm, group_keyval, *group_p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *group_p = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}
