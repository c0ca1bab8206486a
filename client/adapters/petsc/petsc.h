/* PETSc's interface for the adapter: versions 3.18 to 3.25. */
#ifndef SFC_ADAPTERS_PETSC_PETSC_H
#define SFC_ADAPTERS_PETSC_PETSC_H

#include <petscversion.h>

/* The private header defines PetscSF types. The fields and operations used here are the same in these versions. */
#if PETSC_VERSION_LT(3, 18, 0) || PETSC_VERSION_GE(3, 26, 0)
#error "client/petsc is for PETSc 3.18 to 3.25: compare petsc/private/sfimpl.h with that of 3.25 first"
#endif

#include <petsc/private/sfimpl.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

#include <sf/sf.h>

/* PetscSF type registered by the adapter. */
#define SFPETSC_TYPE "sfd"

/* Converts a status to a PETSc error, with the library's text. */
PetscErrorCode sfpetsc_check(sf_status_t status);

#endif
