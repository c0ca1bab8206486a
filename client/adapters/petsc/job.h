/* The process as one rank of a job: PETSC_COMM_WORLD. */
#ifndef SFC_ADAPTERS_PETSC_JOB_H
#define SFC_ADAPTERS_PETSC_JOB_H

#include "client/adapters/petsc/petsc.h"

/* Joins a job of the processes of PETSC_COMM_WORLD, or remembers why that was not possible: a program may load the
 * adapter and not use it. Does nothing when all of them are in one job already; else who was in one leaves it. PETSc
 * has just been initialised, perhaps again and with other processes. Collective over PETSC_COMM_WORLD. */
PetscErrorCode sfpetsc_job_join(void);

/* An error that says what to do, if the process is not in a job. */
PetscErrorCode sfpetsc_job_require(void);

/* NULL outside of a job. */
sf_context_t *sfpetsc_job_context(void);

/* The group of a communicator of PETSc's objects, which belongs to the communicator; NULL if not all of its processes
 * are ranks of the job. Collective; free when the communicator is as large as the job, or was asked for before. */
PetscErrorCode sfpetsc_job_group(MPI_Comm comm, sf_group_t **group_p);

#endif
