/* Edges as the application gave them, kept to be compared with those of a later graph. Any thread. */
#ifndef SFC_PLAN_EDGE_SNAPSHOT_H
#define SFC_PLAN_EDGE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/plan/edge_buckets.h"

#define SFC_GIVEN_MAX_BYTES ((size_t)64 << 20)

typedef struct sfc_given sfc_given_t;

/* A copy of the edges, which must be sound; NULL: there is no memory for it, or it takes more than
 * SFC_GIVEN_MAX_BYTES. */
sfc_given_t *sfc_given_make(const sfc_edge_input_t *input);
void sfc_given_free(sfc_given_t *given);

/* Whether every one of the edges is the same, given in the same order and width, and as many roots. */
bool sfc_given_equals(const sfc_given_t *given, const sfc_edge_input_t *input);

#endif
