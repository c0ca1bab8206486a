/* Clustering of edges to scattered roots, so that roots close in memory are visited together. Any thread. */
#ifndef SFC_PLAN_EDGE_LOCALITY_H
#define SFC_PLAN_EDGE_LOCALITY_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "client/plan/edge_buckets.h"

/* Regions of 1 << shift roots by which a bucket was ordered. */
typedef struct sfc_edge_cluster_make {
  void *memory; /* of the bucket's patterns; NULL: not reordered */
  int shift;
  int64_t root_max;
} sfc_edge_cluster_t;

/* Orders a bucket's edges by the region of their roots if they are many and scattered. A pass over the edges then
 * traverses the owner's array once, instead of missing caches and TLB at each step. Edges to one region keep their
 * order. SF_ERR_NOMEM. */
sf_status_t sfc_edge_cluster_make(sfc_edge_bucket_t *bucket, sfc_edge_cluster_t *cluster_p);

void sfc_edge_cluster_free(sfc_edge_cluster_t *cluster);

#endif
