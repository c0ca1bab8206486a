/* Units and ops for MPI datatypes and ops. Any thread that may call MPI. */
#include <sf/sf_mpi.h>

#include <limits.h>

#include "client/adapters/mpi/error.h"
#include "client/adapters/mpi/layout.h"
#include "shm/base/error.h"

/* Unit of an integer of that size. */
static const sf_type_t *integer_unit(size_t size_bytes, bool is_signed)
{
  switch (size_bytes) {
  case 1:
    return is_signed ? SF_INT8 : SF_UINT8;
  case 2:
    return is_signed ? SF_INT16 : SF_UINT16;
  case 4:
    return is_signed ? SF_INT32 : SF_UINT32;
  default:
    return is_signed ? SF_INT64 : SF_UINT64;
  }
}

/* Handles of predefined datatypes are not always constants, so this is no table. */
const sf_type_t *sfmpi_predefined_unit(MPI_Datatype d)
{
  if (d == MPI_DOUBLE)
    return SF_DOUBLE;
  if (d == MPI_FLOAT)
    return SF_FLOAT;
  if (d == MPI_C_DOUBLE_COMPLEX)
    return SF_DOUBLE_COMPLEX;
  if (d == MPI_C_FLOAT_COMPLEX || d == MPI_C_COMPLEX)
    return SF_FLOAT_COMPLEX;
  if (d == MPI_CHAR)
    return integer_unit(1, CHAR_MIN < 0);
  if (d == MPI_SIGNED_CHAR || d == MPI_INT8_T)
    return SF_INT8;
  if (d == MPI_UNSIGNED_CHAR || d == MPI_UINT8_T || d == MPI_BYTE || d == MPI_C_BOOL)
    return SF_UINT8;
  if (d == MPI_SHORT || d == MPI_INT16_T)
    return SF_INT16;
  if (d == MPI_UNSIGNED_SHORT || d == MPI_UINT16_T)
    return SF_UINT16;
  if (d == MPI_INT || d == MPI_INT32_T)
    return SF_INT32;
  if (d == MPI_UNSIGNED || d == MPI_UINT32_T)
    return SF_UINT32;
  if (d == MPI_LONG)
    return integer_unit(sizeof(long), true);
  if (d == MPI_UNSIGNED_LONG)
    return integer_unit(sizeof(long), false);
  if (d == MPI_LONG_LONG || d == MPI_INT64_T)
    return SF_INT64;
  if (d == MPI_UNSIGNED_LONG_LONG || d == MPI_UINT64_T)
    return SF_UINT64;
  if (d == MPI_AINT || d == MPI_COUNT || d == MPI_OFFSET)
    return SF_INT64;
  if (d == MPI_WCHAR)
    return integer_unit(sizeof(wchar_t), (wchar_t)-1 < 0);
  if (d == MPI_2INT)
    return SF_INT32_INT32;
  if (d == MPI_SHORT_INT)
    return SF_INT16_INT32;
  if (d == MPI_LONG_INT)
    return sizeof(long) == sizeof(int64_t) ? SF_INT64_INT32 : SF_INT32_INT32;
  if (d == MPI_FLOAT_INT)
    return SF_FLOAT_INT32;
  if (d == MPI_DOUBLE_INT)
    return SF_DOUBLE_INT32;
  return NULL;
}

sf_status_t sf_mpi_type(MPI_Datatype datatype, const sf_type_t **type_p)
{
  sfmpi_layout_t layout;
  sfmpi_run_t whole;
  if (type_p == NULL || datatype == MPI_DATATYPE_NULL)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_type: %s", type_p == NULL ? "type_p is NULL" : "MPI_DATATYPE_NULL");
  const sf_type_t *unit = sfmpi_predefined_unit(datatype);
  if (unit != NULL) {
    *type_p = unit;
    return SF_OK;
  }
  sf_status_t status = sfmpi_layout_make(datatype, &layout);
  if (status != SF_OK)
    return status;
  status = sfmpi_layout_join(&layout, &whole);
  sfmpi_layout_free(&layout);
  if (status != SF_OK)
    return status;
  if (whole.base == NULL)
    return sf_type_create_opaque(whole.count, type_p);
  return sf_type_create_block(whole.count, whole.base, type_p);
}

sf_status_t sf_mpi_op(MPI_Op op, const sf_op_t **op_p)
{
  const struct {
    MPI_Op mpi;
    const sf_op_t *sf;
  } table[] = {{MPI_REPLACE, SF_REPLACE}, {MPI_SUM, SF_SUM},   {MPI_PROD, SF_PROD}, {MPI_MAX, SF_MAX},
               {MPI_MIN, SF_MIN},         {MPI_LAND, SF_LAND}, {MPI_LOR, SF_LOR},   {MPI_LXOR, SF_LXOR},
               {MPI_BAND, SF_BAND},       {MPI_BOR, SF_BOR},   {MPI_BXOR, SF_BXOR}, {MPI_MAXLOC, SF_MAXLOC},
               {MPI_MINLOC, SF_MINLOC}};
  if (op_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_op: op_p is NULL");
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (table[i].mpi == op) {
      *op_p = table[i].sf;
      return SF_OK;
    }
  }
  return sfshm_error(SF_ERR_UNSUPPORTED,
                     "sf_mpi_op: no predefined op with a counterpart; sf_mpi_op_create makes one of others");
}
