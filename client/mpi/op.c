/* Ops of MPI as ops of the application: see sf_mpi.h. */
#include <limits.h>
#include <stdlib.h>

#include <sf/sf_mpi.h>

#include "client/mpi/error.h"
#include "client/type.h"
#include "shm/error.h"

/* What the op's function gets as its context. */
typedef struct mpi_op {
  MPI_Op op;
  MPI_Datatype datatype;
  size_t extent;
} mpi_op_t;

/* A unit is one value of the datatype, or a block of them. */
static void combine(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  const mpi_op_t *mpi = context;
  const char *from = in;
  char *to = inout;
  for (int64_t left = n * (int64_t)(unit_bytes / mpi->extent); left > 0;) {
    int some = left < INT_MAX ? (int)left : INT_MAX;
    (void)MPI_Reduce_local(from, to, some, mpi->datatype, mpi->op);
    from += (size_t)some * mpi->extent;
    to += (size_t)some * mpi->extent;
    left -= some;
  }
}

static sf_status_t look_up(MPI_Op op, MPI_Datatype datatype, mpi_op_t *mpi)
{
  MPI_Aint lower, extent;
  sf_status_t status = sfmpi_check(MPI_Type_get_extent(datatype, &lower, &extent), "sf_mpi_op_create");
  if (status != SF_OK)
    return status;
  if (lower != 0 || extent <= 0)
    return sfshm_error(SF_ERR_UNSUPPORTED, "sf_mpi_op_create: datatype from %lld on, of %lld bytes: no unit",
                       (long long)lower, (long long)extent);
  *mpi = (mpi_op_t){op, datatype, (size_t)extent};
  return SF_OK;
}

sf_status_t sf_mpi_op_create(MPI_Op op, MPI_Datatype datatype, const sf_op_t **op_p)
{
  if (op_p == NULL || op == MPI_OP_NULL || datatype == MPI_DATATYPE_NULL)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_op_create: %s",
                       op_p == NULL        ? "op_p is NULL"
                       : op == MPI_OP_NULL ? "MPI_OP_NULL"
                                           : "MPI_DATATYPE_NULL");
  mpi_op_t *mpi = malloc(sizeof *mpi);
  if (mpi == NULL)
    return sfshm_error(SF_ERR_NOMEM, "op");
  sf_status_t status = look_up(op, datatype, mpi);
  if (status == SF_OK)
    status = sf_op_create(combine, mpi, op_p);
  if (status != SF_OK)
    free(mpi);
  return status;
}

sf_status_t sf_mpi_op_destroy(const sf_op_t *op)
{
  if (op == NULL)
    return SF_OK;
  if (op->function != combine)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_op_destroy: not an op of sf_mpi_op_create");
  free(op->context);
  return sf_op_destroy(op);
}
