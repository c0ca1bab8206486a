/* Requests of operations on elements of other nodes. They are requests of the array's graph, so that sf_wait and
 * sf_test end them. A continuation of the thread that began the operation makes progress. */
#ifndef SFC_ONESIDED_REQUEST_H
#define SFC_ONESIDED_REQUEST_H

#include "client/onesided/array.h"
#include "client/onesided/remote.h"

/* Begins a prepared operation on a patch. *request_p: NULL if the operation is complete. */
sf_status_t sfc_array_begin(const sfc_remote_t *remote, sf_request_t **request_p);

/* Waits until the calling thread's operations on the array are submitted: later ones must follow them. */
sf_status_t sfc_array_submit_earlier(sf_array_t *array);

/* Waits until the operations that this thread began on the array are locally complete. */
sf_status_t sfc_array_flush_requests(sf_array_t *array);

#endif
