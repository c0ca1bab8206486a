/* Job of the processes of PETSC_COMM_WORLD. */
#ifndef SFC_ADAPTERS_PETSC_JOB_H
#define SFC_ADAPTERS_PETSC_JOB_H

#include "client/adapters/petsc/petsc.h"

/* Joins a job of the processes of PETSC_COMM_WORLD. On failure keeps the reason: a program may load the adapter and not
 * use it. Does nothing if all processes are in one job; otherwise members of a former job leave it. Called after
 * PetscInitialize, perhaps repeatedly with other processes. Collective over PETSC_COMM_WORLD. */
PetscErrorCode sfpetsc_job_join(void);

/* Returns an error that says what to do if the process is in no job. */
PetscErrorCode sfpetsc_job_require(void);

/* NULL outside of a job. */
sf_context_t *sfpetsc_job_context(void);

/* Group of a communicator of PETSc's objects, owned by the communicator; NULL if some processes are not in the job.
 * Collective; without cost for a communicator as large as the job, or seen before. */
PetscErrorCode sfpetsc_job_group(MPI_Comm comm, sf_group_t **group_p);

#endif
