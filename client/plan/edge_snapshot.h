/* Edges as the application gave them, kept to be compared with those of a later graph. Any thread. */
#ifndef SFC_PLAN_EDGE_SNAPSHOT_H
#define SFC_PLAN_EDGE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/plan/edge_buckets.h"

#define SFC_EDGE_SNAPSHOT_MAX_BYTES ((size_t)64 << 20)

typedef struct sfc_edge_snapshot sfc_edge_snapshot_t;

/* A copy of the edges, which must be sound; NULL: there is no memory for it, or it takes more than
 * SFC_EDGE_SNAPSHOT_MAX_BYTES. */
sfc_edge_snapshot_t *sfc_edge_snapshot_make(const sfc_edge_input_t *input);
void sfc_edge_snapshot_free(sfc_edge_snapshot_t *given);

/* Whether every one of the edges is the same, given in the same order and width, and as many roots. */
bool sfc_edge_snapshot_equals(const sfc_edge_snapshot_t *given, const sfc_edge_input_t *input);

#endif
