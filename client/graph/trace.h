/* Events of graphs in the rank's trace, which is in its counters region: when they are written, and which operations
 * the rank takes the time of. The thread that uses the graph. */
#ifndef SFC_GRAPH_TRACE_H
#define SFC_GRAPH_TRACE_H

#include "client/core.h"
#include "client/graph/graph.h"
#include "shm/device/device.h"
#include "shm/observe/trace.h"

/* Whether the daemon wants events. */
static inline bool sfc_trace_is_on(const sf_context_t *context)
{
  return atomic_load_explicit(&context->board->tracing, memory_order_relaxed) != 0;
}

/* The operation of a graph whose time is taken after that one. Distances are odd and change, so that in a loop of any
 * length each operation gets its turn; they are the same on all ranks. */
static inline uint64_t sfc_trace_sample_after(uint64_t sequence)
{
  uint64_t odd = sequence * UINT64_C(0x9e3779b97f4a7c15) >> 59 << 1 | 1; /* 1 to 63 */
  return sequence + SFSHM_SAMPLED_EVERY / 2 + odd;
}

/* What the calling thread gives to devices from now on is traced as work of the graph; NULL: not any more. Of the
 * record graph and thread are filled in. */
void sfc_trace_device(const sf_graph_t *graph, const sfshm_device_ops_t *devices, sfshm_trace_record_t *record);

/* An event of the graph. */
void sfc_trace_write(const sf_graph_t *graph, sfshm_trace_record_t *record);

/* Ends of the phases of a graph's set-up, and its beginning: written when the graph has its number. */
typedef struct sfc_trace_phases {
  uint64_t ns[SFSHM_TRACE_PHASE_CONNECT + 1]; /* 0 is the beginning; all 0: nothing is traced */
} sfc_trace_phases_t;

/* That phase is over. */
static inline void sfc_trace_phase(sfc_trace_phases_t *phases, const sf_context_t *context, int phase)
{
  if (phase == 0 ? sfc_trace_is_on(context) : phases->ns[0] != 0)
    phases->ns[phase] = sfshm_trace_now_ns();
}

/* Writes those that have been gone through. */
void sfc_trace_write_phases(const sf_graph_t *graph, const sfc_trace_phases_t *phases);

#endif
