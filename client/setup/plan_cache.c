/* Plan cache: see plan_cache.h. The threads that create and destroy graphs. */
#include "client/setup/plan_cache.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/plan.h"
#include "client/setup/trunk_plan.h"
#include "shm/base/error.h"

/* A lane of every graph of the plan. */
typedef struct sfc_plan_lane {
  sfc_peer_t *peer;
  int32_t rank;
  int32_t trunk; /* -1: none */
  sfc_link_t as_root;
  sfc_link_t as_leaf;
} sfc_plan_lane_t;

struct sfc_plan {
  int32_t nholders; /* references: graphs, comparisons, the cache; under the context's lock */
  int32_t ncomparing;
  uint64_t number;
  uint64_t group;
  uint32_t flags;
  sfc_edge_snapshot_t *snapshot; /* NULL: evicted */

  sfc_graph_plan_t made;
  sfc_plan_lane_t *lanes;
  int32_t nlanes;
  struct sfc_trunks *trunks; /* before their first operation */

  sfc_plan_t *next; /* in the cache, most recent first */
};

/* Attachment of a graph that shares a plan. */
typedef struct sfc_plan_use {
  sfc_attachment_t attachment;
  sfc_plan_t *plan;
} sfc_plan_use_t;

/* ---- End --------------------------------------------------------------------------------------------------------- */

static void free_plan(sf_context_t *context, sfc_plan_t *plan)
{
  for (int32_t i = 0; i < plan->nlanes; i++) {
    sfc_link_destroy(&plan->lanes[i].as_root);
    sfc_link_destroy(&plan->lanes[i].as_leaf);
  }
  sfc_graph_plan_free(&plan->made);
  free(plan->lanes);
  sfc_trunks_free(context, plan->trunks);
  sfc_edge_snapshot_free(plan->snapshot);
  free(plan);
}

void sfc_plan_release(sf_context_t *context, sfc_plan_t *plan)
{
  pthread_mutex_lock(&context->lock);
  bool last = --plan->nholders == 0;
  pthread_mutex_unlock(&context->lock);
  if (last)
    free_plan(context, plan);
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static void take_lane(const sf_graph_t *graph, const sfc_lane_t *lane, sfc_plan_lane_t *to)
{
  *to = (sfc_plan_lane_t){.peer = lane->peer,
                          .rank = lane->rank,
                          .trunk = lane->trunk != NULL ? (int32_t)(lane->trunk - graph->trunks->trunks) : -1,
                          .as_root = lane->as_root,
                          .as_leaf = lane->as_leaf};
}

/* Allocates first: later steps cannot fail. */
static sfc_plan_t *alloc_plan(const sf_graph_t *graph)
{
  sfc_plan_t *plan = calloc(1, sizeof *plan);
  sfc_plan_lane_t *lanes = calloc((size_t)graph->nlanes + 1, sizeof *lanes);
  struct sfc_trunks *trunks = graph->trunks != NULL ? sfc_trunks_copy(graph->trunks) : NULL;
  if (plan == NULL || lanes == NULL || (trunks == NULL && graph->trunks != NULL)) {
    free(plan);
    free(lanes);
    sfc_trunks_free(graph->context, trunks);
    return NULL;
  }
  plan->lanes = lanes;
  plan->trunks = trunks;
  return plan;
}

/* Releases an evicted plan, and its snapshot unless a comparison uses it. */
static void drop(sf_context_t *context, sfc_plan_t *plan)
{
  sfc_edge_snapshot_t *snapshot = NULL;
  pthread_mutex_lock(&context->lock);
  if (plan->ncomparing == 0) {
    snapshot = plan->snapshot;
    plan->snapshot = NULL;
  }
  pthread_mutex_unlock(&context->lock);
  sfc_edge_snapshot_free(snapshot);
  sfc_plan_release(context, plan);
}

/* Evicts plans, except the most recent ones up to that many. group NULL: of all groups. */
static void evict(sf_context_t *context, const sf_group_t *group, int kept)
{
  sfc_plan_t *plan;
  do {
    pthread_mutex_lock(&context->lock);
    sfc_plan_t **link = &context->plans;
    for (int n = 0; *link != NULL && (n < kept || (group != NULL && (*link)->group != group->number)); n++)
      link = &(*link)->next;
    plan = *link;
    if (plan != NULL)
      *link = plan->next;
    pthread_mutex_unlock(&context->lock);
    if (plan != NULL)
      drop(context, plan);
  } while (plan != NULL);
}

static void evict_group(sf_group_t *group)
{
  evict(group->context, group, 0);
}

void sfc_plans_forget(sf_context_t *context)
{
  evict(context, NULL, 0);
}

static void keep(sf_group_t *group, sfc_plan_t *plan)
{
  sf_context_t *context = group->context;
  pthread_mutex_lock(&context->lock);
  plan->next = context->plans;
  context->plans = plan;
  plan->nholders++;
  group->on_end = evict_group;
  pthread_mutex_unlock(&context->lock);
  evict(context, NULL, SFC_PLANS_KEPT);
}

/* Evicts when a graph ends, so that creating one takes no time for it. */
static void free_use(sfc_attachment_t *attachment)
{
  sf_context_t *context = attachment->graph->context;
  sfc_plan_release(context, ((sfc_plan_use_t *)attachment)->plan);
  free(attachment);
  evict(context, NULL, SFC_PLANS_KEPT - 1);
}

static void use(sf_graph_t *graph, sfc_plan_t *plan, sfc_plan_use_t *shared)
{
  static const sfc_attachment_ops_t ops = {.free = free_use};
  shared->plan = plan;
  graph->shares_plan = true;
  sfc_graph_attach(graph, &shared->attachment, &ops);
}

void sfc_plan_make(sf_graph_t *graph, sfc_edge_snapshot_t *snapshot)
{
  sfc_plan_use_t *shared = malloc(sizeof *shared);
  sfc_plan_t *plan = snapshot != NULL && shared != NULL ? alloc_plan(graph) : NULL;
  if (plan == NULL) {
    sfc_edge_snapshot_free(snapshot);
    free(shared);
    return;
  }
  plan->nholders = 1;
  plan->number = graph->number;
  plan->group = graph->group->number;
  plan->flags = graph->flags;
  plan->snapshot = snapshot;
  plan->made = graph->plan;
  for (int32_t i = 0; i < graph->nlanes; i++)
    take_lane(graph, &graph->lanes[i], &plan->lanes[i]);
  plan->nlanes = graph->nlanes;
  if (plan->trunks != NULL)
    sfc_trunks_own_plan(plan->trunks, graph->trunks);
  use(graph, plan, shared);
  keep(graph->group, plan);
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

/* Takes references to plans that may be equal. */
static int list_candidates(sf_group_t *group, uint32_t flags, sfc_plan_t *candidates[])
{
  sf_context_t *context = group->context;
  int n = 0;
  pthread_mutex_lock(&context->lock);
  for (sfc_plan_t *plan = context->plans; plan != NULL; plan = plan->next) {
    if (plan->group != group->number || plan->flags != flags)
      continue;
    plan->nholders++;
    plan->ncomparing++;
    candidates[n++] = plan;
  }
  pthread_mutex_unlock(&context->lock);
  return n;
}

sfc_plan_t *sfc_plan_find(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags)
{
  sfc_plan_t *candidates[SFC_PLANS_KEPT], *found = NULL;
  int n = list_candidates(group, flags, candidates);
  for (int i = 0; i < n; i++) {
    bool equal = found == NULL && sfc_edge_snapshot_equals(candidates[i]->snapshot, input);
    pthread_mutex_lock(&group->context->lock);
    candidates[i]->ncomparing--;
    pthread_mutex_unlock(&group->context->lock);
    if (equal)
      found = candidates[i];
    else
      sfc_plan_release(group->context, candidates[i]);
  }
  return found;
}

void sfc_plan_used(sf_context_t *context, sfc_plan_t *plan)
{
  pthread_mutex_lock(&context->lock);
  for (sfc_plan_t **link = &context->plans; *link != NULL; link = &(*link)->next) {
    if (*link != plan)
      continue;
    *link = plan->next;
    plan->next = context->plans;
    context->plans = plan;
    break;
  }
  pthread_mutex_unlock(&context->lock);
}

uint64_t sfc_plan_number(const sfc_plan_t *plan)
{
  return plan->number;
}

int32_t sfc_plan_nroot_ranks(const sfc_plan_t *plan)
{
  return plan->made.readback->nparts - (plan->made.self.nedges > 0);
}

/* ---- Applying ---------------------------------------------------------------------------------------------------- */

sf_status_t sfc_plan_apply(sfc_plan_t *plan, sf_graph_t *graph)
{
  sfc_plan_use_t *shared = malloc(sizeof *shared);
  if (shared == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of a graph");
  use(graph, plan, shared);
  pthread_mutex_lock(&graph->context->lock);
  plan->nholders++;
  pthread_mutex_unlock(&graph->context->lock);
  sfc_trunks_t *trunks = plan->trunks != NULL ? sfc_trunks_copy(plan->trunks) : NULL;
  if (trunks != NULL)
    sfc_trunks_attach(graph, trunks);
  graph->lanes = calloc((size_t)plan->nlanes + 1, sizeof *graph->lanes);
  if (graph->lanes == NULL || (graph->trunks == NULL && plan->trunks != NULL))
    return sfshm_error(SF_ERR_NOMEM, "lanes to other ranks");
  for (int32_t i = 0; i < plan->nlanes; i++) {
    const sfc_plan_lane_t *from = &plan->lanes[i];
    graph->lanes[i] = (sfc_lane_t){.graph = graph,
                                   .peer = from->peer,
                                   .trunk = from->trunk >= 0 ? &graph->trunks->trunks[from->trunk] : NULL,
                                   .rank = from->rank,
                                   .as_root = from->as_root,
                                   .as_leaf = from->as_leaf};
  }
  graph->nlanes = plan->nlanes;
  graph->plan = plan->made;
  return SF_OK;
}
