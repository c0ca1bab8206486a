/* Edges to widely scattered roots, in an order in which neighbouring roots are visited together. Any thread. */
#ifndef SFC_PLAN_EDGE_LOCALITY_H
#define SFC_PLAN_EDGE_LOCALITY_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "client/plan/edge_buckets.h"

/* The regions of roots by which a bucket was ordered: of 1 << shift roots each. */
typedef struct sfc_edge_cluster_make {
  void *memory; /* of the bucket's patterns; NULL: it stayed as it was */
  int shift;
  int64_t root_max;
} sfc_edge_cluster_t;

/* Orders the edges of the bucket by the region in which their roots lie, if they are many and jump about: then whoever
 * goes through them goes through the owner's array once, from one end to the other, instead of missing caches and page
 * tables at every step. Edges to one region keep their order. SF_ERR_NOMEM. */
sf_status_t sfc_edge_cluster_make(sfc_edge_bucket_t *bucket, sfc_edge_cluster_t *cluster_p);

/* Accepts what is zeroed or freed. */
void sfc_edge_cluster_free(sfc_edge_cluster_t *cluster);

#endif
