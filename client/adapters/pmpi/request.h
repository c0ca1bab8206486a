/* Requests that the program has for operations of this library. They are requests of MPI's own, so that they can stand
 * in its arrays: persistent receives that never start, which MPI passes over. A table leads from them to the
 * operations, which keep them for their next use. */
#ifndef SFC_ADAPTERS_PMPI_REQUEST_H
#define SFC_ADAPTERS_PMPI_REQUEST_H

#include "client/adapters/pmpi/operation.h"

/* Gives the operation a token, if it has none yet. Returns an error code of MPI. */
int sfpmpi_request_make(sfpmpi_operation_t *operation);

/* Frees the token. Without the lock of the job, because MPI is called. */
void sfpmpi_request_free(sfpmpi_operation_t *operation);

#endif
