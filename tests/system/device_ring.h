/* A ring of ranks with roots and leaves on a device, for tests of operations on streams: the roots of a rank hang on
 * leaves of the one before it. Used by ranks. */
#ifndef SFTEST_DEVICE_RING_H
#define SFTEST_DEVICE_RING_H

#include "tests/system/harness.h"

#define SFTEST_DEVICE_RING_UNITS 100

typedef struct sftest_device_ring {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_graph_t *graph;
  void *stream;
  double *roots;
  double *leaves;
  sf_region_t *regions[2];
  double host[SFTEST_DEVICE_RING_UNITS]; /* for copies of roots or leaves */
} sftest_device_ring_t;

/* Joins the job, and makes graph, stream and registered memory on device 0; the roots have values. */
void sftest_device_ring_make(sftest_rank_t *self, sftest_device_ring_t *ring);

/* Leaves the job, too. The graph may have failed. */
void sftest_device_ring_free(sftest_device_ring_t *ring);

/* Gives a bcast to the stream. */
sf_status_t sftest_device_ring_bcast(const sftest_device_ring_t *ring);

/* Fails the rank unless the leaves have the values of the roots of a rank beside it. */
void sftest_device_ring_expect(sftest_device_ring_t *ring);

/* The same once all that was given to streams is done, which must succeed. */
void sftest_device_ring_wait(sftest_device_ring_t *ring);

/* Makes the ring and has three bcasts done. memops: whether streams wait by themselves, or functions of the host for
 * them; kernel_fails: the next kernel of rank 0 will. */
void sftest_device_ring_begin(sftest_rank_t *self, bool memops, bool kernel_fails, sftest_device_ring_t *ring);

#endif
