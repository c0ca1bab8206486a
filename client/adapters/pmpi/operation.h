/* One neighbourhood collective that sfd carries: an exchange of blocks, some of them packed. */
#ifndef SFC_ADAPTERS_PMPI_OPERATION_H
#define SFC_ADAPTERS_PMPI_OPERATION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include <sf/sf.h>

#include "client/adapters/pmpi/datatype.h"
#include "client/adapters/pmpi/topology.h"

/* The arguments of a call for one direction. Block i has counts[i] values of types[i], if there are such arrays, else
 * count of type. It begins at offsets[i] bytes, or displs[i] values, or behind the block before it. */
typedef struct sfpmpi_side {
  const void *buffer;
  int count; /* negative: counts must be there, and displs or offsets */
  MPI_Datatype type;
  const int *counts;
  const int *displs;
  const MPI_Aint *offsets;
  const MPI_Datatype *types;
} sfpmpi_side_t;

typedef struct sfpmpi_call {
  sfpmpi_kind_t kind;
  sfpmpi_side_t send;
  sfpmpi_side_t receive;
} sfpmpi_call_t;

/* A block that is not contiguous in memory, or in memory of a device. */
typedef struct sfpmpi_move {
  const sfpmpi_datatype_t *datatype; /* held */
  char *memory;
  size_t count;      /* values */
  size_t offset;     /* in the scratch memory */
  sf_block_t *block; /* of root or leaf */
  bool on_device;
} sfpmpi_move_t;

/* Used again after its end, as the sf_request_t is persistent. */
typedef struct sfpmpi_operation {
  sfpmpi_star_t *star;
  struct sfpmpi_operation *next; /* idle ones */
  sf_request_t *request;
  sf_block_t *root; /* by number of root */
  sf_block_t *leaf; /* by number of leaf */
  size_t *leaf_bytes;
  sfpmpi_move_t *moves; /* first npacked of root, then of leaf */
  int npacked, nmoves;
  char *scratch;
  size_t scratch_bytes;
  MPI_Request token; /* what the program has; MPI_REQUEST_NULL: not needed yet */
  bool persistent;   /* as the program sees it */
  bool started;      /* the program has not completed it yet */
  bool active;       /* in flight */
  bool lost;         /* can't be ended, nor used again */
  int error;         /* code of its end, not reported yet */
} sfpmpi_operation_t;

/* Instead of a code of MPI: MPI must carry the call, because it will refuse its arguments. */
#define SFPMPI_TO_MPI (-1)

/* Carries a call: a blocking one to its end; *request_p gets the request of others. Returns an error code of MPI, for
 * which the communicator's error handler has been called, or SFPMPI_TO_MPI. */
int sfpmpi_operation_carry(sfpmpi_star_t *star, const sfpmpi_call_t *call, sfpmpi_form_t form, MPI_Request *request_p);

/* Lets others use the operation, which is not active. */
void sfpmpi_operation_give_back(sfpmpi_operation_t *operation);

/* Frees idle operations. */
void sfpmpi_operations_free(sfpmpi_star_t *star);

/* Begins the operation. Returns an error code of MPI: nothing has begun. Does not block. */
int sfpmpi_operation_begin(sfpmpi_operation_t *operation);

/* Waits at most that long, also for MPI's own progress; negative: until it has ended. Returns whether it has ended: its
 * error is in operation->error. */
bool sfpmpi_operation_wait(sfpmpi_operation_t *operation, int64_t timeout_ns);

#endif
