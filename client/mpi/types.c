/* MPI datatypes and ops in terms of units and ops. Any thread that may call MPI. */
#include <sf/sf_mpi.h>

#include <limits.h>
#include <stdlib.h>

#include "client/mpi/error.h"
#include "shm/error.h"

/* The unit for an integer of so many bytes. */
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

/* NULL: none corresponds. Handles of predefined datatypes are not constants everywhere, so no table. */
static const sf_type_t *predefined_unit(MPI_Datatype d)
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
  return NULL;
}

static const char *combiner_name(int combiner)
{
  switch (combiner) {
  case MPI_COMBINER_NAMED:
    return "a predefined datatype without a counterpart";
  case MPI_COMBINER_VECTOR:
    return "a vector";
  case MPI_COMBINER_INDEXED:
    return "an indexed datatype";
  case MPI_COMBINER_STRUCT:
    return "a struct";
  case MPI_COMBINER_RESIZED:
    return "a resized datatype";
  default:
    return "of another kind";
  }
}

/* The unit of count old ones; old is freed if it is not predefined, as MPI_Type_get_contents hands out a reference. */
static sf_status_t block_of(int count, MPI_Datatype old, const sf_type_t **type_p)
{
  const sf_type_t *base;
  int integers, addresses, datatypes, combiner;
  sf_status_t status = sf_mpi_type(old, &base);
  if (MPI_Type_get_envelope(old, &integers, &addresses, &datatypes, &combiner) == MPI_SUCCESS &&
      combiner != MPI_COMBINER_NAMED)
    MPI_Type_free(&old);
  if (status != SF_OK)
    return status;
  status = sf_type_create_block(count, base, type_p);
  (void)sf_type_destroy(base);
  return status;
}

sf_status_t sf_mpi_type(MPI_Datatype datatype, const sf_type_t **type_p)
{
  int integers, addresses, datatypes, combiner;
  if (type_p == NULL || datatype == MPI_DATATYPE_NULL)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_type: %s", type_p == NULL ? "type_p is NULL" : "MPI_DATATYPE_NULL");
  const sf_type_t *unit = predefined_unit(datatype);
  if (unit != NULL) {
    *type_p = unit;
    return SF_OK;
  }
  sf_status_t status = sfmpi_check(MPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner),
                                   "sf_mpi_type: MPI_Type_get_envelope");
  if (status != SF_OK)
    return status;
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP)
    return sfshm_error(SF_ERR_UNSUPPORTED,
                       "sf_mpi_type: the datatype is %s; predefined ones and contiguous blocks of them are supported",
                       combiner_name(combiner));
  int count = 1;
  MPI_Datatype old;
  status = sfmpi_check(MPI_Type_get_contents(datatype, integers, addresses, datatypes, &count, NULL, &old),
                       "sf_mpi_type: MPI_Type_get_contents");
  return status == SF_OK ? block_of(count, old, type_p) : status;
}

sf_status_t sf_mpi_op(MPI_Op op, const sf_op_t **op_p)
{
  const struct {
    MPI_Op mpi;
    const sf_op_t *sf;
  } table[] = {{MPI_REPLACE, SF_REPLACE}, {MPI_SUM, SF_SUM},   {MPI_PROD, SF_PROD}, {MPI_MAX, SF_MAX},
               {MPI_MIN, SF_MIN},         {MPI_LAND, SF_LAND}, {MPI_LOR, SF_LOR},   {MPI_LXOR, SF_LXOR},
               {MPI_BAND, SF_BAND},       {MPI_BOR, SF_BOR},   {MPI_BXOR, SF_BXOR}};
  if (op_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_op: op_p is NULL");
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (table[i].mpi == op) {
      *op_p = table[i].sf;
      return SF_OK;
    }
  }
  return sfshm_error(SF_ERR_UNSUPPORTED, "sf_mpi_op: predefined ops without MAXLOC and MINLOC are supported");
}
