/* Operations that are watched more closely: of about one in SFSHM_SAMPLED_EVERY the time is taken, and while the daemon
 * traces all leave events. The thread that uses the graph. */
#ifndef SFC_ENGINE_OP_TRACE_H
#define SFC_ENGINE_OP_TRACE_H

#include "client/engine/operation.h"
#include "client/graph.h"

#define SFC_SAMPLED 1u
#define SFC_TRACED 2u

/* The request begins: whether it is to be watched. */
static inline bool sfc_op_trace_is_due(const sf_request_t *request)
{
  bool sampled = SFSHM_IS_COUNTED && request->sequence == request->graph->flight.next_sample;
  return sampled || sfc_trace_is_on(request->graph->context);
}

/* All of these only for requests with watch != 0. */

/* It begins. */
void sfc_op_trace_begin(sf_request_t *request);

/* Its call has done what it could. sent: the straight way. */
void sfc_op_trace_begun(sf_request_t *request, bool sent);

/* Something of it goes on: what follows begins now. */
void sfc_op_trace_mark(sf_request_t *request);

/* A message, or the rank's part of one to a node, has been packed and sent. */
void sfc_op_trace_sent(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes);

/* One that came when it was marked has been unpacked. */
void sfc_op_trace_unpacked(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes);

/* Its parts that were held back go now. */
void sfc_op_trace_lift(const sf_request_t *request);

/* It ends: for the trace when the last thing happened to it, without another look at the clock. */
void sfc_op_trace_end(sf_request_t *request);

/* A wait on the graph, if there is tracing. lane: that ended it; NULL: none did. */
void sfc_op_trace_waited(const sf_graph_t *graph, const sfc_lane_t *lane, uint64_t since_ns, uint64_t now_ns);

#endif
