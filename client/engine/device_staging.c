/* Staging of a device's data: see device_staging.h. */
#include "client/engine/device_staging.h"

#include <stdlib.h>

#include "client/engine/lane_send.h"
#include "client/graph.h"

/* Room is kept for the next operation with the request. */
struct sfc_stage {
  uint64_t sequence; /* of the operation whose values these are */
  char *values;      /* field after field; each field has total values */
  size_t room_bytes;
  int64_t total;
  sfc_field_t *fields;
  const sfshm_pattern_t **patterns;
  int32_t npatterns;
  int64_t at[]; /* by lane: its first value; -1: it has none here */
};

/* Two patterns a lane. */
static sfc_stage_t *make(const sf_graph_t *graph, int32_t nfields)
{
  size_t nlanes = (size_t)graph->nlanes;
  sfc_stage_t *stage = calloc(1, sizeof *stage + nlanes * sizeof stage->at[0]);
  const sfshm_pattern_t **patterns = calloc(2 * nlanes + 1, sizeof *patterns);
  sfc_field_t *fields = calloc((size_t)nfields, sizeof *fields);
  if (stage == NULL || patterns == NULL || fields == NULL) {
    free(stage);
    free(patterns);
    free(fields);
    return NULL;
  }
  stage->patterns = patterns;
  stage->fields = fields;
  return stage;
}

void sfc_stage_free(sf_request_t *request)
{
  if (request->stage == NULL)
    return;
  free(request->stage->values);
  free(request->stage->patterns);
  free(request->stage->fields);
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
  stage->total = survey(stage, request);
  size_t bytes = (size_t)stage->total * request->value_bytes;
  if (bytes > stage->room_bytes) {
    free(stage->values);
    stage->room_bytes = 0;
    stage->values = malloc(bytes);
    if (stage->values == NULL)
      return false;
    stage->room_bytes = bytes;
  }
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    request->devices->gather(field->combine.unit, stage->patterns, stage->npatterns, field->source,
                             stage->values + (size_t)stage->total * field->before_bytes);
  }
  stage->sequence = request->sequence;
  return true;
}

const sfc_field_t *sfc_stage_find(const sfc_lane_t *lane, sf_request_t *request)
{
  if (request->source_class != SFC_MEMORY_DEVICE)
    return NULL;
  if (request->stage == NULL)
    request->stage = make(request->graph, request->nfields);
  sfc_stage_t *stage = request->stage;
  if (stage == NULL || (stage->sequence != request->sequence && !fill(stage, request)))
    return NULL;
  int64_t at = stage->at[lane - lane->graph->lanes];
  for (int32_t k = 0; k < request->nfields && at >= 0; k++) {
    sfc_field_t *field = &stage->fields[k];
    *field = request->fields[k];
    field->source = stage->values + (size_t)stage->total * field->before_bytes + (size_t)at * field->combine.unit_bytes;
    field->devices = NULL;
    field->move = sfshm_kernels_find(field->combine.unit, SFSHM_OP_REPLACE);
  }
  return at < 0 ? NULL : stage->fields;
}
