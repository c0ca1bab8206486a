/* Meetings of a graph's ranks: see barrier.h. */
#include "client/setup/barrier.h"

#include <stdio.h>

#include "client/core/context.h"
#include "client/graph/failure.h"
#include "shm/base/error.h"

/* The listener looks at this behind having failed a graph. */
static void set_meeting(sf_graph_t *graph, bool is_meeting)
{
  pthread_mutex_lock(&graph->context->lock);
  graph->is_meeting = is_meeting;
  pthread_mutex_unlock(&graph->context->lock);
}

/* wrong: with the call, if that is so. */
static sf_status_t ask_daemon(const sf_graph_t *graph, sfc_meeting_t what, Sfproto__SetupError *wrong,
                              sfproto_incoming_t *met)
{
  sf_context_t *context = graph->context;
  Sfproto__GraphMeet meet = SFPROTO__GRAPH_MEET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  meet.graph = graph->number;
  meet.what = what;
  meet.position = graph->last_sequence;
  meet.error = wrong->status != SF_OK ? wrong : NULL;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_MEET;
  message.graph_meet = &meet;
  sfc_counters_block(&context->counters, SFSHM_BLOCKED_IN_GRAPH, graph->counts->place);
  sf_status_t status = sfc_control_call(&context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_GRAPH_MET, met);
  sfc_counters_unblock(&context->counters);
  return status;
}

/* All have come. */
static sf_status_t take_answer(sfproto_incoming_t *met)
{
  const Sfproto__SetupError *error = met->message->graph_met->error;
  sf_status_t status = error != NULL ? sfshm_error((sf_status_t)error->status, "%s", error->detail) : SF_OK;
  sfproto_incoming_free(met);
  return status;
}

sf_status_t sfc_graph_meet(sf_status_t before, sf_graph_t *graph, sfc_meeting_t what)
{
  char detail[sizeof graph->failure_detail];
  Sfproto__SetupError wrong = SFPROTO__SETUP_ERROR__INIT;
  sfproto_incoming_t met;
  sf_status_t status = sfc_graph_failure(graph);
  if (graph->size == 1)
    return status == SF_OK ? before : status;
  snprintf(detail, sizeof detail, "rank %d: %s", graph->rank, sfshm_error_detail());
  wrong.status = before;
  wrong.rank = graph->rank;
  wrong.leaf = -1;
  wrong.detail = detail;
  set_meeting(graph, true);
  status = sfc_graph_failure(graph);
  if (status == SF_OK)
    status = ask_daemon(graph, what, &wrong, &met);
  set_meeting(graph, false);
  if (status == SF_OK)
    return take_answer(&met);
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  sfc_graph_fail_everywhere(graph, status, detail); /* also what has failed here because of another graph */
  return sfc_graph_failure(graph);
}
