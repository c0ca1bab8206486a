/* Requests of operations on elements of other nodes: see request.h. Runs on the thread that began them. */
#include "client/onesided/request.h"

#include <stdlib.h>
#include <string.h>

#include "client/engine.h"
#include "shm/base/error.h"

/* Operation with its request. */
typedef struct operation {
  sfc_continuation_t continuation; /* first */
  bool is_waiting;                 /* the continuation is in the thread's list */
  sfc_remote_t remote;
  sf_request_t request;
} operation_t;

static bool advance(sfc_continuation_t *self);

/* Whether the list has an operation on the array, with unsubmitted set: one with requests to submit. */
static bool has_operation(const sfc_continuation_t *list, const sf_array_t *array, bool unsubmitted)
{
  for (; list != NULL; list = list->next) {
    const sfc_remote_t *remote = &((const operation_t *)list)->remote;
    if (list->advance == advance && remote->array == array && !(unsubmitted && remote->is_submitted))
      return true;
  }
  return false;
}

static void leave_thread(operation_t *operation)
{
  if (operation->is_waiting)
    sfc_thread_remove(sfc_thread_self(), &operation->continuation);
  operation->is_waiting = false;
}

static bool advance(sfc_continuation_t *self)
{
  operation_t *operation = (operation_t *)self;
  sfc_remote_t *remote = &operation->remote;
  if (sfc_graph_is_failed(remote->array->graph) || has_operation(self->next, remote->array, true))
    return false;
  bool moved = sfc_remote_advance(remote);
  if (sfc_remote_is_complete(remote)) {
    operation->request.receives_left = 0;
    leave_thread(operation);
  }
  return moved;
}

static sf_status_t end(sf_request_t *request, sf_status_t status)
{
  operation_t *operation = request->whole;
  leave_thread(operation);
  sfc_in_flight_remove(request->graph);
  if (status != SF_OK)
    sfc_remote_abandon(&operation->remote);
  else
    status = operation->remote.status;
  free(operation);
  return status;
}

static const sfc_request_ops_t request_ops = {.end = end};

sf_status_t sfc_array_begin(const sfc_remote_t *remote, sf_request_t **request_p)
{
  sf_array_t *array = remote->array;
  sfc_thread_t *thread = sfc_thread_self();
  if (array->graph->user.thread != NULL && array->graph->user.thread != thread)
    return sfshm_error(SF_ERR_STATE, "the array has requests in flight that another thread began");
  operation_t *operation = malloc(sizeof *operation);
  if (operation == NULL)
    return sfshm_error(SF_ERR_NOMEM, "request of an array");
  *operation = (operation_t){.continuation = {.advance = advance}, .remote = *remote, .is_waiting = true};
  if (remote->alpha != NULL) {
    memcpy(operation->remote.factor, remote->alpha, array->shape.unit_bytes);
    operation->remote.alpha = operation->remote.factor;
  }
  operation->request = (sf_request_t){.graph = array->graph,
                                      .ops = &request_ops,
                                      .whole = operation,
                                      .awaited = &operation->request,
                                      .carrier = &operation->request,
                                      .in_flight = true,
                                      .receives_left = 1};
  sfc_in_flight_add(array->graph, thread);
  sfc_thread_add(thread, &operation->continuation);
  (void)advance(&operation->continuation);
  *request_p = &operation->request;
  if (sfc_remote_is_complete(&operation->remote)) {
    *request_p = NULL;
    return end(&operation->request, SF_OK);
  }
  return SF_OK;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static bool are_submitted(void *array)
{
  return !has_operation(sfc_thread_self()->continuations, array, true);
}

static bool are_complete(void *array)
{
  return !has_operation(sfc_thread_self()->continuations, array, false);
}

sf_status_t sfc_array_submit_earlier(sf_array_t *array)
{
  return are_submitted(array) ? SF_OK : sfc_window_wait(array, are_submitted, array);
}

sf_status_t sfc_array_flush_requests(sf_array_t *array)
{
  return are_complete(array) ? SF_OK : sfc_window_wait(array, are_complete, array);
}
