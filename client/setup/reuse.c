/* Making graphs out of kept plans: see reuse.h. The thread that makes the graph. */
#include "client/setup/reuse.h"

#include <stdlib.h>
#include <string.h>

#include "client/core/context.h"
#include "client/graph/failure.h"
#include "client/setup/lane_addresses.h"
#include "client/setup/lanes.h"
#include "proto/conn.h"
#include "shm/base/error.h"

/* All that the graph needs of this rank. Without memory for it the plan is not used. */
static bool prepare(sf_graph_t *graph, sfc_plan_t *plan)
{
  sf_status_t status = sfc_plan_apply(plan, graph);
  if (status == SF_OK)
    status = sfc_instance_make_tables(graph);
  if (status == SF_OK)
    status = sfc_instance_make_slots(graph);
  return status == SF_OK;
}

/* Makes the graph as empty as it was. Nobody has been told of its slots. */
static void take_back(sf_graph_t *graph)
{
  if (graph->shared.address != NULL)
    sfc_heap_give(&graph->context->inbox, &graph->shared);
  graph->shared = (sfc_block_t){.address = NULL};
  sfc_instance_strip(graph);
}

/* ready->message stays NULL, with SF_OK, if the message can't be made or sent: nobody has heard of it, or the next one
 * will not be sent either. */
static sf_status_t send_proposal(const sf_graph_t *graph, const sfc_plan_t *plan, sfproto_incoming_t *ready)
{
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sfc_ends_t ends;
  if (sfc_ends_of_lanes(graph, &ends) != SF_OK)
    return SF_OK;
  create.group = graph->group->number;
  create.nroots = graph->nroots;
  create.nleaves = graph->nleaves;
  create.flags = graph->flags;
  create.has_again = create.has_nroot_ranks = true;
  create.again = sfc_plan_number(plan);
  create.nroot_ranks = sfc_plan_nroot_ranks(plan);
  create.lanes = ends.pointers;
  create.n_lanes = ends.n;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &create;
  bool sent = sfc_control_send(&graph->context->control, &message, NULL, 0) == SF_OK;
  sfc_ends_free(&ends);
  if (!sent)
    return SF_OK;
  return sfc_control_receive(&graph->context->control, message.request, SFPROTO__MESSAGE__BODY_GRAPH_READY, ready);
}

/* The others believe that the graph is ready: they have to know if it is not. */
static void finish(sf_graph_t *graph, const sfproto_incoming_t *ready)
{
  graph->number = ready->message->graph_ready->graph;
  sf_status_t status = sfc_instance_connect(graph, ready), entered;
  entered = sfc_instance_enter(graph, true);
  if (status == SF_OK)
    status = entered;
  if (status != SF_OK)
    sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
}

/* Proposes to make the graph, whose lanes have slots. */
static sf_status_t propose(sf_graph_t *graph, const sfc_plan_t *plan, sfc_reuse_t *reuse_p)
{
  sfproto_incoming_t ready = {.message = NULL};
  sfc_graph_expect(graph->context);
  sf_status_t status = send_proposal(graph, plan, &ready);
  if (status != SF_OK || ready.message == NULL) {
    sfc_graph_give_up(graph->context);
    return status;
  }
  reuse_p->asked = ready.message->graph_ready->has_edges_of;
  reuse_p->asked_number = ready.message->graph_ready->edges_of;
  reuse_p->done = !reuse_p->asked;
  if (reuse_p->done)
    finish(graph, &ready);
  else
    sfc_graph_give_up(graph->context);
  sfproto_incoming_free(&ready);
  return SF_OK;
}

sf_status_t sfc_reuse_try(sf_graph_t *graph, const sfc_edge_input_t *input, sfc_reuse_t *reuse_p)
{
  *reuse_p = (sfc_reuse_t){.done = false};
  sfc_plan_t *plan = sfc_plan_find(graph->group, input, graph->flags);
  if (plan == NULL)
    return SF_OK;
  sf_status_t status = SF_OK;
  if (prepare(graph, plan))
    status = propose(graph, plan, reuse_p);
  if (!reuse_p->done)
    take_back(graph);
  else
    sfc_plan_used(graph->context, plan);
  sfc_plan_let_go(graph->context, plan);
  return status;
}
