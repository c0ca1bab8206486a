/* The extra edges of a bucket: those to a root to which another edge with a lower leaf leads. Any thread. */
#ifndef SFC_PLAN_EDGE_DUPLICATES_H
#define SFC_PLAN_EDGE_DUPLICATES_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "client/plan/edge_buckets.h"
#include "client/plan/edge_locality.h"

/* In the order that shm/edges/edges.h demands. */
typedef struct sfc_extras {
  int64_t n;
  int64_t *value; /* that each carries */
  int64_t *edge;  /* its place in the bucket */
  uint64_t *set;  /* all these places */
} sfc_edge_duplicates_t;

/* Finds them. leaves_ascend: those of the bucket do, or did before it was clustered. */
sf_status_t sfc_edge_duplicates_find(const sfc_edge_bucket_t *bucket, const sfc_edge_cluster_t *cluster,
                                     bool leaves_ascend, sfc_edge_duplicates_t *extras_p);

/* Accepts what is zeroed or freed. */
void sfc_edge_duplicates_free(sfc_edge_duplicates_t *extras);

#endif
