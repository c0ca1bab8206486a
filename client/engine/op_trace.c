/* Operation trace: see op_trace.h. */
#include "client/engine/op_trace.h"

#include "client/graph.h"

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static sfshm_trace_record_t event_of(const sf_request_t *request, sfshm_trace_kind_t kind, uint64_t begin_ns,
                                     uint64_t end_ns)
{
  return (sfshm_trace_record_t){.begin_ns = begin_ns,
                                .end_ns = end_ns,
                                .sequence = request->sequence,
                                .message = request->match,
                                .peer = -1,
                                .kind = (uint8_t)kind,
                                .flags = request->operation == SFSHM_BCAST ? 0 : SFSHM_TRACE_REDUCE};
}

static void name_peer(sfshm_trace_record_t *record, const sfc_lane_t *lane)
{
  record->peer = lane->trunk != NULL ? lane->trunk->node : lane->peer->rank;
  record->flags |= lane->trunk != NULL ? SFSHM_TRACE_TO_NODE : 0;
}

static void write_message(const sf_request_t *request, sfshm_trace_kind_t kind, const sfc_lane_t *lane,
                          uint64_t message, size_t bytes, uint64_t since_ns)
{
  sfshm_trace_record_t record = event_of(request, kind, since_ns, request->traced_ns);
  record.message = message;
  record.bytes = bytes;
  name_peer(&record, lane);
  sfc_trace_write(request->graph, &record);
}

void sfc_op_trace_devices(const sf_request_t *request)
{
  if (request->devices == NULL || (request->trace & SFC_TRACED) == 0)
    return;
  sfshm_trace_record_t record = event_of(request, SFSHM_TRACE_DEVICE, 0, 0);
  record.message = 0;
  sfc_trace_device(request->graph, request->devices, &record);
}

static void end_devices(const sf_request_t *request)
{
  if (request->devices != NULL && (request->trace & SFC_TRACED) != 0)
    sfc_trace_device(request->graph, request->devices, NULL);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

void sfc_op_trace_begin(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  bool sampled = request->sequence == graph->flight.next_sample;
  if (sampled)
    graph->flight.next_sample = sfc_trace_sample_after(request->sequence);
  request->trace = (sampled ? SFC_SAMPLED : 0) | (sfc_trace_is_on(graph->context) ? SFC_TRACED : 0);
  request->began_ns = request->traced_ns = sfshm_trace_now_ns();
  sfc_op_trace_devices(request);
}

void sfc_op_trace_begun(sf_request_t *request, bool sent)
{
  if (sent)
    sfc_op_trace_sent(request, request->send.lane, request->send.lane->tx.posted, request->send.bytes);
  if ((request->trace & SFC_TRACED) == 0)
    return;
  end_devices(request);
  if (request->traced_ns == request->began_ns) /* nothing was sent */
    request->traced_ns = sfshm_trace_now_ns();
  sfshm_trace_record_t record = event_of(request, SFSHM_TRACE_BEGIN, request->began_ns, request->traced_ns);
  sfc_trace_write(request->graph, &record);
}

void sfc_op_trace_mark(sf_request_t *request)
{
  request->traced_ns = sfshm_trace_now_ns();
  sfc_op_trace_devices(request);
}

void sfc_op_trace_sent(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes)
{
  uint64_t since_ns = request->traced_ns;
  request->traced_ns = sfshm_trace_now_ns();
  if ((request->trace & SFC_SAMPLED) != 0)
    sfshm_count(&request->graph->counts->pack_ns, request->traced_ns - since_ns);
  if ((request->trace & SFC_TRACED) != 0)
    write_message(request, SFSHM_TRACE_SEND, lane, message, bytes, since_ns);
}

void sfc_op_trace_unpacked(sf_request_t *request, const sfc_lane_t *lane, uint64_t message, size_t bytes)
{
  uint64_t since_ns = request->traced_ns;
  request->traced_ns = sfshm_trace_now_ns();
  if ((request->trace & SFC_SAMPLED) != 0)
    sfshm_count(&request->graph->counts->unpack_ns, request->traced_ns - since_ns);
  if ((request->trace & SFC_TRACED) != 0)
    write_message(request, SFSHM_TRACE_UNPACK, lane, message, bytes, since_ns);
}

static unsigned bucket_of(uint64_t ns)
{
  unsigned bucket = ns == 0 ? 0 : 63 - (unsigned)__builtin_clzll(ns);
  return bucket < SFSHM_LATENCY_BUCKETS ? bucket : SFSHM_LATENCY_BUCKETS - 1;
}

void sfc_op_trace_end(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  if ((request->trace & SFC_SAMPLED) != 0) {
    sfshm_graph_counters_t *counts = graph->counts;
    request->traced_ns = sfshm_trace_now_ns();
    uint64_t took_ns = request->traced_ns - request->began_ns;
    sfshm_count(&counts->samples, 1);
    sfshm_count(&counts->latency_ns[request->kind], took_ns);
    sfshm_count_one32(&counts->latency[request->kind][bucket_of(took_ns)]);
  }
  if ((request->trace & SFC_TRACED) != 0) {
    if (request->devices != NULL) /* devices have been awaited */
      request->traced_ns = sfshm_trace_now_ns();
    sfshm_trace_record_t record = event_of(request, SFSHM_TRACE_END, request->began_ns, request->traced_ns);
    sfc_trace_write(graph, &record);
  }
  end_devices(request);
  request->trace = 0;
}

/* ---- The rest ---------------------------------------------------------------------------------------------------- */

void sfc_op_trace_waited(const sf_graph_t *graph, const sfc_lane_t *lane, uint64_t since_ns, uint64_t now_ns)
{
  sfshm_trace_record_t record = {.begin_ns = since_ns,
                                 .end_ns = now_ns,
                                 .peer = -1,
                                 .kind = SFSHM_TRACE_WAIT,
                                 .sequence = graph->flight.last_sequence};
  if (!sfc_trace_is_on(graph->context))
    return;
  if (lane != NULL)
    name_peer(&record, lane);
  sfc_trace_write(graph, &record);
}
