/* Operations on elements of other nodes. An operation is split into requests: one for each tile of the patch, or piece
 * of the list, and each node that owns elements of it. Requests are submitted while the window has room; the rest
 * follow as answers arrive. A put or an acc is locally complete when its last request is submitted, a get when its last
 * answer has been read. */
#ifndef SFC_ONESIDED_REMOTE_H
#define SFC_ONESIDED_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/onesided/array.h"
#include "client/onesided/tiles.h"
#include "client/onesided/window.h"

typedef struct sfc_remote sfc_remote_t;

/* Patches or lists. */
typedef struct sfc_remote_ops {
  uint32_t put_kind;  /* sfshm_array_kind_t of a put; those of get and acc follow */
  size_t place_bytes; /* sent for each element, besides its value: 0 for patches */
  /* Goes through the node's elements in the tile and returns their number. Writes their places; copies their values to
   * (get: from) values. places, values: NULL: not wanted. */
  int64_t (*move)(const sfc_remote_t *remote, const sfc_array_node_t *node, const int64_t lo[], const int64_t extent[],
                  char *places, char *values);
} sfc_remote_ops_t;

struct sfc_remote {
  const sfc_remote_ops_t *ops;
  sf_array_t *array;
  sfshm_array_access_t access;
  bool is_submitted;              /* all requests are */
  int32_t kept;                   /* slot of the first request whose answer is to be read; -1: none */
  sf_status_t status;             /* of the first answer with an error */
  char *buffer;                   /* owned by the caller */
  const void *alpha;              /* NULL: none */
  sfc_tiles_t tiles;              /* of the patch, or of the elements of the list; current: of the next request */
  int32_t at_node;                /* node of the next request, in the array's table */
  int64_t step[SFSHM_ARRAY_DIMS]; /* patch: steps in the buffer */
  const int64_t *index;           /* list */
  unsigned char factor[16];       /* copy of alpha, if the operation outlives the call */
};

/* Prepares an operation, whose array, access, buffer and alpha are set. The caller owns buffer, alpha and index until
 * the operation is locally complete. */
void sfc_remote_patch(sfc_remote_t *remote, const int64_t lo[], const int64_t extent[], const int64_t step[]);
void sfc_remote_list(sfc_remote_t *remote, int64_t n, const int64_t index[]);

/* Reads answers and submits requests. Returns whether it made progress. */
bool sfc_remote_advance(sfc_remote_t *remote);

static inline bool sfc_remote_is_complete(const sfc_remote_t *remote)
{
  return remote->is_submitted && remote->kept < 0;
}

/* Waits until the operation is complete and returns its status. */
sf_status_t sfc_remote_finish(sfc_remote_t *remote);

/* Ends a failed operation. Requests in flight are posted. */
void sfc_remote_abandon(sfc_remote_t *remote);

/* Carries out fetch_op or compare_swap on an element of another node. Blocks. *bits_p: previous value. */
sf_status_t sfc_remote_atomic(sf_array_t *array, int32_t rank, const int64_t index[], sfshm_array_request_t *request,
                              uint64_t *bits_p);

#endif
