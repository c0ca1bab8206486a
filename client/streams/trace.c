/* What traces tell of operations on streams: see operation.h. The thread that uses the graph; devices tell the plugin
 * when they have done what. */
#include "client/core.h"
#include "client/graph.h"
#include "client/streams/operation.h"

static sfshm_trace_record_t record_of(const sf_streamed_t *streamed, sfshm_trace_kind_t kind)
{
  return (sfshm_trace_record_t){.sequence = streamed->number,
                                .peer = -1,
                                .kind = (uint8_t)kind,
                                .flags = SFSHM_TRACE_ON_STREAM |
                                         (streamed->operation == SFSHM_BCAST ? 0 : SFSHM_TRACE_REDUCE)};
}

void sfc_streams_watch_begin(const sfc_streams_t *streams, sf_streamed_t *streamed, uint64_t signature)
{
  streamed->is_traced = sfc_trace_is_on(streams->graph->context);
  if (!streamed->is_traced)
    return;
  streamed->number = streams->ncalls;
  streamed->signature = signature;
  streamed->began_ns = sfshm_trace_now_ns();
}

void sfc_streams_watch_begun(const sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  if (!streamed->is_traced)
    return;
  sfshm_trace_record_t record = record_of(streamed, SFSHM_TRACE_BEGIN);
  record.message = streamed->signature;
  record.begin_ns = streamed->began_ns;
  record.end_ns = sfshm_trace_now_ns();
  sfc_trace_write(streams->graph, &record);
  sfc_trace_device(streams->graph, streams->plugin, NULL);
}

void sfc_streams_watch_work(const sfc_streams_t *streams, const sf_streamed_t *streamed, const sfc_lane_t *lane,
                            sfshm_trace_work_t work)
{
  if (!streamed->is_traced)
    return;
  sfshm_trace_record_t record = record_of(streamed, SFSHM_TRACE_DEVICE);
  record.message = work;
  if (lane != NULL)
    record.peer = lane->trunk != NULL ? lane->rank : lane->peer->rank;
  if (lane != NULL && lane->trunk != NULL)
    record.flags |= SFSHM_TRACE_TO_NODE;
  sfc_trace_device(streams->graph, streams->plugin, &record);
}

/* The device tells the end, when it comes to it. */
void sfc_streams_watch_end(const sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  if (!streamed->is_traced)
    return;
  sfshm_trace_record_t record = record_of(streamed, SFSHM_TRACE_END);
  record.message = streamed->signature;
  record.begin_ns = streamed->began_ns;
  sfc_trace_device(streams->graph, streams->plugin, &record);
  streams->ops->note(streams->device);
  sfc_trace_device(streams->graph, streams->plugin, NULL);
}
