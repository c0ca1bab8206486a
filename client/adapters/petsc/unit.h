/* Units and ops for PETSc's MPI datatypes and ops. */
#ifndef SFC_ADAPTERS_PETSC_UNIT_H
#define SFC_ADAPTERS_PETSC_UNIT_H

#include "client/adapters/petsc/petsc.h"

/* Units of a datatype. */
typedef struct sfpetsc_unit {
  uint64_t number;         /* identifies the datatype, not reused */
  const sf_type_t *values; /* NULL: the library cannot compute with its values */
  const sf_type_t *bytes;  /* NULL: not plain bytes */
} sfpetsc_unit_t;

/* Finds the units of a datatype, valid until it is freed; equal on all ranks. Local. */
PetscErrorCode sfpetsc_unit_find(MPI_Datatype datatype, const sfpetsc_unit_t **unit_p);

/* Unit and op for a call; *type_p NULL: none. Local. */
PetscErrorCode sfpetsc_unit_choose(const sfpetsc_unit_t *unit, MPI_Op mpi_op, const sf_type_t **type_p,
                                   const sf_op_t **op_p);

/* Whether a reduction's result may depend on the order of combining. */
PetscBool sfpetsc_unit_rounds(const sf_type_t *type, const sf_op_t *op);

#endif
