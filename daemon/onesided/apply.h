/* Checks requests of other nodes on the parts of an array that are here, estimates their costs, and carries them out.
 * No state; the daemon's thread and workers. */
#ifndef SFD_ONESIDED_APPLY_H
#define SFD_ONESIDED_APPLY_H

#include "daemon/onesided/array.h"
#include "shm/array/window.h"

/* Sizes and cost of a valid request. */
typedef struct sfd_array_needs {
  uint64_t data_bytes;
  uint64_t returned_bytes;
  int64_t cost; /* as bytes that are copied in about the same time */
} sfd_array_needs_t;

/* Checks a request except for the positions of a list; the array is complete here. SF_ERR_PROTO: the origin's rank is
 * wrong, or its shape of the array differs. */
sf_status_t sfd_array_check(const sfd_array_t *array, const sfshm_array_request_t *request, sfd_array_needs_t *needs_p);

/* The elements of a patch if they are contiguous here, else NULL. */
char *sfd_array_find_run(const sfd_array_t *array, const sfshm_array_request_t *request);

/* Carries out a checked request. data, returned: of the sizes that it needs. SF_ERR_PROTO: a position that is not here.
 * */
sf_status_t sfd_array_apply(const sfd_array_t *array, const sfshm_array_request_t *request, const char *data,
                            char *returned);

#endif
