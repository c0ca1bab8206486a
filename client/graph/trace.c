/* Trace of graphs: see trace.h. */
#include "client/graph/trace.h"

/* Threads are numbered as they write their first event. */
static uint16_t thread_number(void)
{
  static _Atomic uint32_t last;
  static _Thread_local uint16_t own;
  if (own == 0)
    own = (uint16_t)(atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1);
  return own;
}

void sfc_trace_write(const sf_graph_t *graph, sfshm_trace_record_t *record)
{
  sfshm_trace_t *trace = sfc_counters_trace(&graph->context->counters);
  if (trace == NULL)
    return;
  record->graph = graph->number;
  record->thread = thread_number();
  sfshm_trace_write(trace, record);
}

void sfc_trace_device(const sf_graph_t *graph, const sfshm_device_ops_t *devices, sfshm_trace_record_t *record)
{
  sfshm_trace_t *trace = record != NULL ? sfc_counters_trace(&graph->context->counters) : NULL;
  if (trace != NULL) {
    record->graph = graph->number;
    record->thread = thread_number();
  }
  devices->watch(trace, record);
}

void sfc_trace_write_phases(const sf_graph_t *graph, const sfc_trace_phases_t *phases)
{
  for (uint64_t phase = 1; phase <= SFSHM_TRACE_PHASE_CONNECT && phases->ns[phase] != 0; phase++) {
    sfshm_trace_record_t record = {.begin_ns = phases->ns[phase - 1],
                                   .end_ns = phases->ns[phase],
                                   .message = phase,
                                   .peer = -1,
                                   .kind = SFSHM_TRACE_SETUP};
    sfc_trace_write(graph, &record);
  }
}
