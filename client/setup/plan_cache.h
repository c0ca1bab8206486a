/* Plan cache. A plan is the immutable result of set-up. A graph that all ranks of the group create with the same edges
 * and flags as an earlier one shares its plan. A context keeps the SFC_PLANS_KEPT plans used last, with an edge
 * snapshot as the key if the edges take up to SFC_EDGE_SNAPSHOT_MAX_BYTES. A plan lives until it is evicted and its
 * last graph has ended. */
#ifndef SFC_SETUP_PLAN_CACHE_H
#define SFC_SETUP_PLAN_CACHE_H

#include <stdint.h>

#include "client/graph.h"
#include "client/plan.h"

#define SFC_PLANS_KEPT 8

typedef struct sfc_plan sfc_plan_t;

/* Moves the graph's plan to a new cached plan, with the snapshot as its key. Without memory the graph stays as it is.
 */
void sfc_plan_make(sf_graph_t *graph, sfc_edge_snapshot_t *snapshot);

/* Finds the most recent plan of these edges on this group and takes a reference; NULL: none. */
sfc_plan_t *sfc_plan_find(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags);

/* Number of the graph for which the plan was made. */
uint64_t sfc_plan_number(const sfc_plan_t *plan);

/* Number of other ranks to whose roots the edges lead. */
int32_t sfc_plan_nroot_ranks(const sfc_plan_t *plan);

/* Applies the plan to a graph, which takes a reference. SF_ERR_NOMEM: the graph frees what was made. */
sf_status_t sfc_plan_apply(sfc_plan_t *plan, sf_graph_t *graph);

/* Marks the plan most recently used. */
void sfc_plan_used(sf_context_t *context, sfc_plan_t *plan);

void sfc_plan_release(sf_context_t *context, sfc_plan_t *plan);

/* Evicts all plans. A group that ends evicts its own. */
void sfc_plans_forget(sf_context_t *context);

#endif
