/* The communication of a PetscSF of the adapter's type. */
#ifndef SFC_ADAPTERS_PETSC_OPERATIONS_H
#define SFC_ADAPTERS_PETSC_OPERATIONS_H

#include "client/adapters/petsc/petsc.h"

/* Puts the adapter's functions for operations into the table. */
void sfpetsc_operations_set(struct _PetscSFOps *ops);

/* Makes the graph of a PetscSF now, instead of at a later operation. Collective and blocking. */
PetscErrorCode sfpetsc_operations_prepare(PetscSF sf);

#endif
