/* Edge snapshot: a copy of the edges as given, the key of the plan cache. Any thread. */
#ifndef SFC_PLAN_EDGE_SNAPSHOT_H
#define SFC_PLAN_EDGE_SNAPSHOT_H

#include <stdbool.h>

#include "client/plan/edge_buckets.h"

#define SFC_EDGE_SNAPSHOT_MAX_BYTES ((size_t)64 << 20)

typedef struct sfc_edge_snapshot sfc_edge_snapshot_t;

/* Copies valid edges; NULL: no memory, or more than SFC_EDGE_SNAPSHOT_MAX_BYTES. */
sfc_edge_snapshot_t *sfc_edge_snapshot_make(const sfc_edge_input_t *input);
void sfc_edge_snapshot_free(sfc_edge_snapshot_t *snapshot);

/* Whether all edges are equal, in the same order and width, with equal nroots. */
bool sfc_edge_snapshot_equals(const sfc_edge_snapshot_t *snapshot, const sfc_edge_input_t *input);

#endif
