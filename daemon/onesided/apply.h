/* Requests of other nodes on the parts of an array that are here: what is wrong with them, what they cost, and carrying
 * them out. Nothing here is kept; the loop's thread and workers. */
#ifndef SFD_ONESIDED_APPLY_H
#define SFD_ONESIDED_APPLY_H

#include "daemon/onesided/array.h"
#include "shm/array/window.h"

/* Of a request that is allowed. */
typedef struct sfd_array_needs {
  uint64_t data_bytes;
  uint64_t returned_bytes;
  int64_t cost; /* in bytes that are copied in the same time, about */
} sfd_array_needs_t;

/* Checks all of a request but the places of a list, for arrays that are complete here. SF_ERR_PROTO: the origin's rank
 * lies, or has another idea of the array. */
sf_status_t sfd_array_check(const sfd_array_t *array, const sfshm_array_request_t *request, sfd_array_needs_t *needs_p);

/* Where all elements of a patch follow each other here; NULL: they do not. */
char *sfd_array_find_run(const sfd_array_t *array, const sfshm_array_request_t *request);

/* Carries out a checked request. data, returned: of the sizes that it needs. SF_ERR_PROTO: a place that is not here. */
sf_status_t sfd_array_apply(const sfd_array_t *array, const sfshm_array_request_t *request, const char *data,
                            char *returned);

#endif
