/* PETSc's star forests as contenders, where sfperf was built with PETSc. */
#ifndef SFPERF_CONTENDERS_PETSC_H
#define SFPERF_CONTENDERS_PETSC_H

#include "tools/sfperf/contenders/method.h"

/* Version of PETSc, "" when built without. */
const char *sfperf_petsc_version(void);

/* To be called once, after MPI_Init and before MPI_Finalize. Collective. */
void sfperf_petsc_start(void);
void sfperf_petsc_stop(void);

/* "petsc_basic" and "petsc_neighbor", the two types of PetscSF that suit any graph; NULL-terminated, empty when built
 * without PETSc. */
extern const sfperf_method_t *const sfperf_petsc_methods[];

/* "petsc_basic": PetscSFSetGraph and PetscSFSetUp; NULL-terminated, empty when built without PETSc. */
extern const sfperf_creator_t *const sfperf_petsc_creators[];

#endif
