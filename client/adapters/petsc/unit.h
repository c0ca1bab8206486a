/* MPI datatypes and ops of PETSc's calls in terms of units and ops. */
#ifndef SFC_ADAPTERS_PETSC_UNIT_H
#define SFC_ADAPTERS_PETSC_UNIT_H

#include "client/adapters/petsc/petsc.h"

/* What corresponds to a datatype. */
typedef struct sfpetsc_unit {
  uint64_t number;         /* of the datatype, never given to another one */
  const sf_type_t *values; /* NULL: no values that the library can calculate with */
  const sf_type_t *bytes;  /* NULL: no plain bytes */
} sfpetsc_unit_t;

/* The same answer on all ranks that ask for the same. The unit holds until the datatype is freed. Local. */
PetscErrorCode sfpetsc_unit_find(MPI_Datatype datatype, const sfpetsc_unit_t **unit_p);

/* Unit and op for a call with that op; *type_p NULL if the library has none. Local. */
PetscErrorCode sfpetsc_unit_choose(const sfpetsc_unit_t *unit, MPI_Op mpi_op, const sf_type_t **type_p,
                                   const sf_op_t **op_p);

/* Whether the result of a reduction may depend on the order in which values are combined. */
PetscBool sfpetsc_unit_rounds(const sf_type_t *type, const sf_op_t *op);

#endif
