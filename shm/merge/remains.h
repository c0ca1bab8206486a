/* What remains of the plan of what travels between two nodes (merge.h) when a graph becomes a part of itself, with the
 * same roots and leaves but fewer edges. The leaf node knows which values of its ranks remain, and the root node which
 * root stands at which position of the whole's messages. So the leaf node tells, in a notice, which positions remain,
 * by one bit each, and where others lead or win now; then both come to the same order: by (owner, lead), then as in the
 * whole. Neither sorts or looks for anything. Only of plans whose contributions travel combined. Pure functions; any
 * thread. */
#ifndef SFSHM_REMAINS_H
#define SFSHM_REMAINS_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/trunk.h"

typedef struct sfshm_remains {
  void *leaf_image; /* NULL: nothing remains */
  size_t leaf_image_bytes;
  int64_t *owner_ends; /* as those of the whole */
  void *notice;
  size_t notice_bytes;
} sfshm_remains_t;

/* On the leaf node. owner_ends: behind the last position of each of the nowners owners. kept: for each part of the
 * image, a set of the rank's values that remain, lowest bit first. SF_ERR_NOMEM. */
sf_status_t sfshm_remains_of_leaves(const sfshm_image_t *whole, const int64_t owner_ends[], uint32_t nowners,
                                    const uint64_t *const kept[], sfshm_remains_t *remains_p);

/* Frees what is in it; accepts what is zeroed. */
void sfshm_remains_free(sfshm_remains_t *remains);

/* On the root node: the root image of what remains; NULL: nothing. Ranks are below group_size. SF_ERR_PROTO: the notice
 * can't be true of this whole. SF_ERR_NOMEM. */
sf_status_t sfshm_remains_of_roots(const sfshm_image_t *whole, const void *notice, size_t notice_bytes,
                                   int32_t group_size, void **image_p, size_t *image_bytes_p);

#endif
