/* Requests of operations on parts of other nodes: see request.h. The thread that begins them. */
#include "client/onesided/request.h"

#include <stdlib.h>
#include <string.h>

#include "client/engine.h"
#include "shm/base/error.h"

/* What a request is a part of. */
typedef struct operation {
  sfc_continuation_t continuation; /* first */
  bool is_waiting;                 /* the continuation is the thread's */
  sfc_remote_t remote;
  sf_request_t request;
} operation_t;

static bool advance(sfc_continuation_t *self);

/* The operation of a continuation; NULL: it is none on the array. */
static operation_t *operation_of(sfc_continuation_t *continuation, const sf_array_t *array)
{
  operation_t *operation = (operation_t *)continuation;
  return continuation->advance == advance && operation->remote.array == array ? operation : NULL;
}

/* Whether one of these, or of those begun before, still has requests to submit. */
static bool are_submitted(sfc_continuation_t *latest, const sf_array_t *array)
{
  for (sfc_continuation_t *at = latest; at != NULL; at = at->next) {
    const operation_t *operation = operation_of(at, array);
    if (operation != NULL && !operation->remote.is_submitted)
      return false;
  }
  return true;
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
  if (sfc_graph_is_failed(remote->array->graph) || !are_submitted(self->next, remote->array))
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

static sf_status_t check_thread(const sf_array_t *array, const sfc_thread_t *thread)
{
  const sfc_thread_t *user = array->graph->user.thread;
  return user == NULL || user == thread
             ? SF_OK
             : sfshm_error(SF_ERR_STATE, "the array has requests in flight that another thread began");
}

sf_status_t sfc_array_begin(const sfc_remote_t *remote, sf_request_t **request_p)
{
  sf_array_t *array = remote->array;
  sfc_thread_t *thread = sfc_thread_self();
  sf_status_t status = check_thread(array, thread);
  if (status != SF_OK)
    return status;
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

/* ---- Waiting for all --------------------------------------------------------------------------------------------- */

static bool earlier_are_submitted(void *argument)
{
  return are_submitted(sfc_thread_self()->continuations, argument);
}

sf_status_t sfc_array_submit_earlier(sf_array_t *array)
{
  return earlier_are_submitted(array) ? SF_OK : sfc_window_wait(array, earlier_are_submitted, array);
}

static bool are_complete(void *argument)
{
  for (sfc_continuation_t *at = sfc_thread_self()->continuations; at != NULL; at = at->next)
    if (operation_of(at, argument) != NULL)
      return false;
  return true;
}

sf_status_t sfc_array_flush_requests(sf_array_t *array)
{
  return are_complete(array) ? SF_OK : sfc_window_wait(array, are_complete, array);
}
