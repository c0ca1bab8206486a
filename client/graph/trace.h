/* Trace of graphs: events in the rank's trace, and which operations are timed. The thread that uses the graph. */
#ifndef SFC_GRAPH_TRACE_H
#define SFC_GRAPH_TRACE_H

#include "client/core.h"
#include "client/graph/graph.h"
#include "shm/device/device.h"
#include "shm/observe/trace.h"

/* Whether the daemon collects events. */
static inline bool sfc_trace_is_on(const sf_context_t *context)
{
  return atomic_load_explicit(&context->board->tracing, memory_order_relaxed) != 0;
}

/* Next operation to be timed. Distances are odd and vary, so that each operation of a loop gets its turn; they are
 * equal on all ranks. */
static inline uint64_t sfc_trace_sample_after(uint64_t sequence)
{
  uint64_t odd = sequence * UINT64_C(0x9e3779b97f4a7c15) >> 59 << 1 | 1; /* 1 to 63 */
  return sequence + SFSHM_SAMPLED_EVERY / 2 + odd;
}

/* Traces device work that the calling thread starts from now on as work of the graph; record NULL: ends that. Fills in
 * graph and thread of the record. */
void sfc_trace_device(const sf_graph_t *graph, const sfshm_device_ops_t *devices, sfshm_trace_record_t *record);

/* Writes an event of the graph. */
void sfc_trace_write(const sf_graph_t *graph, sfshm_trace_record_t *record);

/* Begin of a graph's set-up and ends of its phases; written when the graph has its number. */
typedef struct sfc_trace_phases {
  uint64_t ns[SFSHM_TRACE_PHASE_CONNECT + 1]; /* [0]: begin; all 0: not traced */
} sfc_trace_phases_t;

/* Ends a phase. */
static inline void sfc_trace_phase(sfc_trace_phases_t *phases, const sf_context_t *context, int phase)
{
  if (phase == 0 ? sfc_trace_is_on(context) : phases->ns[0] != 0)
    phases->ns[phase] = sfshm_trace_now_ns();
}

/* Writes the phases that have ended. */
void sfc_trace_write_phases(const sf_graph_t *graph, const sfc_trace_phases_t *phases);

#endif
