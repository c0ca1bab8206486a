/* Requests of operations on parts of other nodes. They are requests of the array's graph, so that sf_wait and sf_test
 * end them. A continuation of the thread that has begun them makes progress on them. */
#ifndef SFC_ONESIDED_REQUEST_H
#define SFC_ONESIDED_REQUEST_H

#include "client/onesided/array.h"
#include "client/onesided/remote.h"

/* Begins an operation on a patch that has been prepared. *request_p: NULL if it is complete. */
sf_status_t sfc_array_begin(const sfc_remote_t *remote, sf_request_t **request_p);

/* The thread's earlier operations on the array must be submitted before later ones. */
sf_status_t sfc_array_submit_earlier(sf_array_t *array);

/* Waits until the operations on the array that this thread has begun are complete locally. */
sf_status_t sfc_array_flush_requests(sf_array_t *array);

#endif
