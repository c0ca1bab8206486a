/* Staging of a device's data: see device_staging.h. */
#include "client/engine/device_staging.h"

#include <stdlib.h>

#include "client/engine/lane_send.h"
#include "client/graph.h"

/* Room is kept for the next operation with the request. */
struct sfc_staging {
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
static sfc_staging_t *make(const sf_graph_t *graph, int32_t nfields)
{
  size_t nlanes = (size_t)graph->nlanes;
  sfc_staging_t *staging = calloc(1, sizeof *staging + nlanes * sizeof staging->at[0]);
  const sfshm_pattern_t **patterns = calloc(2 * nlanes + 1, sizeof *patterns);
  sfc_field_t *fields = calloc((size_t)nfields, sizeof *fields);
  if (staging == NULL || patterns == NULL || fields == NULL) {
    free(staging);
    free(patterns);
    free(fields);
    return NULL;
  }
  staging->patterns = patterns;
  staging->fields = fields;
  return staging;
}

void sfc_staging_free(sf_request_t *request)
{
  if (request->staging == NULL)
    return;
  free(request->staging->values);
  free(request->staging->patterns);
  free(request->staging->fields);
  free(request->staging);
  request->staging = NULL;
}

static void add(sfc_staging_t *staging, const sfshm_pattern_t *pattern, int64_t *total_p)
{
  staging->patterns[staging->npatterns++] = pattern;
  *total_p += pattern->n;
}

static void add_lane(sfc_staging_t *staging, const sfc_lane_t *lane, sfshm_operation_t operation, int64_t *total_p)
{
  const sfc_trunk_t *trunk = lane->trunk;
  bool bcast = operation == SFSHM_BCAST;
  if (trunk == NULL)
    add(staging, bcast ? &lane->as_root.value_root : &lane->as_leaf.leaf, total_p);
  else
    add(staging, bcast ? &trunk->root : &trunk->leaf, total_p);
  if (trunk != NULL && !bcast && trunk->extra_leaf.n > 0)
    add(staging, &trunk->extra_leaf, total_p);
}

/* Lanes whose other end reads the device itself need nothing; as long as it has not said so, they are asked for. */
static int64_t survey(sfc_staging_t *staging, const sf_request_t *request)
{
  const sf_graph_t *graph = request->graph;
  int64_t total = 0;
  staging->npatterns = 0;
  for (int32_t i = 0; i < graph->nlanes; i++)
    staging->at[i] = -1;
  for (int32_t i = 0; i < graph->routes.nsenders[request->operation]; i++) {
    const sfc_lane_t *lane = graph->routes.senders[request->operation][i];
    if (sfc_lane_reads_devices(lane, request))
      continue;
    staging->at[lane - graph->lanes] = total;
    add_lane(staging, lane, request->operation, &total);
  }
  return total;
}

static bool fill(sfc_staging_t *staging, const sf_request_t *request)
{
  staging->total = survey(staging, request);
  size_t bytes = (size_t)staging->total * request->value_bytes;
  if (bytes > staging->room_bytes) {
    free(staging->values);
    staging->room_bytes = 0;
    staging->values = malloc(bytes);
    if (staging->values == NULL)
      return false;
    staging->room_bytes = bytes;
  }
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    request->devices->gather(field->combine.unit, staging->patterns, staging->npatterns, field->source,
                             staging->values + (size_t)staging->total * field->before_bytes);
  }
  staging->sequence = request->sequence;
  return true;
}

const sfc_field_t *sfc_staging_find(const sfc_lane_t *lane, sf_request_t *request)
{
  if (request->source_class != SFC_MEMORY_DEVICE)
    return NULL;
  if (request->staging == NULL)
    request->staging = make(request->graph, request->nfields);
  sfc_staging_t *staging = request->staging;
  if (staging == NULL || (staging->sequence != request->sequence && !fill(staging, request)))
    return NULL;
  int64_t at = staging->at[lane - lane->graph->lanes];
  for (int32_t k = 0; k < request->nfields && at >= 0; k++) {
    sfc_field_t *field = &staging->fields[k];
    *field = request->fields[k];
    field->source =
        staging->values + (size_t)staging->total * field->before_bytes + (size_t)at * field->combine.unit_bytes;
    field->devices = NULL;
    field->move = sfshm_kernels_find(field->combine.unit, SFSHM_OP_REPLACE);
  }
  return at < 0 ? NULL : staging->fields;
}
