/* Operations on parts of other nodes. An operation is cut into requests, at most one for each slab of the patch, or
 * piece of the list, and each node that it concerns. Requests are submitted as far as the window has room; the others
 * follow as answers come. A put or an acc is complete when its last request is submitted, a get when the last answer
 * has been read. */
#ifndef SFC_ONESIDED_REMOTE_H
#define SFC_ONESIDED_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/onesided/array.h"
#include "client/onesided/window.h"

typedef struct sfc_remote sfc_remote_t;

/* The two kinds of operation. */
typedef struct sfc_remote_ops {
  bool (*submit)(sfc_remote_t *remote); /* submits the next request; false: no room */
  void (*take)(sfc_remote_t *remote, const sfc_ticket_t *ticket, const char *data); /* reads what was returned */
} sfc_remote_ops_t;

struct sfc_remote {
  const sfc_remote_ops_t *ops;
  sf_array_t *array;
  sfshm_array_access_t access;
  bool is_submitted;  /* there are no more requests */
  int32_t kept;       /* slot of the first request whose answer is to be read; -1: none */
  sf_status_t status; /* of the first answer with an error */
  char *buffer;       /* of the caller's */
  const void *alpha;  /* NULL: none */
  int32_t at_node;    /* of the next request: number among the nodes of the array */

  /* A patch: its steps in the buffer, the slab of the next request. */
  int64_t lo[SFSHM_ARRAY_DIMS];
  int64_t extent[SFSHM_ARRAY_DIMS];
  int64_t step[SFSHM_ARRAY_DIMS];
  int64_t slab[SFSHM_ARRAY_DIMS]; /* extents of a whole slab */
  int64_t at[SFSHM_ARRAY_DIMS];   /* where the next one begins, in the patch */
  unsigned char factor[16];       /* alpha, if the operation outlives the call */

  /* A list: its elements; where the next request begins. */
  int64_t n;
  const int64_t *index;
  int64_t at_element;
};

/* Prepares an operation on the parts of other nodes; buffer, alpha, step and index stay the caller's. */
void sfc_remote_patch(sfc_remote_t *remote, const int64_t lo[], const int64_t extent[], const int64_t step[]);
void sfc_remote_list(sfc_remote_t *remote, int64_t n, const int64_t index[]);

/* Reads answers, and submits what there is room for. Whether something moved. */
bool sfc_remote_advance(sfc_remote_t *remote);

static inline bool sfc_remote_is_complete(const sfc_remote_t *remote)
{
  return remote->is_submitted && remote->kept < 0;
}

/* Waits until the operation is complete. Its status. */
sf_status_t sfc_remote_finish(sfc_remote_t *remote);

/* Ends an operation that has failed: requests under way are left to themselves. */
void sfc_remote_abandon(sfc_remote_t *remote);

/* Has the other node carry out fetch_op or compare_swap; *bits_p: what the element was. */
sf_status_t sfc_remote_atomic(sf_array_t *array, int32_t rank, const int64_t index[], sfshm_array_request_t *request,
                              uint64_t *bits_p);

#endif
