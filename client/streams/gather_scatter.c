/* Gather and scatter on streams: operations on the multi-graph, see sf/sf_streams.h. */
#include "client/compound.h"
#include "client/engine.h"
#include "client/streams/call.h"
#include "shm/base/error.h"

sf_status_t sfc_streams_multi(sf_status_t before, sf_graph_t *graph, sf_graph_t **multi_p)
{
  sf_graph_t *multi = graph->multi;
  if (multi == NULL)
    return sfc_multigraph_get(before, graph, multi_p);
  if (before != SF_OK)
    return sfc_streams_refuse(before, multi);
  *multi_p = multi;
  return SF_OK;
}

static sf_status_t find_multi(sf_graph_t *graph, const char *caller, sf_graph_t **multi_p)
{
  sf_status_t status = sfc_call_check_graph(caller, graph);
  return status == SF_OK ? sfc_streams_multi(SF_OK, graph, multi_p) : status;
}

sf_status_t sf_gather_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                                      void *stream, sf_streamed_t **streamed_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, __func__, &multi);
  return status == SF_OK ? sf_reduce_begin_on_stream(multi, unit, leafdata, slotdata, SF_REPLACE, stream, streamed_p)
                         : status;
}

sf_status_t sf_scatter_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                                       void *stream, sf_streamed_t **streamed_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, __func__, &multi);
  return status == SF_OK ? sf_bcast_begin_on_stream(multi, unit, slotdata, leafdata, SF_REPLACE, stream, streamed_p)
                         : status;
}

sf_status_t sf_gather_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                                void *stream)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, __func__, &multi);
  return status == SF_OK ? sf_reduce_on_stream(multi, unit, leafdata, slotdata, SF_REPLACE, stream) : status;
}

sf_status_t sf_scatter_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                                 void *stream)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, __func__, &multi);
  return status == SF_OK ? sf_bcast_on_stream(multi, unit, slotdata, leafdata, SF_REPLACE, stream) : status;
}
