/* Staging of a device's data: see device_staging.h. */
#include "client/engine/device_staging.h"

#include <stdlib.h>

#include "client/engine/lane_send.h"
#include "client/graph.h"

/* Room is kept for the next operation with the request. */
struct sfc_stage {
  uint64_t sequence; /* of the operation whose values these are */
  char *values;
  size_t room_bytes;
  const sfshm_pattern_t **patterns;
  int32_t npatterns;
  int64_t at[]; /* by lane: its first value; -1: it has none here */
};

/* Two patterns a lane. */
static sfc_stage_t *make(const sf_graph_t *graph)
{
  size_t nlanes = (size_t)graph->nlanes;
  sfc_stage_t *stage = calloc(1, sizeof *stage + nlanes * sizeof stage->at[0]);
  const sfshm_pattern_t **patterns = calloc(2 * nlanes + 1, sizeof *patterns);
  if (stage == NULL || patterns == NULL) {
    free(stage);
    free(patterns);
    return NULL;
  }
  stage->patterns = patterns;
  return stage;
}

void sfc_stage_free(sf_request_t *request)
{
  if (request->stage == NULL)
    return;
  free(request->stage->values);
  free(request->stage->patterns);
  free(request->stage);
  request->stage = NULL;
}

static void add(sfc_stage_t *stage, const sfshm_pattern_t *pattern, int64_t *total_p)
{
  stage->patterns[stage->npatterns++] = pattern;
  *total_p += pattern->n;
}

static void add_lane(sfc_stage_t *stage, const sfc_lane_t *lane, sfshm_operation_t operation, int64_t *total_p)
{
  const sfc_trunk_t *trunk = lane->trunk;
  bool bcast = operation == SFSHM_BCAST;
  if (trunk == NULL)
    add(stage, bcast ? &lane->as_root.value_root : &lane->as_leaf.leaf, total_p);
  else
    add(stage, bcast ? &trunk->root : &trunk->leaf, total_p);
  if (trunk != NULL && !bcast && trunk->extra_leaf.n > 0)
    add(stage, &trunk->extra_leaf, total_p);
}

/* Lanes whose other end reads the device itself need nothing; as long as it has not said so, they are asked for. */
static int64_t survey(sfc_stage_t *stage, const sf_request_t *request)
{
  const sf_graph_t *graph = request->graph;
  int64_t total = 0;
  stage->npatterns = 0;
  for (int32_t i = 0; i < graph->nlanes; i++)
    stage->at[i] = -1;
  for (int32_t i = 0; i < graph->routes.nsenders[request->operation]; i++) {
    const sfc_lane_t *lane = graph->routes.senders[request->operation][i];
    if (sfc_lane_reads_devices(lane, request))
      continue;
    stage->at[lane - graph->lanes] = total;
    add_lane(stage, lane, request->operation, &total);
  }
  return total;
}

static bool fill(sfc_stage_t *stage, const sf_request_t *request)
{
  size_t bytes = (size_t)survey(stage, request) * request->combine.unit_bytes;
  if (bytes > stage->room_bytes) {
    free(stage->values);
    stage->room_bytes = 0;
    stage->values = malloc(bytes);
    if (stage->values == NULL)
      return false;
    stage->room_bytes = bytes;
  }
  request->devices->gather(request->combine.unit, stage->patterns, stage->npatterns, request->source, stage->values);
  stage->sequence = request->sequence;
  return true;
}

const char *sfc_stage_find(const sfc_lane_t *lane, sf_request_t *request)
{
  if (request->source_ref.class != SFC_MEMORY_DEVICE)
    return NULL;
  if (request->stage == NULL)
    request->stage = make(request->graph);
  sfc_stage_t *stage = request->stage;
  if (stage == NULL || (stage->sequence != request->sequence && !fill(stage, request)))
    return NULL;
  int64_t at = stage->at[lane - lane->graph->lanes];
  return at < 0 ? NULL : stage->values + (size_t)at * request->combine.unit_bytes;
}
