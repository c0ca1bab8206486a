/* Plans: what set-up makes of the edges, and does not change any more. A graph that is made again, by all ranks of the
 * group with the same edges and flags, shares the plan of the earlier one. A context keeps the SFC_PLANS_KEPT plans
 * that it made or used last, with the edges as they were given if these take up to SFC_EDGE_SNAPSHOT_MAX_BYTES; a plan
 * is there until it is not kept any more and its last graph is gone. */
#ifndef SFC_SETUP_PLAN_CACHE_H
#define SFC_SETUP_PLAN_CACHE_H

#include <stdint.h>

#include "client/graph.h"
#include "client/plan.h"

#define SFC_PLANS_KEPT 8

typedef struct sfc_plan sfc_plan_t;

/* Gives what the graph has of a plan into a new plan's hands, and has it kept. given, the plan's from then on: its
 * edges. Without memory the graph stays as it is. */
void sfc_plan_make(sf_graph_t *graph, sfc_edge_snapshot_t *given);

/* The latest plan kept that these edges have made on this group, held for the caller; NULL: none. */
sfc_plan_t *sfc_plan_find(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags);

/* The graph for which all ranks made it. */
uint64_t sfc_plan_number(const sfc_plan_t *plan);

/* Ranks to whose roots, not this rank's own, the edges lead. */
int32_t sfc_plan_nroot_ranks(const sfc_plan_t *plan);

/* Makes the graph's part of the plan, which is held for it. SF_ERR_NOMEM: what was made is freed with the graph. */
sf_status_t sfc_plan_apply(sfc_plan_t *plan, sf_graph_t *graph);

/* A graph has been made of it: it is the last to be forgotten. */
void sfc_plan_used(sf_context_t *context, sfc_plan_t *plan);

void sfc_plan_release(sf_context_t *context, sfc_plan_t *plan);

/* No plan is kept any more. The plans of a group are forgotten when the group ends. */
void sfc_plans_forget(sf_context_t *context);

#endif
