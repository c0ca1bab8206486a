/* The operations of the public interface: checking, beginning, ending. */
#include "client/operation.h"

#include <stdlib.h>

#include "client/context.h"
#include "client/match.h"
#include "client/progress.h"
#include "client/transfer.h"
#include "client/trunk.h"
#include "client/type.h"
#include "shm/error.h"

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

static const char *operation_name(sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? "bcast" : "reduce";
}

/* A buffer must be there if a vertex of it takes part, and must not end before the last one. */
static sf_status_t check_buffer(const sf_request_t *request, const char *name, const void *address, int64_t last,
                                const sfc_memory_ref_t *ref)
{
  uint64_t need;
  if (last < 0)
    return SF_OK;
  if (address == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: %s is NULL, but vertex %lld takes part", operation_name(request->operation),
                       name, (long long)last);
  if (__builtin_mul_overflow((uint64_t)last + 1, (uint64_t)request->combine.unit_bytes, &need))
    return sfshm_error(SF_ERR_RANGE, "%s: %s: %lld units of %zu bytes", operation_name(request->operation), name,
                       (long long)last + 1, request->combine.unit_bytes);
  if (ref->class != SFC_MEMORY_UNKNOWN && ref->bytes_left < need)
    return sfshm_error(SF_ERR_RANGE, "%s: %s at %p needs %llu bytes, but its %s ends after %zu",
                       operation_name(request->operation), name, address, (unsigned long long)need,
                       ref->class == SFC_MEMORY_ALLOC ? "sf_alloc memory" : "registered region", ref->bytes_left);
  return SF_OK;
}

/* Looks both buffers up and checks them, unless nothing has changed since that was done. */
static sf_status_t prepare_buffers(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  sfc_memory_t *memory = &graph->context->memory;
  uint64_t epoch = sfc_memory_epoch(memory);
  if (request->memory_epoch == epoch)
    return SF_OK;
  sfc_memory_ref_t root = sfc_memory_find(memory, request->root);
  sfc_memory_ref_t leaf = sfc_memory_find(memory, request->leaf);
  sf_status_t status = check_buffer(request, "rootdata", request->root, graph->root_max, &root);
  if (status == SF_OK)
    status = check_buffer(request, "leafdata", request->leaf, graph->leaf_max, &leaf);
  if (status != SF_OK)
    return status;
  request->source_ref = request->operation == SFSHM_BCAST ? root : leaf;
  request->memory_epoch = epoch;
  return SF_OK;
}

static sf_status_t check_call(const sf_graph_t *graph, sfshm_operation_t operation, const sf_type_t *unit,
                              const sf_op_t *op, sf_request_t *const *request_p)
{
  const char *name = operation_name(operation);
  if (graph == NULL || unit == NULL || op == NULL || request_p == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: %s is NULL", name,
                       graph == NULL  ? "graph"
                       : unit == NULL ? "unit"
                       : op == NULL   ? "op"
                                      : "request_p");
  if (graph->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "%s: in a child of the process that called sf_init", name);
  if (!sfshm_op_applies(op->op, unit->unit.base))
    return sfshm_error(SF_ERR_ARG, "%s: op %s is not defined for %s", name, sfshm_op_name(op->op),
                       sfshm_base_name(unit->unit.base));
  return SF_OK;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static void set_free(sf_request_t *request)
{
  request->next = request->graph->free_requests;
  request->graph->free_requests = request;
}

static sf_status_t make_request(sf_graph_t *graph, sfshm_operation_t operation, const sf_type_t *unit,
                                const void *rootdata, void *leafdata, const sf_op_t *op, bool persistent,
                                sf_request_t **request_p)
{
  sf_status_t status = check_call(graph, operation, unit, op, request_p);
  if (status != SF_OK)
    return status;
  sf_request_t *request = graph->free_requests;
  if (request != NULL)
    graph->free_requests = request->next;
  else if ((request = malloc(sizeof *request)) == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%s: request", operation_name(operation));
  bool bcast = operation == SFSHM_BCAST;
  *request = (sf_request_t){
      .graph = graph,
      .persistent = persistent,
      .operation = operation,
      .ordered = !bcast && graph->roots_shared && !sfshm_op_order_free(op->op, unit->unit.base),
      .turns = op->op == SFSHM_OP_REPLACE ? graph->winner_turns : graph->turns,
      .nturns = op->op == SFSHM_OP_REPLACE ? graph->nwinner_turns : graph->nturns,
      .signature = sfshm_desc_signature(operation, unit->unit, op->op),
      .op = op->op,
      .combine = {unit->unit, sfshm_unit_size(unit->unit), sfshm_kernels_find(unit->unit, op->op)},
      .move = sfshm_kernels_find(unit->unit, SFSHM_OP_REPLACE),
      .root = rootdata,
      .leaf = leafdata,
      .source = bcast ? rootdata : leafdata,
      .target = bcast ? leafdata : (void *)(uintptr_t)rootdata,
  };
  status = prepare_buffers(request);
  if (status != SF_OK) {
    set_free(request);
    return status;
  }
  sfc_request_find_straight(request);
  if (persistent) {
    request->next = graph->persistent;
    graph->persistent = request;
  }
  *request_p = request;
  return SF_OK;
}

/* Keeps a request for the next operation: filled in, unless it is persistent. */
static void recycle(sf_request_t *request)
{
  sf_request_t **recent = &request->graph->recent[request->operation], *before = *recent;
  if (before == request)
    return;
  if (request->persistent || (before != NULL && before->in_flight)) {
    set_free(request);
    return;
  }
  *recent = request;
  if (before != NULL)
    set_free(before);
}

/* The recent request of the graph if this call has the same arguments. Everything has been checked then. */
static sf_request_t *take_recent(sf_graph_t *graph, sfshm_operation_t operation, const sf_type_t *unit,
                                 const void *rootdata, const void *leafdata, const sf_op_t *op)
{
  if (graph == NULL || unit == NULL || op == NULL || graph->generation != sfc_process_generation)
    return NULL;
  sf_request_t *request = graph->recent[operation];
  if (request == NULL || request->in_flight || request->root != rootdata || request->leaf != leafdata ||
      request->combine.unit.base != unit->unit.base || request->combine.unit.count != unit->unit.count ||
      request->op != op->op || request->memory_epoch != sfc_memory_epoch(&graph->context->memory))
    return NULL;
  return request;
}

void sfc_request_do_self(sf_request_t *request)
{
  const sfc_link_t *self = &request->graph->self;
  sfc_link_apply(self, request->operation, &request->combine, request->source, request->target);
  sfshm_count(&request->graph->counts->bytes_self, (uint64_t)self->nedges * request->combine.unit_bytes);
}

void sfc_request_advance(sf_request_t *request)
{
  while (request->turn < request->nturns && request->turns[request->turn].lane == SFC_SELF_TURN) {
    sfc_request_do_self(request);
    request->turn++;
  }
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

/* Makes the graph one of those on which the thread makes progress. */
static void attach_thread(sf_graph_t *graph, sfc_thread_t *thread)
{
  graph->thread = thread;
  graph->thread_previous = NULL;
  graph->thread_next = thread->graphs;
  if (thread->graphs != NULL)
    thread->graphs->thread_previous = graph;
  thread->graphs = graph;
}

static void detach_thread(sf_graph_t *graph)
{
  if (graph->thread_previous != NULL)
    graph->thread_previous->thread_next = graph->thread_next;
  else
    graph->thread->graphs = graph->thread_next;
  if (graph->thread_next != NULL)
    graph->thread_next->thread_previous = graph->thread_previous;
  graph->thread = NULL;
}

static bool has_room(const sf_graph_t *graph)
{
  return graph->last_sequence - graph->first_sequence + 1 <= graph->table_mask;
}

/* Room for more operations in flight. */
static sf_status_t grow_table(sf_graph_t *graph)
{
  uint64_t size = graph->table_mask + 1;
  sf_request_t **table = calloc(2 * size, sizeof *table);
  if (table == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%llu operations in flight", (unsigned long long)size);
  for (uint64_t sequence = graph->first_sequence; sequence <= graph->last_sequence; sequence++)
    table[sequence & (2 * size - 1)] = graph->table[sequence & graph->table_mask];
  free(graph->table);
  graph->table = table;
  graph->table_mask = 2 * size - 1;
  return SF_OK;
}

static void begin_sends(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  int32_t n = graph->nsenders[request->operation];
  request->sends_left = n;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->senders[request->operation][i];
    if (lane->tx_stalled)
      continue; /* its turn comes behind those that wait already */
    if (!sfc_lane_send(lane, request)) {
      lane->tx_stalled = true;
      lane->tx_sequence = request->sequence;
      graph->nstalled++;
    } else {
      lane->tx_cursor = (sfc_cursor_t){0};
    }
  }
}

static void begin_receives(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  int32_t n = graph->nreceivers[request->operation];
  request->receives_left = n;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->receivers[request->operation][i];
    if (lane->rx_request != NULL)
      continue;
    lane->rx_request = request;
    graph->expecting[graph->nexpecting++] = lane;
  }
}

/* What is to be checked and made ready before a graph takes another operation. */
static __attribute__((noinline)) sf_status_t prepare_graph(sf_graph_t *graph, const sfc_thread_t *thread)
{
  sf_status_t status = sfc_graph_failure(graph);
  if (status == SF_OK && graph->thread != NULL && graph->thread != thread)
    status = sfshm_error(SF_ERR_STATE, "graph %llu has operations in flight that another thread began",
                         (unsigned long long)graph->number);
  return status == SF_OK && !has_room(graph) ? grow_table(graph) : status;
}

/* Begins an operation; wakes of other ranks are left to the caller. Sends as early as possible: somebody waits. */
static sf_status_t begin(sf_request_t *request, sfc_thread_t *thread)
{
  sf_graph_t *graph = request->graph;
  if (sfc_graph_is_failed(graph) || (graph->thread != NULL && graph->thread != thread) || !has_room(graph)) {
    sf_status_t status = prepare_graph(graph, thread);
    if (status != SF_OK)
      return status;
  }
  request->sequence = ++graph->last_sequence;
  request->match = request->signature | (request->sequence & SFSHM_DESC_SEQUENCE_MASK);
  if (graph->trunks != NULL)
    sfc_trunks_check_begun(graph, request);
  bool sent = request->send.lane != NULL && sfc_request_send_straight(request, thread);
  if (graph->thread == NULL)
    attach_thread(graph, thread);
  if (!sent)
    begin_sends(request);
  begin_receives(request);
  request->turn = 0;
  request->in_flight = true;
  graph->in_flight++;
  thread->in_flight++;
  graph->table[request->sequence & graph->table_mask] = request;
  graph->history[request->sequence % SFC_HISTORY] = request->match;
  sfshm_count(&graph->counts->begun[request->operation], 1);
  sfc_graph_check_unexpected(graph, request->operation);
  if (request->ordered)
    sfc_request_advance(request);
  else if (graph->self.nedges > 0)
    sfc_request_do_self(request);
  return SF_OK;
}

/* A request for a call that is not like the last one. Its arguments are checked before the graph. */
static __attribute__((noinline)) sf_status_t make_fresh(sf_graph_t *graph, sfshm_operation_t operation,
                                                        const sf_type_t *unit, const void *rootdata, void *leafdata,
                                                        const sf_op_t *op, sf_request_t *const *asked_p,
                                                        sf_request_t **request_p)
{
  sf_status_t status = check_call(graph, operation, unit, op, asked_p);
  if (status == SF_OK)
    status = sfc_graph_failure(graph);
  if (status == SF_OK)
    status = make_request(graph, operation, unit, rootdata, leafdata, op, false, request_p);
  return status;
}

static inline sf_status_t make_and_begin(sf_graph_t *graph, sfshm_operation_t operation, const sf_type_t *unit,
                                         const void *rootdata, void *leafdata, const sf_op_t *op,
                                         sf_request_t **request_p)
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_status_t status;
  sf_request_t *request = request_p == NULL ? NULL : take_recent(graph, operation, unit, rootdata, leafdata, op);
  if (request == NULL) {
    status = make_fresh(graph, operation, unit, rootdata, leafdata, op, request_p, &request);
    if (status != SF_OK)
      return status;
  }
  status = begin(request, thread);
  sfc_thread_flush(thread);
  if (status != SF_OK) {
    recycle(request);
    return status;
  }
  *request_p = request;
  return SF_OK;
}

sf_status_t sf_bcast_begin(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                           const sf_op_t *op, sf_request_t **request_p)
{
  return make_and_begin(graph, SFSHM_BCAST, unit, rootdata, leafdata, op, request_p);
}

sf_status_t sf_reduce_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                            const sf_op_t *op, sf_request_t **request_p)
{
  return make_and_begin(graph, SFSHM_REDUCE, unit, rootdata, (void *)(uintptr_t)leafdata, op, request_p);
}

sf_status_t sf_bcast_init(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                          const sf_op_t *op, sf_request_t **request_p)
{
  return make_request(graph, SFSHM_BCAST, unit, rootdata, leafdata, op, true, request_p);
}

sf_status_t sf_reduce_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                           const sf_op_t *op, sf_request_t **request_p)
{
  return make_request(graph, SFSHM_REDUCE, unit, rootdata, (void *)(uintptr_t)leafdata, op, true, request_p);
}

sf_status_t sf_start_all(int32_t count, sf_request_t *const requests[])
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_status_t status = SF_OK;
  if (count < 0 || (count > 0 && requests == NULL))
    return sfshm_error(SF_ERR_ARG, "sf_start_all: count %d, requests %p", count, (const void *)requests);
  for (int32_t i = 0; i < count && status == SF_OK; i++) {
    sf_request_t *request = requests[i];
    if (request == NULL || !request->persistent)
      status = sfshm_error(SF_ERR_ARG, "sf_start: request %d is %s", i, request == NULL ? "NULL" : "not persistent");
    else if (request->graph->generation != sfc_process_generation)
      status = sfshm_error(SF_ERR_STATE, "sf_start: in a child of the process that called sf_init");
    else if (request->in_flight)
      status = sfshm_error(SF_ERR_STATE, "sf_start: request %d is in flight", i);
    else if ((status = prepare_buffers(request)) == SF_OK)
      status = begin(request, thread);
  }
  sfc_thread_flush(thread);
  return status;
}

sf_status_t sf_start(sf_request_t *request)
{
  return sf_start_all(1, &request);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

/* Takes the operation out of flight. */
static void end(sf_request_t **request_p)
{
  sf_request_t *request = *request_p;
  sf_graph_t *graph = request->graph;
  graph->table[request->sequence & graph->table_mask] = NULL;
  request->in_flight = false;
  graph->thread->in_flight--;
  if (--graph->in_flight == 0) {
    graph->first_sequence = graph->last_sequence + 1;
    detach_thread(graph);
  } else {
    while (graph->table[graph->first_sequence & graph->table_mask] == NULL)
      graph->first_sequence++;
  }
  sfshm_count(&graph->counts->completed, 1);
  if (!request->persistent) {
    if (graph->recent[request->operation] != request)
      recycle(request);
    *request_p = NULL;
  }
}

/* Waits for a request that this thread has begun, and ends it. */
static inline sf_status_t complete(sf_request_t **request, sfc_thread_t *thread)
{
  sf_status_t status = sfc_thread_wait(thread, *request, -1);
  end(request);
  return status;
}

static sf_status_t check_end(sf_request_t **request, const sfc_thread_t *thread, const char *function)
{
  const sf_graph_t *graph = (*request)->graph;
  if (graph->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "%s: in a child of the process that called sf_init", function);
  if (graph->thread != thread)
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
    status = sfc_thread_wait(thread, *request, timeout_ns);
    done = status != SF_OK || sfc_request_is_complete(*request);
    if (done) {
      thread->idle_ns = 0;
      end(request);
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
  if (count < 0 || (count > 0 && requests == NULL))
    return sfshm_error(SF_ERR_ARG, "sf_wait_all: count %d, requests %p", count, (void *)requests);
  for (int32_t i = 0; i < count; i++) {
    sf_status_t status = sf_wait(&requests[i]);
    if (first == SF_OK)
      first = status;
  }
  return first;
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
  bool done = status != SF_OK || sfc_request_is_complete(*request);
  if (done)
    end(request);
  if (status == SF_OK)
    *done_p = done;
  return status;
}

/* Flattened: on small data a blocking operation takes little more than a line between two cores, and calls show. */
__attribute__((flatten)) sf_status_t sf_bcast(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                              void *leafdata, const sf_op_t *op)
{
  sf_request_t *request;
  sf_status_t status = make_and_begin(graph, SFSHM_BCAST, unit, rootdata, leafdata, op, &request);
  return status == SF_OK ? complete(&request, sfc_thread_self()) : status;
}

__attribute__((flatten)) sf_status_t sf_reduce(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                               void *rootdata, const sf_op_t *op)
{
  sf_request_t *request;
  sf_status_t status = make_and_begin(graph, SFSHM_REDUCE, unit, rootdata, (void *)(uintptr_t)leafdata, op, &request);
  return status == SF_OK ? complete(&request, sfc_thread_self()) : status;
}

sf_status_t sf_request_free(sf_request_t **request)
{
  if (request == NULL || *request == NULL)
    return SF_OK;
  sf_graph_t *graph = (*request)->graph;
  if (!(*request)->persistent || (*request)->in_flight)
    return sfshm_error(SF_ERR_STATE, "sf_request_free: the request is %s",
                       (*request)->persistent ? "in flight" : "not persistent: sf_wait frees it");
  sf_request_t **link = &graph->persistent;
  while (*link != *request)
    link = &(*link)->next;
  *link = (*request)->next;
  recycle(*request);
  *request = NULL;
  return SF_OK;
}
