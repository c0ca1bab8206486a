/* Operation trace: samples the time of about one operation in SFSHM_SAMPLED_EVERY, and writes events of all while the
 * daemon traces. The thread that uses the graph. */
#ifndef SFC_ENGINE_OP_TRACE_H
#define SFC_ENGINE_OP_TRACE_H

#include "client/engine/operation.h"
#include "client/graph.h"

#define SFC_SAMPLED 1u
#define SFC_TRACED 2u

/* Whether the request, which begins, is to be traced. */
static inline bool sfc_op_trace_is_due(const sf_request_t *request)
{
  bool sampled = SFSHM_IS_COUNTED && request->sequence == request->graph->flight.next_sample;
  return sampled || sfc_trace_is_on(request->graph->context);
}

/* The functions below: only if request->trace != 0. */

/* The request begins. */
void sfc_op_trace_begin(sf_request_t *request);

/* The call that begins it is done. sent: on the fast path. */
void sfc_op_trace_begun(sf_request_t *request, bool sent);

/* A step of the request begins now. */
void sfc_op_trace_mark(sf_request_t *request);

/* A message, or this rank's part of a message to a node, has been packed and sent. */
void sfc_op_trace_sent(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes);

/* A message has been unpacked since the mark. */
void sfc_op_trace_unpacked(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes);

/* Device work that follows belongs to the request. */
void sfc_op_trace_devices(const sf_request_t *request);

/* The request ends; for the trace at its last event, without another look at the clock. */
void sfc_op_trace_end(sf_request_t *request);

/* A wait on the graph has ended. lane: that ended it; NULL: none. */
void sfc_op_trace_waited(const sf_graph_t *graph, const sfc_lane_t *lane, uint64_t since_ns, uint64_t now_ns);

#endif
