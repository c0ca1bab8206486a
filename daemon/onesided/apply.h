/* Checks requests of other nodes on the parts of an array on this node, estimates their costs, and carries them out.
 * No state. The daemon's thread and workers. */
#ifndef SFD_ONESIDED_APPLY_H
#define SFD_ONESIDED_APPLY_H

#include "daemon/onesided/array.h"
#include "shm/array/window.h"

/* Sizes and cost of a valid request. */
typedef struct sfd_array_needs {
  uint64_t data_bytes;
  uint64_t returned_bytes;
  int64_t cost; /* number of bytes that are copied in about the same time */
} sfd_array_needs_t;

/* Checks a request except for the positions of a list. All parts of the array on this node are mapped. SF_ERR_PROTO:
 * the request does not fit the array. */
sf_status_t sfd_array_check(const sfd_array_t *array, const sfshm_array_request_t *request, sfd_array_needs_t *needs_p);

/* First element of a patch if its elements on this node are contiguous, else NULL. */
char *sfd_array_find_run(const sfd_array_t *array, const sfshm_array_request_t *request);

/* Carries out a checked request. data and returned have the sizes of the request's needs. SF_ERR_PROTO: a position of a
 * list is not on this node. */
sf_status_t sfd_array_apply(const sfd_array_t *array, const sfshm_array_request_t *request, const char *data,
                            char *returned);

#endif
