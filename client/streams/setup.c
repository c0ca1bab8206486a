/* Making streams of a graph ready: the index arrays of its links on the device, and with the other ranks of the node
 * room for messages. See operation.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/algebra.h"
#include "client/core.h"
#include "client/graph.h"
#include "client/streams/areas.h"
#include "client/streams/fetch_op.h"
#include "client/streams/move.h"
#include "client/streams/trunk.h"
#include "shm/base/error.h"

#define PLACE_INTS ((int64_t)(sizeof(sfc_stream_place_t) / sizeof(int64_t)))

/* ---- End --------------------------------------------------------------------------------------------------------- */

sf_status_t sfc_streams_drain(const sfc_streams_t *streams)
{
  bool is_idle = false;
  sfc_idle_t idle = {0};
  for (;;) {
    sf_status_t status = streams->ops->is_idle(streams->device, &is_idle);
    if (status != SF_OK || is_idle)
      return sfc_streams_status(streams, status);
    sfc_idle_pause(&idle);
  }
}

bool sfc_streams_are_busy(const sfc_streams_t *streams)
{
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    if (streams->requests[i].in_flight)
      return true;
  return false;
}

/* Of a graph that has failed nothing has to be ended. */
static bool is_busy(const sfc_attachment_t *attachment)
{
  return !sfc_graph_is_failed(attachment->graph) && sfc_streams_are_busy((const sfc_streams_t *)attachment);
}

/* Others may write to the pages still, until they have destroyed the graph. */
static void tear_down(sfc_attachment_t *attachment)
{
  sfc_streams_t *streams = (sfc_streams_t *)attachment;
  sfc_graph_detach(attachment);
  if (streams->is_guarded) {
    (void)sfc_streams_drain(streams); /* of a device that has failed nothing more will come */
    sfc_streams_unguard(streams);
  }
  if (streams->device != NULL) {
    sfc_streams_nodes_unpin(streams->nodes);
    sfc_streams_fetch_free(streams);
    sfc_streams_room_drop(streams, &streams->room);
    streams->ops->close(streams->device);
  }
  sfc_streams_nodes_close(streams->nodes);
  free(streams->room.ways);
  free(streams->lanes);
  free(streams->messages);
  free(streams->slots);
  free(streams->sent);
  free(streams->words);
  free(streams->moves);
  free(streams);
}

static const sfc_attachment_ops_t streams_ops = {.is_busy = is_busy, .tear_down = tear_down};

sfc_streams_t *sfc_streams_of(const sf_graph_t *graph)
{
  return sfc_graph_attachment(graph, &streams_ops);
}

/* ---- The device -------------------------------------------------------------------------------------------------- */

static sf_status_t open_device(sfc_streams_t *streams, void *stream)
{
  const char *wanted = getenv("SF_STREAM_MEMOPS");
  bool use_memops = wanted == NULL || strcmp(wanted, "off") != 0;
  sf_status_t status = sfshm_device_load(&streams->plugin);
  if (status != SF_OK)
    return status;
  streams->ops = streams->plugin->streams;
  return sfc_streams_status(streams, streams->ops->open(stream, use_memops, &streams->device));
}

/* Those of trunks are behind the others. */
static int32_t count_lanes(const sf_graph_t *graph)
{
  int32_t n = 0;
  while (n < graph->nlanes && graph->lanes[n].trunk == NULL)
    n++;
  return n;
}

/* ---- The other ranks --------------------------------------------------------------------------------------------- */

/* What each rank tells the others: a root for each rank of the group, of which those count that it shares edges with.
 */
static void tell(const sfc_streams_t *streams, uint64_t called, sfc_stream_place_t *places)
{
  for (int32_t i = 0; i < streams->nlanes; i++)
    places[streams->graph->lanes[i].rank] = sfc_streams_room_place(streams, &streams->room, i, called);
}

/* Ranks that have found an error take part, too; they may have no streams. */
static void exchange(sfc_derive_t *derive, const sf_graph_t *graph, uint64_t called)
{
  int32_t n = count_lanes(graph);
  sfc_stream_place_t *mine = sfc_derive_array(derive, graph->size, sizeof *mine);
  sfc_stream_place_t *theirs = sfc_derive_array(derive, n, sizeof *theirs);
  sfc_derive_edges_t edges = {n, NULL, sfc_derive_array(derive, n, sizeof *edges.root_rank),
                              sfc_derive_array(derive, n, sizeof *edges.root)};
  if (derive->starved)
    edges.n = 0;
  for (int32_t i = 0; i < edges.n; i++) {
    edges.root_rank[i] = graph->lanes[i].rank;
    edges.root[i] = graph->rank;
  }
  if (!derive->starved && derive->status == SF_OK)
    tell(sfc_streams_of(graph), called, mine);
  sf_graph_t *helper = sfc_derive_helper(derive, graph->size, &edges);
  if (helper == NULL)
    return;
  sfc_derive_bcast(derive, helper, SF_INT64, PLACE_INTS, mine, theirs);
  (void)sf_graph_destroy(helper);
  for (int32_t i = 0; i < n && derive->status == SF_OK; i++)
    sfc_derive_note(
        derive, sfc_streams_room_reach(sfc_streams_of(graph), &sfc_streams_of(graph)->room, i, &theirs[i], called), -1);
}

/* ---- Together ---------------------------------------------------------------------------------------------------- */

/* Two for each lane and for the rank itself, or for each turn. */
static size_t most_moves(const sf_graph_t *graph)
{
  int32_t n = graph->nlanes + 1;
  if (n < graph->plan.nturns)
    n = graph->plan.nturns;
  return 2 * (size_t)n;
}

static sf_status_t make(sf_graph_t *graph)
{
  sfc_streams_t *streams = calloc(1, sizeof *streams);
  if (streams == NULL)
    return sfshm_error(SF_ERR_NOMEM, "streams of a graph");
  sfc_graph_attach(graph, &streams->attachment, &streams_ops);
  streams->graph = graph;
  streams->lanes = calloc((size_t)graph->nlanes + 1, sizeof *streams->lanes);
  streams->room.ways = calloc((size_t)graph->nlanes + 1, sizeof *streams->room.ways);
  streams->messages = calloc((size_t)graph->nlanes + 1, SF_STREAMS_IN_FLIGHT * sizeof *streams->messages);
  streams->slots = calloc((size_t)graph->nlanes + 1, sizeof *streams->slots);
  streams->sent = calloc((size_t)graph->nlanes + 1, sizeof *streams->sent);
  streams->words = calloc((size_t)graph->nlanes + 1, sizeof *streams->words);
  streams->moves = malloc(sizeof *streams->moves + most_moves(graph) * sizeof streams->moves->moves[0]);
  if (streams->lanes == NULL || streams->room.ways == NULL || streams->messages == NULL || streams->slots == NULL ||
      streams->sent == NULL || streams->words == NULL || streams->moves == NULL)
    return sfshm_error(SF_ERR_NOMEM, "streams of a graph with %d ranks", graph->nlanes);
  streams->nlanes = count_lanes(graph);
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    streams->requests[i].messages = streams->messages + (size_t)i * (size_t)graph->nlanes;
  return SF_OK;
}

/* What each rank does by itself, and whether it can. */
static sf_status_t begin_set_up(sf_status_t before, sf_graph_t *graph, void *stream)
{
  sf_status_t status = before == SF_OK ? make(graph) : before;
  return status == SF_OK ? open_device(sfc_streams_of(graph), stream) : status;
}

/* The agreed error of all ranks of several nodes, or what was there before. */
static sf_status_t reach_nodes(sf_graph_t *graph, sf_status_t before, size_t unit_bytes, bool *agreed_p)
{
  sf_graph_t *copy;
  *agreed_p = false;
  if (sfc_group_is_local(graph->group))
    return before;
  sf_status_t status = sfc_derive_copy("operation on a stream", graph, graph->flags, before, &copy);
  *agreed_p = status != SF_OK;
  return status == SF_OK ? sfc_streams_nodes_open(sfc_streams_of(graph), copy, unit_bytes) : status;
}

sf_status_t sfc_streams_set_up(sf_status_t before, sf_graph_t *graph, size_t unit_bytes, sfc_stream_sides_t sides,
                               void *stream, uint64_t called)
{
  sfc_derive_t derive;
  bool agreed;
  sf_status_t status = reach_nodes(graph, begin_set_up(before, graph, stream), unit_bytes, &agreed);
  if (!agreed) {
    sfc_streams_t *streams = sfc_streams_of(graph);
    if (status == SF_OK)
      status = sfc_streams_prepare(streams);
    if (status == SF_OK)
      status = sfc_streams_room_make(streams, unit_bytes, sides, &streams->room);
    sfc_derive_begin(&derive, "operation on a stream", graph->group, SF_GRAPH_DEFAULT);
    sfc_derive_note(&derive, status, -1);
    exchange(&derive, graph, called);
    if (derive.status == SF_OK) /* from now on nothing of the room changes without the guard's lock */
      sfc_derive_note(&derive, sfc_streams_guard(streams), -1);
    status = sfc_derive_agree(&derive);
    if (status == SF_OK) /* from now on all have streams, also if the graph fails */
      return sfc_streams_room_settle(streams, &streams->room);
  }
  if (status != SF_OK && sfc_streams_of(graph) != NULL)
    tear_down(&sfc_streams_of(graph)->attachment);
  return status;
}
