/* Communication functions of the adapter's PetscSF type. */
#ifndef SFC_ADAPTERS_PETSC_OPERATIONS_H
#define SFC_ADAPTERS_PETSC_OPERATIONS_H

#include "client/adapters/petsc/petsc.h"

/* Sets the adapter's functions in the table. */
void sfpetsc_operations_set(struct _PetscSFOps *ops);

/* Creates the graph of a PetscSF now instead of at a later operation. Collective and blocking. */
PetscErrorCode sfpetsc_operations_prepare(PetscSF sf);

#endif
