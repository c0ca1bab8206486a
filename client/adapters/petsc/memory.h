/* PETSc's larger allocations in memory that the other ranks of the node can read. */
#ifndef SFC_ADAPTERS_PETSC_MEMORY_H
#define SFC_ADAPTERS_PETSC_MEMORY_H

#include "client/adapters/petsc/petsc.h"

/* From now on PetscMalloc of at least that many bytes gives memory of sf_alloc. Local; once per PetscInitialize. */
PetscErrorCode sfpetsc_memory_use(size_t least_bytes);

#endif
