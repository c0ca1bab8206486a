/* Units and ops: see unit.h. The thread that calls PETSc. */
#include "client/adapters/petsc/unit.h"

#include <sf/sf_mpi.h>

#include "client/adapters/mpi/envelope.h"
#include "client/core.h"
#include "shm/kernels/unit.h"

/* Known datatypes, most recent first. A derived one is removed when MPI frees it and deletes its attribute. */
typedef struct entry {
  struct entry *next;
  MPI_Datatype datatype;
  sfpetsc_unit_t unit;
} entry_t;

static entry_t *entries;
static uint64_t last_number;
static int keyval = MPI_KEYVAL_INVALID;

/* ---- Looking up and forgetting ----------------------------------------------------------------------------------- */

static entry_t *take(MPI_Datatype datatype)
{
  for (entry_t **place = &entries; *place != NULL; place = &(*place)->next) {
    entry_t *entry = *place;
    if (entry->datatype == datatype) {
      *place = entry->next;
      return entry;
    }
  }
  return NULL;
}

static void put(entry_t *entry)
{
  entry->next = entries;
  entries = entry;
}

static int forget(MPI_Datatype datatype, int key, void *value, void *extra)
{
  (void)key;
  (void)value;
  (void)extra;
  entry_t *entry = take(datatype);
  if (entry != NULL) {
    (void)sf_type_destroy(entry->unit.values);
    (void)sf_type_destroy(entry->unit.bytes);
    free(entry);
  }
  return MPI_SUCCESS;
}

/* Predefined datatypes are never freed. */
static PetscErrorCode watch(MPI_Datatype datatype)
{
  sfmpi_envelope_t envelope;
  PetscFunctionBegin;
  PetscCallMPI(sfmpi_envelope(datatype, &envelope));
  if (envelope.combiner == MPI_COMBINER_NAMED)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (keyval == MPI_KEYVAL_INVALID)
    PetscCallMPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL));
  PetscCallMPI(MPI_Type_set_attr(datatype, keyval, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Datatypes --------------------------------------------------------------------------------------------------- */

/* As PETSc does: a unit that is only moved is all bytes up to the next one. */
static PetscErrorCode find_bytes(MPI_Datatype datatype, const sf_type_t **bytes_p)
{
  MPI_Aint low, extent;
  PetscFunctionBegin;
  *bytes_p = NULL;
  PetscCallMPI(MPI_Type_get_extent(datatype, &low, &extent));
  if (low == 0 && extent > 0)
    PetscCall(sfpetsc_check(sf_type_create_opaque(extent, bytes_p)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode learn(MPI_Datatype datatype, entry_t **entry_p)
{
  entry_t *entry;
  PetscFunctionBegin;
  entry = calloc(1, sizeof *entry); /* outlives PETSc */
  PetscCheck(entry != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "sfd: unit of a datatype");
  entry->datatype = datatype;
  entry->unit.number = ++last_number;
  PetscCall(find_bytes(datatype, &entry->unit.bytes));
  if (sf_mpi_type(datatype, &entry->unit.values) != SF_OK)
    entry->unit.values = NULL;
  else if (entry->unit.bytes == NULL || sf_type_size(entry->unit.values) != sf_type_size(entry->unit.bytes))
    entry->unit.values = NULL; /* the values are not adjacent */
  PetscCall(watch(datatype));
  *entry_p = entry;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_unit_find(MPI_Datatype datatype, const sfpetsc_unit_t **unit_p)
{
  PetscFunctionBegin;
  if (entries == NULL || entries->datatype != datatype) {
    entry_t *entry = take(datatype);
    if (entry == NULL)
      PetscCall(learn(datatype, &entry));
    put(entry);
  }
  *unit_p = &entries->unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Ops --------------------------------------------------------------------------------------------------------- */

PetscErrorCode sfpetsc_unit_choose(const sfpetsc_unit_t *unit, MPI_Op mpi_op, const sf_type_t **type_p,
                                   const sf_op_t **op_p)
{
  PetscFunctionBegin;
  *type_p = NULL;
  *op_p = NULL;
  if (mpi_op == MPI_REPLACE) {
    *type_p = unit->values != NULL ? unit->values : unit->bytes;
    *op_p = SF_REPLACE;
  } else if (unit->values != NULL && sf_mpi_op(mpi_op, op_p) == SF_OK &&
             sfshm_op_applies((*op_p)->op, unit->values->unit.base)) {
    *type_p = unit->values;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool sfpetsc_unit_rounds(const sf_type_t *type, const sf_op_t *op)
{
  return (PetscBool)(op != SF_REPLACE && !sfshm_op_order_free(op->op, type->unit.base));
}
