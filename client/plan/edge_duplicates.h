/* Duplicate ("extra") edges of a bucket: edges to a root that an edge with a lower leaf reaches too. Any thread. */
#ifndef SFC_PLAN_EDGE_DUPLICATES_H
#define SFC_PLAN_EDGE_DUPLICATES_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "client/plan/edge_buckets.h"
#include "client/plan/edge_locality.h"

/* In the order of shm/edges/edges.h. */
typedef struct sfc_extras {
  int64_t n;
  int64_t *value; /* value of each extra edge */
  int64_t *edge;  /* position of each extra edge in the bucket */
  uint64_t *set;  /* bit set of these positions */
} sfc_edge_duplicates_t;

/* Finds the extra edges. leaves_ascend: the bucket's leaves do, or did before clustering. */
sf_status_t sfc_edge_duplicates_find(const sfc_edge_bucket_t *bucket, const sfc_edge_cluster_t *cluster,
                                     bool leaves_ascend, sfc_edge_duplicates_t *extras_p);

void sfc_edge_duplicates_free(sfc_edge_duplicates_t *extras);

#endif
