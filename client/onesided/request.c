/* Requests of operations on elements of other nodes: see request.h. */
#include "client/onesided/request.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "client/engine.h"
#include "shm/base/error.h"

/* Operation with its request. While it is in the window's list any thread may advance it, under the window's lock; the
 * thread that began it takes it from the list of complete ones:
 *
 *   window's list ---complete---> array's list of complete ones ---the thread looks---> known
 *
 * It ends in any of these states: the first two only if the array has failed. */
typedef struct sfc_operation {
  sfc_begun_t begun; /* first */
  struct sfc_operation *next;
  enum { IN_WINDOW, COMPLETE, KNOWN } state;
  sfc_remote_t remote;
  char detail[SFSHM_WINDOW_TEXT]; /* of remote.status */
  sf_request_t request;
} operation_t;

/* ---- Any thread, under the lock ---------------------------------------------------------------------------------- */

static void leave_window(operation_t *operation)
{
  sf_array_t *array = operation->remote.array;
  TAILQ_REMOVE(&array->context->window->begun, &operation->begun, entry);
  atomic_fetch_sub_explicit(&array->requests.nincomplete, 1, memory_order_release);
}

static bool advance(sfc_begun_t *begun, bool *moved_p)
{
  operation_t *operation = (operation_t *)begun;
  sfc_remote_t *remote = &operation->remote;
  sfc_array_requests_t *requests = &remote->array->requests;
  if (sfc_graph_is_failed(remote->array->graph))
    return true;
  bool was_submitted = remote->is_submitted, was_good = remote->status == SF_OK;
  *moved_p |= sfc_remote_advance(remote);
  if (was_good && remote->status != SF_OK)
    strncpy(operation->detail, sfshm_error_detail(), sizeof operation->detail - 1);
  if (!was_submitted && remote->is_submitted)
    atomic_fetch_sub_explicit(&requests->nunsubmitted, 1, memory_order_release);
  if (sfc_remote_is_complete(remote)) {
    leave_window(operation);
    operation->state = COMPLETE;
    operation->next = requests->complete;
    requests->complete = operation;
  }
  return remote->is_submitted;
}

/* ---- The thread that begins them --------------------------------------------------------------------------------- */

static void know(sf_array_t *array, operation_t *operation)
{
  operation->state = KNOWN;
  operation->request.receives_left = 0;
  if (--array->requests.nbegun == 0)
    sfc_thread_remove(sfc_thread_self(), &array->requests.continuation);
}

static bool progress(sfc_continuation_t *continuation)
{
  sf_array_t *array = (sf_array_t *)((char *)continuation - offsetof(sf_array_t, requests.continuation));
  sfc_window_t *window = array->context->window;
  bool moved = sfc_window_collect(window);
  pthread_mutex_lock(&window->lock);
  operation_t *operation = array->requests.complete;
  array->requests.complete = NULL;
  pthread_mutex_unlock(&window->lock);
  for (operation_t *next; operation != NULL; operation = next) {
    next = operation->next;
    know(array, operation);
    moved = true;
  }
  return moved;
}

/* Takes the operation out of its list. */
static void leave(operation_t *operation)
{
  sf_array_t *array = operation->remote.array;
  operation_t **link = &array->requests.complete;
  if (operation->state == IN_WINDOW) {
    leave_window(operation);
    if (!operation->remote.is_submitted)
      atomic_fetch_sub_explicit(&array->requests.nunsubmitted, 1, memory_order_release);
  } else {
    while (*link != operation)
      link = &(*link)->next;
    *link = operation->next;
  }
  know(array, operation);
}

static sf_status_t end(sf_request_t *request, sf_status_t status)
{
  operation_t *operation = request->whole;
  sfc_window_t *window = operation->remote.array->context->window;
  pthread_mutex_lock(&window->lock);
  if (operation->state != KNOWN)
    leave(operation);
  pthread_mutex_unlock(&window->lock);
  sfc_in_flight_remove(request->graph);
  if (status != SF_OK)
    sfc_remote_abandon(&operation->remote);
  else if (operation->remote.status != SF_OK)
    status = sfshm_error(operation->remote.status, "%s", operation->detail);
  free(operation);
  return status;
}

static const sfc_request_ops_t request_ops = {.end = end};

sf_status_t sfc_array_begin(const sfc_remote_t *remote, sf_request_t **request_p)
{
  sf_array_t *array = remote->array;
  sfc_array_requests_t *requests = &array->requests;
  sfc_window_t *window = array->context->window;
  sfc_thread_t *thread = sfc_thread_self();
  if (array->graph->user.thread != NULL && array->graph->user.thread != thread)
    return sfshm_error(SF_ERR_STATE, "the array has requests in flight that another thread began");
  operation_t *operation = malloc(sizeof *operation);
  if (operation == NULL)
    return sfshm_error(SF_ERR_NOMEM, "request of an array");
  *operation = (operation_t){.begun = {.advance = advance}, .remote = *remote};
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
  if (requests->nbegun++ == 0) {
    requests->continuation.advance = progress;
    sfc_thread_add(thread, &requests->continuation);
  }
  pthread_mutex_lock(&window->lock);
  atomic_fetch_add_explicit(&requests->nincomplete, 1, memory_order_relaxed);
  if (!remote->is_submitted)
    atomic_fetch_add_explicit(&requests->nunsubmitted, 1, memory_order_relaxed);
  TAILQ_INSERT_TAIL(&window->begun, &operation->begun, entry);
  pthread_mutex_unlock(&window->lock);
  (void)progress(&requests->continuation);
  if (operation->state != KNOWN) {
    *request_p = &operation->request;
    return SF_OK;
  }
  sf_status_t status = end(&operation->request, SF_OK);
  if (status == SF_OK)
    *request_p = NULL;
  return status;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static bool are_submitted(void *argument)
{
  sf_array_t *array = argument;
  if (atomic_load_explicit(&array->requests.nunsubmitted, memory_order_acquire) > 0)
    (void)sfc_window_collect(array->context->window);
  return atomic_load_explicit(&array->requests.nunsubmitted, memory_order_acquire) == 0;
}

static bool are_complete(void *argument)
{
  sf_array_t *array = argument;
  if (atomic_load_explicit(&array->requests.nincomplete, memory_order_acquire) > 0)
    (void)sfc_window_collect(array->context->window);
  return atomic_load_explicit(&array->requests.nincomplete, memory_order_acquire) == 0;
}

sf_status_t sfc_array_submit_earlier(sf_array_t *array)
{
  return are_submitted(array) ? SF_OK : sfc_window_wait(array, are_submitted, array);
}

sf_status_t sfc_array_flush_requests(sf_array_t *array)
{
  return are_complete(array) ? SF_OK : sfc_window_wait(array, are_complete, array);
}
