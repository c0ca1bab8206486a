/* Operations that are watched more closely: of about one in SFSHM_SAMPLED_EVERY the time is taken, and while the daemon
 * traces all leave events. The thread that uses the graph. */
#ifndef SFC_WATCH_H
#define SFC_WATCH_H

#include "client/core/context.h"
#include "client/engine/operation.h"
#include "shm/observe/trace.h"

#define SFC_SAMPLED 1u
#define SFC_TRACED 2u

/* Whether the daemon wants events. */
static inline bool sfc_watch_traces(const sf_context_t *context)
{
  return atomic_load_explicit(&context->board->tracing, memory_order_relaxed) != 0;
}

/* The operation of a graph whose time is taken after that one. Distances are odd and change, so that in a loop of any
 * length each operation gets its turn; they are the same on all ranks. */
static inline uint64_t sfc_watch_sample_after(uint64_t sequence)
{
  uint64_t odd = sequence * UINT64_C(0x9e3779b97f4a7c15) >> 59 << 1 | 1; /* 1 to 63 */
  return sequence + SFSHM_SAMPLED_EVERY / 2 + odd;
}

/* The request begins: whether it is to be watched. */
static inline bool sfc_watch_wanted(const sf_request_t *request)
{
  bool sampled = SFSHM_IS_COUNTED && request->sequence == request->graph->next_sample;
  return sampled || sfc_watch_traces(request->graph->context);
}

/* All of these only for requests with watch != 0. */

/* It begins. */
void sfc_watch_begin(sf_request_t *request);

/* Its call has done what it could. sent: the straight way. */
void sfc_watch_begun(sf_request_t *request, bool sent);

/* Something of it goes on: what follows begins now. */
void sfc_watch_mark(sf_request_t *request);

/* A message, or the rank's part of one to a node, has been packed and sent. */
void sfc_watch_sent(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes);

/* One that came when it was marked has been unpacked. */
void sfc_watch_unpacked(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes);

/* Its parts that were held back go now. */
void sfc_watch_lift(const sf_request_t *request);

/* It ends: for the trace when the last thing happened to it, without another look at the clock. */
void sfc_watch_end(sf_request_t *request);

/* A wait on the graph, if there is tracing. lane: that ended it; NULL: none did. */
void sfc_watch_waited(const sf_graph_t *graph, const sfc_lane_t *lane, uint64_t since_ns, uint64_t now_ns);

/* What the calling thread gives to devices from now on is traced as work of the graph; NULL: not any more. Of the
 * record graph and thread are filled in. */
void sfc_watch_device(const sf_graph_t *graph, const sfshm_device_ops_t *devices, sfshm_trace_record_t *record);

/* An event of the graph. */
void sfc_watch_write(const sf_graph_t *graph, sfshm_trace_record_t *record);

/* Ends of the phases of a graph's set-up, and its beginning: written when the graph has its number. */
typedef struct sfc_watch_phases {
  uint64_t ns[SFSHM_TRACE_PHASE_CONNECT + 1]; /* 0 is the beginning; all 0: nothing is traced */
} sfc_watch_phases_t;

/* That phase is over. */
static inline void sfc_watch_phase(sfc_watch_phases_t *phases, const sf_context_t *context, int phase)
{
  if (phase == 0 ? sfc_watch_traces(context) : phases->ns[0] != 0)
    phases->ns[phase] = sfshm_trace_now_ns();
}

/* Writes those that have been gone through. */
void sfc_watch_write_phases(const sf_graph_t *graph, const sfc_watch_phases_t *phases);

#endif
