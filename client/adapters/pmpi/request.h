/* Requests that the program has for operations of this library. They are requests of MPI's own, so that they can stand
 * in its arrays and be completed by it: generalised ones for nonblocking calls; persistent receives for persistent
 * ones, which start when the operation has ended, and are complete at once. A table leads from them to the operations.
 */
#ifndef SFC_ADAPTERS_PMPI_REQUEST_H
#define SFC_ADAPTERS_PMPI_REQUEST_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/adapters/pmpi/operation.h"

/* Number of requests in the table. */
extern atomic_int sfpmpi_nrequests;

/* The operation of a request; NULL: a request of MPI's. */
sfpmpi_operation_t *sfpmpi_request_find(MPI_Request request);

/* Makes the request of an operation: of one that has begun, or of a persistent one. Returns an error code of MPI. */
int sfpmpi_request_make(sfpmpi_operation_t *operation, MPI_Request *request_p);

/* After the operation has ended: lets MPI complete its request. */
void sfpmpi_request_complete(sfpmpi_operation_t *operation);

/* Frees the operation of a persistent request, which is not active. */
void sfpmpi_request_free(sfpmpi_operation_t *operation);

#endif
