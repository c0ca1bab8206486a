/* MPI ops as ops of the application: see sf_mpi.h. */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sf/sf_mpi.h>

#include "client/adapters/mpi/error.h"
#include "client/core.h"
#include "shm/base/error.h"

#define PIECE_BYTES ((size_t)4096)

/* Context of the op's function. */
typedef struct mpi_op {
  MPI_Op op;
  MPI_Datatype datatype;
  size_t extent;
  bool commutes;
  pthread_mutex_t lock; /* protects memory: several threads may combine */
  int piece;            /* values in memory */
  char *memory;
} mpi_op_t;

/* to = from op to, as MPI defines it. */
static void reduce(const mpi_op_t *mpi, const char *from, char *to, int n)
{
  (void)MPI_Reduce_local(from, to, n, mpi->datatype, mpi->op);
}

/* to = to op from. */
static void reduce_in_order(mpi_op_t *mpi, const char *from, char *to, int n)
{
  size_t bytes = (size_t)n * mpi->extent;
  pthread_mutex_lock(&mpi->lock);
  memcpy(mpi->memory, from, bytes);
  reduce(mpi, to, mpi->memory, n);
  memcpy(to, mpi->memory, bytes);
  pthread_mutex_unlock(&mpi->lock);
}

/* A unit is one value of the datatype, or a block of them. */
static void combine(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  mpi_op_t *mpi = context;
  const char *from = in;
  char *to = inout;
  int most = mpi->commutes ? INT_MAX : mpi->piece;
  for (int64_t left = n * (int64_t)(unit_bytes / mpi->extent); left > 0;) {
    int some = left < most ? (int)left : most;
    (mpi->commutes ? reduce(mpi, from, to, some) : reduce_in_order(mpi, from, to, some));
    from += (size_t)some * mpi->extent;
    to += (size_t)some * mpi->extent;
    left -= some;
  }
}

static sf_status_t look_up(MPI_Op op, MPI_Datatype datatype, mpi_op_t *mpi)
{
  MPI_Aint lower, extent;
  int commutes;
  sf_status_t status = sfmpi_check(MPI_Type_get_extent(datatype, &lower, &extent), "sf_mpi_op_create");
  if (status == SF_OK)
    status = sfmpi_check(MPI_Op_commutative(op, &commutes), "sf_mpi_op_create");
  if (status != SF_OK)
    return status;
  if (lower != 0 || extent <= 0)
    return sfshm_error(SF_ERR_UNSUPPORTED, "sf_mpi_op_create: datatype from %lld on, of %lld bytes: no unit",
                       (long long)lower, (long long)extent);
  mpi->op = op;
  mpi->datatype = datatype;
  mpi->extent = (size_t)extent;
  mpi->commutes = commutes != 0;
  mpi->piece = mpi->extent < PIECE_BYTES ? (int)(PIECE_BYTES / mpi->extent) : 1;
  mpi->memory = calloc((size_t)mpi->piece + 1, mpi->extent);
  return mpi->memory != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "sf_mpi_op_create: memory of the op");
}

/* Predefined ops may not be defined for the datatype, which operations could not report. */
static sf_status_t try_predefined(const mpi_op_t *mpi)
{
  const sf_op_t *known;
  if (sf_mpi_op(mpi->op, &known) != SF_OK)
    return SF_OK;
  return sfmpi_check(MPI_Reduce_local(mpi->memory, mpi->memory + mpi->extent, 1, mpi->datatype, mpi->op),
                     "sf_mpi_op_create");
}

static void free_op(mpi_op_t *mpi)
{
  pthread_mutex_destroy(&mpi->lock);
  free(mpi->memory);
  free(mpi);
}

sf_status_t sf_mpi_op_create(MPI_Op op, MPI_Datatype datatype, const sf_op_t **op_p)
{
  if (op_p == NULL || op == MPI_OP_NULL || datatype == MPI_DATATYPE_NULL)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_op_create: %s",
                       op_p == NULL        ? "op_p is NULL"
                       : op == MPI_OP_NULL ? "MPI_OP_NULL"
                                           : "MPI_DATATYPE_NULL");
  mpi_op_t *mpi = calloc(1, sizeof *mpi);
  if (mpi == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sf_mpi_op_create: op");
  pthread_mutex_init(&mpi->lock, NULL);
  sf_status_t status = look_up(op, datatype, mpi);
  if (status == SF_OK)
    status = try_predefined(mpi);
  if (status == SF_OK)
    status = sf_op_create(combine, mpi, op_p);
  if (status != SF_OK)
    free_op(mpi);
  return status;
}

sf_status_t sf_mpi_op_destroy(const sf_op_t *op)
{
  if (op == NULL)
    return SF_OK;
  if (op->function != combine)
    return sfshm_error(SF_ERR_ARG, "sf_mpi_op_destroy: not an op of sf_mpi_op_create");
  free_op(op->context);
  return sf_op_destroy(op);
}
