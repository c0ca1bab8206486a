/* Meetings of a graph's ranks: see meeting.h. */
#include "client/meeting.h"

#include <stdio.h>

#include "client/context.h"
#include "client/transfer.h"
#include "shm/error.h"

/* The listener looks at this behind having failed a graph. */
static void set_meeting(sf_graph_t *graph, bool is_meeting)
{
  pthread_mutex_lock(&graph->context->lock);
  graph->is_meeting = is_meeting;
  pthread_mutex_unlock(&graph->context->lock);
}

/* An operation on streams comes at any place among the others. */
static uint64_t position_of(const sf_graph_t *graph, sfc_meeting_t what)
{
  return what == SFPROTO__GRAPH_MEET__WHAT__STREAMS ? UINT64_MAX : graph->last_sequence;
}

static sf_status_t ask_daemon(const sf_graph_t *graph, sfc_meeting_t what)
{
  sf_context_t *context = graph->context;
  Sfproto__GraphMeet meet = SFPROTO__GRAPH_MEET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  meet.graph = graph->number;
  meet.what = what;
  meet.position = position_of(graph, what);
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_MEET;
  message.graph_meet = &meet;
  sfc_counters_block(&context->counters, SFSHM_BLOCKED_IN_GRAPH, graph->counts->place);
  sf_status_t status = sfc_control_tell(&context->control, &message, NULL, 0);
  sfc_counters_unblock(&context->counters);
  return status;
}

sf_status_t sfc_graph_meet(sf_graph_t *graph, sfc_meeting_t what)
{
  char detail[sizeof graph->failure_detail];
  if (graph->size == 1)
    return sfc_graph_failure(graph);
  set_meeting(graph, true);
  sf_status_t status = sfc_graph_failure(graph);
  if (status == SF_OK)
    status = ask_daemon(graph, what);
  set_meeting(graph, false);
  if (status == SF_OK)
    return SF_OK;
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  sfc_graph_fail_everywhere(graph, status, detail); /* also what has failed here because of another graph */
  return sfc_graph_failure(graph);
}
