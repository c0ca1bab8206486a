/* Barrier of a graph's ranks: see barrier.h. */
#include "client/engine/barrier.h"

#include <stdio.h>

#include "client/core.h"
#include "client/engine/in_flight.h"
#include "client/engine/mismatch.h"
#include "client/graph.h"
#include "proto/sf_control.pb-c.h"
#include "shm/base/error.h"
#include "shm/observe/calls.h"

/* Numbers the call like an operation; it is not in the table of operations in flight. */
static sf_status_t take_number(sf_graph_t *graph, sfshm_make_t what)
{
  if (!sfc_in_flight_has_room(graph, 1)) {
    sf_status_t status = sfc_in_flight_make_room(graph);
    if (status != SF_OK)
      return status;
  }
  uint64_t sequence = ++graph->flight.last_sequence, call = sfshm_desc_of_make(what, sequence);
  if (graph->in_flight == 0)
    graph->flight.first_sequence = sequence + 1;
  if (graph->flight.next_sample == sequence)
    graph->flight.next_sample++;
  graph->flight.history[sequence % SFC_HISTORY] = call;
  sfshm_calls_note(graph->counts, &graph->flight.digest, sequence, call);
  if (graph->trunks != NULL)
    sfc_mismatch_check_begun(graph, call);
  return SF_OK;
}

/* Read by the listener after it has failed a graph. */
static void set_in_barrier(sf_graph_t *graph, bool in_barrier)
{
  pthread_mutex_lock(&graph->context->lock);
  graph->in_barrier = in_barrier;
  pthread_mutex_unlock(&graph->context->lock);
}

/* wrong: this rank's error, if any. */
static sf_status_t ask_daemon(const sf_graph_t *graph, Sfproto__SetupError *wrong, sfproto_incoming_t *reply)
{
  sf_context_t *context = graph->context;
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(GRAPH_MEET, graph_meet, .graph = graph->number,
                         .call = graph->flight.history[graph->flight.last_sequence % SFC_HISTORY],
                         .error = wrong->status != SF_OK ? wrong : NULL);
  sfc_counters_block(&context->counters, SFSHM_BLOCKED_IN_GRAPH, graph->counts->place);
  sf_status_t status = sfc_daemon_call(&context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_GRAPH_MET, reply);
  sfc_counters_unblock(&context->counters);
  return status;
}

/* All ranks have entered. */
static sf_status_t take_answer(sfproto_incoming_t *reply)
{
  const Sfproto__SetupError *error = reply->message->graph_met->error;
  sf_status_t status = error != NULL ? sfshm_error((sf_status_t)error->status, "%s", error->detail) : SF_OK;
  sfproto_incoming_free(reply);
  return status;
}

sf_status_t sfc_graph_barrier(sf_status_t local_error, sf_graph_t *graph, sfshm_make_t what)
{
  char detail[sizeof graph->failure.detail];
  sfproto_incoming_t reply;
  sf_status_t status = sfc_graph_failure(graph);
  if (graph->size == 1)
    return status == SF_OK ? local_error : status;
  snprintf(detail, sizeof detail, "rank %d: %s", graph->rank, sfshm_error_detail());
  Sfproto__SetupError wrong =
      SFPROTO_BODY(setup_error, .status = local_error, .rank = graph->rank, .leaf = -1, .detail = detail);
  set_in_barrier(graph, true);
  status = sfc_graph_failure(graph);
  if (status == SF_OK)
    status = take_number(graph, what);
  if (status == SF_OK)
    status = sfc_graph_failure(graph);
  if (status == SF_OK)
    status = ask_daemon(graph, &wrong, &reply);
  set_in_barrier(graph, false);
  if (status == SF_OK)
    return take_answer(&reply);
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  sfc_graph_fail_everywhere(graph, status, detail); /* also if a related graph's failure has failed the graph here */
  return sfc_graph_failure(graph);
}
