/* Entry point for PETSc's loader: -dll_append .../libsfclient_petsc.so. The thread that calls PetscInitialize. */
#include "client/adapters/petsc/job.h"
#include "client/adapters/petsc/memory.h"
#include "client/adapters/petsc/star.h"

/* PETSc's private structs are used, and its integers and scalars: the running PETSc must be as the compiled one. The
 * functions asked first say what it was built with, and have no such parameters themselves. */
static PetscErrorCode check_build(void)
{
  PetscInt major, minor, patch, release;
  PetscDataType scalar = PETSC_SCALAR, real = PETSC_REAL;
  PetscBool found;
  size_t int_bytes;
  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &int_bytes));
  PetscCheck(int_bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libsfclient_petsc is built for a PETSc whose integers have %d bytes, but those of this one have %d",
             (int)sizeof(PetscInt), (int)int_bytes);
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
  PetscCall(PetscDataTypeFromString("real", &real, &found));
  PetscCheck(scalar == PETSC_SCALAR && real == PETSC_REAL, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libsfclient_petsc is built for a PETSc whose scalars are %s, but those of this one are %s",
             PetscDataTypes[PETSC_SCALAR], PetscDataTypes[scalar]);
  PetscCall(PetscGetVersionNumber(&major, &minor, &patch, &release));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libsfclient_petsc is built for PETSc %d.%d, but this is PETSc %" PetscInt_FMT ".%" PetscInt_FMT,
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_options(void)
{
  static const char *const names[] = {"no", "yes", "all"}; /* by sfpetsc_trials_t */
  PetscInt least = 65536, trials;
  PetscBool wanted, given;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-sfd_setup_after", &sfpetsc_setup_after, NULL));
  PetscCheck(sfpetsc_setup_after >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-sfd_setup_after %" PetscInt_FMT ": a number of operations expected, 0 or more", sfpetsc_setup_after);
  /* With 0 the program must not wait in a begin. */
  trials = sfpetsc_setup_after > 0 ? SFPETSC_TRIALS_SAME : SFPETSC_TRIALS_NONE;
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-sfd_trial", names, 3, &trials, NULL));
  sfpetsc_trials = (sfpetsc_trials_t)trials;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-sfd_malloc", &wanted));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-sfd_malloc", &least, &given));
  PetscCheck(least > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-sfd_malloc %" PetscInt_FMT ": the smallest number of bytes expected, 1 or more", least);
  if (wanted)
    PetscCall(sfpetsc_memory_use((size_t)least));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc finds this function by the library's name. It joins the job, because all processes of PETSC_COMM_WORLD come
 * here; at the first PetscSF they might not. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_sfclient_petsc(void);

PetscErrorCode PetscDLLibraryRegister_sfclient_petsc(void)
{
  PetscFunctionBegin;
  PetscCall(check_build());
  PetscCall(sfpetsc_job_join());
  PetscCall(read_options());
  PetscCall(PetscSFRegister(SFPETSC_TYPE, sfpetsc_star_create));
  PetscFunctionReturn(PETSC_SUCCESS);
}
