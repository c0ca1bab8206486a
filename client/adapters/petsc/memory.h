/* PETSc's larger allocations in sf_alloc memory, which the ranks of the node can read. */
#ifndef SFC_ADAPTERS_PETSC_MEMORY_H
#define SFC_ADAPTERS_PETSC_MEMORY_H

#include "client/adapters/petsc/petsc.h"

/* Makes PetscMalloc of at least that many bytes use sf_alloc. Local; once per PetscInitialize. */
PetscErrorCode sfpetsc_memory_use(size_t least_bytes);

#endif
