/* Requests of operations on elements of other nodes. They are requests of the array's graph, so that sf_wait and
 * sf_test end them. Whoever waits for the window, or needs room in it, advances all that were begun, oldest first: so
 * no thread starves another one. The thread that began an operation learns of its end by a continuation of the array.
 */
#ifndef SFC_ONESIDED_REQUEST_H
#define SFC_ONESIDED_REQUEST_H

#include "client/onesided/array.h"
#include "client/onesided/remote.h"

/* Begins a prepared operation on a patch. *request_p: NULL if the operation is complete. */
sf_status_t sfc_array_begin(const sfc_remote_t *remote, sf_request_t **request_p);

/* Waits until the operations that were begun on the array are submitted: later ones must follow them. */
sf_status_t sfc_array_submit_earlier(sf_array_t *array);

/* Waits until the operations that were begun on the array are locally complete. */
sf_status_t sfc_array_flush_requests(sf_array_t *array);

#endif
