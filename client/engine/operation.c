/* Operations of the public interface: checks, begins and ends them. */
#include "client/engine/operation.h"

#include <stdio.h>

#include "client/core.h"
#include "client/engine/in_flight.h"
#include "client/engine/op_trace.h"
#include "client/engine/progress.h"
#include "client/engine/request.h"
#include "client/engine/start.h"
#include "client/engine/thread.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* The graph's recent request, if the call has the same arguments; everything has been checked then. */
static inline __attribute__((always_inline)) sf_request_t *take_recent(sf_graph_t *graph, sfshm_operation_t operation,
                                                                       const sf_type_t *unit, const void *rootdata,
                                                                       const void *leafdata, const sf_op_t *op)
{
  if (graph == NULL || unit == NULL || op == NULL || graph->generation != sfc_process_generation)
    return NULL;
  sf_request_t *request = graph->requests.recent[operation];
  if (request == NULL || request->in_flight || request->first.root != rootdata || request->first.leaf != leafdata ||
      request->first.combine.unit.base != unit->unit.base || request->first.combine.unit.count != unit->unit.count ||
      request->first.op != op->op || request->memory_epoch != sfc_memory_epoch(&graph->context->memory))
    return NULL;
  return request;
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

sf_status_t sfc_graph_prepare_slow(sf_graph_t *graph, const sfc_thread_t *thread, uint64_t noperations)
{
  sf_status_t status = sfc_graph_failure(graph);
  if (status == SF_OK && graph->user.thread != NULL && graph->user.thread != thread)
    status = sfshm_error(SF_ERR_STATE, "graph %llu has operations in flight that another thread began",
                         (unsigned long long)graph->number);
  return status == SF_OK && !sfc_in_flight_has_room(graph, noperations) ? sfc_in_flight_make_room(graph) : status;
}

/* No rank may read freed device memory. */
static __attribute__((noinline)) sf_status_t check_alive(sf_request_t *request)
{
  request->failures = request->devices->failures();
  const char *name = sfshm_desc_operation(request->signature);
  sf_status_t status = SF_OK;
  for (int32_t k = 0; k < request->nfields && status == SF_OK; k++) {
    const sfc_field_t *field = &request->fields[k];
    status = sfc_memory_check_alive(name, &field->source_ref, field->source, NULL);
    if (status == SF_OK)
      status = sfc_memory_check_alive(name, &field->target_ref, field->target, NULL);
  }
  return status;
}

static inline __attribute__((always_inline)) sf_status_t begin(sf_request_t *request, sfc_thread_t *thread, bool split)
{
  sf_graph_t *graph = request->graph;
  if (__builtin_expect(request->devices != NULL, false)) {
    sf_status_t status = check_alive(request);
    if (status != SF_OK)
      return status;
  }
  sf_status_t status = sfc_graph_prepare(graph, thread, 1);
  if (status != SF_OK)
    return status;
  sfc_start(request, thread, split);
  if (__builtin_expect(split && graph->progress.nstalled > 0, false))
    (void)sfc_graph_send_eagerly(graph);
  return SF_OK;
}

void sfc_request_lift(sf_request_t *request)
{
  request->held = false;
  if (request->trace != 0)
    sfc_op_trace_devices(request);
  if (request->graph->plan.self.nedges > 0)
    sfc_request_do_self(request);
}

sfshm_call_t sfc_call_name(const sf_graph_t *graph, sfshm_operation_t operation, const sf_op_t *op)
{
  if (graph != NULL && graph->parent != NULL && op == SF_REPLACE)
    return operation == SFSHM_BCAST ? SFSHM_CALL_SCATTER : SFSHM_CALL_GATHER;
  return operation == SFSHM_BCAST ? SFSHM_CALL_BCAST : SFSHM_CALL_REDUCE;
}

/* Checks the arguments and fills in a call. */
static sf_status_t check_call(sf_graph_t *graph, sfshm_operation_t operation, const sf_field_t *field, bool persistent,
                              sf_request_t **request_p, sfc_call_t *call_p)
{
  sfshm_call_t name = sfc_call_name(graph, operation, field->op);
  sf_status_t status = sfc_call_check_op(sfshm_call_name(name), graph, field->unit, field->op, request_p);
  if (status != SF_OK)
    return status;
  *call_p = (sfc_call_t){.graph = graph,
                         .operation = operation,
                         .signature = sfshm_desc_signature(name, field->unit->unit, field->op->op),
                         .fields = field,
                         .nfields = 1,
                         .persistent = persistent};
  return SF_OK;
}

/* Arguments as a field. Which buffer will be written depends on the operation. */
static sf_field_t field_of(const sf_type_t *unit, const void *rootdata, const void *leafdata, const sf_op_t *op)
{
  return (sf_field_t){unit, (void *)(uintptr_t)rootdata, (void *)(uintptr_t)leafdata, op};
}

/* Makes a request for a call unlike the last one. Checks the arguments before the graph. */
static __attribute__((noinline)) sf_status_t make_fresh(sf_graph_t *graph, sfshm_operation_t operation,
                                                        const sf_type_t *unit, const void *rootdata, void *leafdata,
                                                        const sf_op_t *op, sf_request_t **asked_p,
                                                        sf_request_t **request_p)
{
  sfc_call_t call;
  sf_field_t field = field_of(unit, rootdata, leafdata, op);
  sf_status_t status = check_call(graph, operation, &field, false, asked_p, &call);
  if (status == SF_OK)
    status = sfc_graph_failure(graph);
  return status == SF_OK ? sfc_request_make(&call, request_p) : status;
}

sf_status_t sfc_request_begin(sf_request_t *request, sf_request_t **request_p)
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_status_t status = request->ops->begin(request, thread);
  sfc_thread_flush(thread);
  if (status != SF_OK)
    request->ops->free(request);
  else
    *request_p = request;
  return status;
}

/* Begins an operation with an op of the application. */
static __attribute__((noinline)) sf_status_t make_by_op(sf_graph_t *graph, sfshm_operation_t operation,
                                                        const sf_field_t *field, sf_request_t **request_p)
{
  sf_request_t *request;
  sfc_op_call_t call = {graph, operation, field, 1, false};
  sf_status_t status = field->op->make_request(&call, request_p == NULL ? NULL : &request);
  return status == SF_OK ? sfc_request_begin(request, request_p) : status;
}

static inline sf_status_t make_and_begin(sf_graph_t *graph, sfshm_operation_t operation, const sf_type_t *unit,
                                         const void *rootdata, void *leafdata, const sf_op_t *op,
                                         sf_request_t **request_p, bool split)
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_status_t status;
  sf_request_t *request = request_p == NULL ? NULL : take_recent(graph, operation, unit, rootdata, leafdata, op);
  if (request == NULL) {
    if (op != NULL && op->make_request != NULL)
      return make_by_op(graph, operation, &(sf_field_t){unit, (void *)(uintptr_t)rootdata, leafdata, op}, request_p);
    status = make_fresh(graph, operation, unit, rootdata, leafdata, op, request_p, &request);
    if (status != SF_OK)
      return status;
  }
  status = begin(request, thread, split);
  sfc_thread_flush(thread);
  if (status != SF_OK) {
    sfc_request_recycle(request);
    return status;
  }
  *request_p = request;
  return SF_OK;
}

sf_status_t sf_bcast_begin(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                           const sf_op_t *op, sf_request_t **request_p)
{
  return make_and_begin(graph, SFSHM_BCAST, unit, rootdata, leafdata, op, request_p, true);
}

sf_status_t sf_reduce_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                            const sf_op_t *op, sf_request_t **request_p)
{
  return make_and_begin(graph, SFSHM_REDUCE, unit, rootdata, (void *)(uintptr_t)leafdata, op, request_p, true);
}

static sf_status_t make_persistent(sf_graph_t *graph, sfshm_operation_t operation, const sf_type_t *unit,
                                   const void *rootdata, const void *leafdata, const sf_op_t *op,
                                   sf_request_t **request_p)
{
  sfc_call_t call;
  sf_field_t field = field_of(unit, rootdata, leafdata, op);
  if (op != NULL && op->make_request != NULL)
    return op->make_request(&(sfc_op_call_t){graph, operation, &field, 1, true}, request_p);
  sf_status_t status = check_call(graph, operation, &field, true, request_p, &call);
  return status == SF_OK ? sfc_request_make(&call, request_p) : status;
}

sf_status_t sf_bcast_init(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                          const sf_op_t *op, sf_request_t **request_p)
{
  return make_persistent(graph, SFSHM_BCAST, unit, rootdata, leafdata, op, request_p);
}

sf_status_t sf_reduce_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                           const sf_op_t *op, sf_request_t **request_p)
{
  return make_persistent(graph, SFSHM_REDUCE, unit, rootdata, leafdata, op, request_p);
}

static sf_status_t check_start(const sf_request_t *request, int32_t i)
{
  if (request == NULL || !request->persistent)
    return sfshm_error(SF_ERR_ARG, "sf_start: request %d is %s", i, request == NULL ? "NULL" : "not persistent");
  if (request->graph->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "sf_start: in a child of the process that called sf_init");
  return request->in_flight ? sfshm_error(SF_ERR_STATE, "sf_start: request %d is in flight", i) : SF_OK;
}

/* The number of requests from the first on that can start as one operation; 1 as a rule. The first has been checked. */
static int32_t count_joined(sf_request_t *const requests[], int32_t count)
{
  int32_t n = 1, nfields = requests[0]->nfields;
  if ((requests[0]->graph->flags & SF_GRAPH_TOGETHER) == 0)
    return 1;
  requests[0]->in_flight = true; /* so that none is there twice */
  while (n < count && requests[n] != NULL && requests[n]->persistent && !requests[n]->in_flight &&
         sfc_request_joins(requests[0], requests[n]) && (nfields += requests[n]->nfields) <= SF_FIELDS_MAX)
    requests[n++]->in_flight = true;
  for (int32_t i = 0; i < n; i++)
    requests[i]->in_flight = false;
  return n;
}

sf_status_t sf_start_all(int32_t count, sf_request_t *const requests[])
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_status_t status = SF_OK;
  if (count < 0 || (count > 0 && requests == NULL))
    return sfshm_error(SF_ERR_ARG, "sf_start_all: count %d, requests %p", count, (const void *)requests);
  for (int32_t i = 0, n; i < count && status == SF_OK; i += n) {
    status = check_start(requests[i], i);
    n = status == SF_OK ? count_joined(&requests[i], count - i) : 1;
    if (status == SF_OK)
      status =
          n == 1 ? requests[i]->ops->begin(requests[i], thread) : sfc_request_start_joined(&requests[i], n, thread);
  }
  sfc_thread_flush(thread);
  return status;
}

sf_status_t sf_start(sf_request_t *request)
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_status_t status = check_start(request, 0);
  if (status == SF_OK)
    status = request->ops->begin(request, thread);
  sfc_thread_flush(thread);
  return status;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) sf_status_t end_plain(sf_request_t *request, sf_status_t status)
{
  if (request->devices != NULL)
    status = sfc_devices_check(request->graph, request->devices, request->failures, status);
  sfc_finish(request);
  return status;
}

/* Takes the operation out of flight. Returns its status. */
static inline __attribute__((always_inline)) sf_status_t end(sf_request_t **request_p, sf_status_t status)
{
  sf_request_t *request = *request_p;
  if (!request->persistent)
    *request_p = NULL;
  return __builtin_expect(request->whole == NULL, true) ? end_plain(request, status)
                                                        : request->ops->end(request, status);
}

static __attribute__((noinline)) sf_status_t complete_part(sf_request_t **request, sfc_thread_t *thread)
{
  const sfc_request_ops_t *ops = (*request)->ops;
  sf_status_t status = ops->check_wait == NULL ? SF_OK : ops->check_wait(*request);
  if (status != SF_OK)
    return status;
  return end(request, sfc_thread_wait(thread, (*request)->carrier, -1));
}

/* Waits for a request of this thread, and ends it. */
static inline sf_status_t complete(sf_request_t **request_p, sfc_thread_t *thread)
{
  sf_request_t *request = *request_p;
  if (__builtin_expect(request->whole != NULL, false))
    return complete_part(request_p, thread);
  sf_status_t status = sfc_thread_wait(thread, request, -1);
  if (!request->persistent)
    *request_p = NULL;
  return end_plain(request, status);
}

static inline __attribute__((always_inline)) sf_status_t check_end(sf_request_t **request, const sfc_thread_t *thread,
                                                                   const char *function)
{
  const sf_graph_t *graph = (*request)->graph;
  if (graph->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "%s: in a child of the process that called sf_init", function);
  if (graph->user.thread != thread)
    return sfshm_error(SF_ERR_STATE, "%s: operation %llu of graph %llu was begun by another thread", function,
                       (unsigned long long)(*request)->sequence, (unsigned long long)graph->number);
  return SF_OK;
}

sf_status_t sf_wait(sf_request_t **request)
{
  sfc_thread_t *thread = sfc_thread_self();
  if (request == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_wait: request is NULL");
  if (*request == NULL || !(*request)->in_flight)
    return SF_OK;
  sf_status_t status = check_end(request, thread, __func__);
  return status == SF_OK ? complete(request, thread) : status;
}

sf_status_t sf_wait_for(sf_request_t **request, int64_t timeout_ns, bool *done_p)
{
  sfc_thread_t *thread = sfc_thread_self();
  if (request == NULL || done_p == NULL || timeout_ns < 0)
    return sfshm_error(SF_ERR_ARG, "sf_wait_for: request %p, timeout %lld ns, done_p %p", (void *)request,
                       (long long)timeout_ns, (void *)done_p);
  bool done = *request == NULL || !(*request)->in_flight;
  if (!done) {
    sf_status_t status = check_end(request, thread, __func__);
    if (status != SF_OK)
      return status;
    status = sfc_thread_wait(thread, (*request)->carrier, timeout_ns);
    done = status != SF_OK || sfc_request_is_complete((*request)->carrier);
    if (done) {
      thread->idle_ns = 0;
      status = end(request, status);
    }
    if (status != SF_OK)
      return status;
  }
  *done_p = done;
  return SF_OK;
}

sf_status_t sf_wait_all(int32_t count, sf_request_t *requests[])
{
  sf_status_t first = SF_OK;
  char detail[SFSHM_DETAIL_BYTES]; /* of the first error */
  if (count < 0 || (count > 0 && requests == NULL))
    return sfshm_error(SF_ERR_ARG, "sf_wait_all: count %d, requests %p", count, (void *)requests);
  for (int32_t i = 0; i < count; i++) {
    sf_status_t status = sf_wait(&requests[i]);
    if (status == SF_OK || first != SF_OK)
      continue;
    first = status;
    snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  }
  return first == SF_OK ? SF_OK : sfshm_error(first, "%s", detail);
}

sf_status_t sf_test(sf_request_t **request, bool *done_p)
{
  sfc_thread_t *thread = sfc_thread_self();
  if (request == NULL || done_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_test: %s is NULL", request == NULL ? "request" : "done_p");
  if (*request == NULL || !(*request)->in_flight) {
    *done_p = true;
    return SF_OK;
  }
  sf_status_t status = check_end(request, thread, __func__);
  if (status != SF_OK)
    return status;
  sfc_thread_test(thread);
  status = sfc_graph_failure((*request)->graph);
  bool done = status != SF_OK || sfc_request_is_complete((*request)->carrier);
  if (done)
    status = end(request, status);
  if (status == SF_OK)
    *done_p = done;
  return status;
}

/* ---- Requests that lanes carry out ------------------------------------------------------------------------------- */

static sf_status_t plain_begin(sf_request_t *request, sfc_thread_t *thread)
{
  sf_status_t status = sfc_request_prepare(request);
  return status == SF_OK ? begin(request, thread, true) : status;
}

static sf_status_t plain_end(sf_request_t *request, sf_status_t status)
{
  return end_plain(request, status);
}

const sfc_request_ops_t sfc_plain_request_ops = {plain_begin, plain_end, sfc_request_free, NULL};

/* ---- Blocking ---------------------------------------------------------------------------------------------------- */

/* Flattened: a small blocking operation takes little longer than a cache line between two cores, so calls show. */
__attribute__((flatten)) sf_status_t sf_bcast(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                              void *leafdata, const sf_op_t *op)
{
  sf_request_t *request;
  sf_status_t status = make_and_begin(graph, SFSHM_BCAST, unit, rootdata, leafdata, op, &request, false);
  return status == SF_OK ? complete(&request, sfc_thread_self()) : status;
}

__attribute__((flatten)) sf_status_t sf_reduce(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                               void *rootdata, const sf_op_t *op)
{
  sf_request_t *request;
  sf_status_t status =
      make_and_begin(graph, SFSHM_REDUCE, unit, rootdata, (void *)(uintptr_t)leafdata, op, &request, false);
  return status == SF_OK ? complete(&request, sfc_thread_self()) : status;
}

sf_status_t sf_request_free(sf_request_t **request)
{
  if (request == NULL || *request == NULL)
    return SF_OK;
  if (!(*request)->persistent || (*request)->in_flight)
    return sfshm_error(SF_ERR_STATE, "sf_request_free: the request is %s",
                       (*request)->persistent ? "in flight" : "not persistent: sf_wait frees it");
  (*request)->ops->free(*request);
  *request = NULL;
  return SF_OK;
}
