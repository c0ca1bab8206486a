/* What the adapter needs of PETSc, whichever of the versions that it knows it is: 3.18 to 3.25. */
#ifndef SFC_ADAPTERS_PETSC_PETSC_H
#define SFC_ADAPTERS_PETSC_PETSC_H

#include <petscversion.h>

/* The private header has what a PetscSF type is made of. Between these versions the fields and operations that this
 * adapter uses have kept their names and forms. */
#if PETSC_VERSION_LT(3, 18, 0) || PETSC_VERSION_GE(3, 26, 0)
#error "client/petsc is for PETSc 3.18 to 3.25: compare petsc/private/sfimpl.h with that of 3.25 first"
#endif

#include <petsc/private/sfimpl.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

#include <sf/sf.h>

/* The PetscSF type that the adapter registers. */
#define SFPETSC_TYPE "sfd"

/* An error of the library as one of PETSc, with the library's own text. */
PetscErrorCode sfpetsc_check(sf_status_t status);

#endif
