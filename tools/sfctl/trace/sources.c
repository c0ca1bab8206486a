/* Sources of a trace: see trace.h. The one thread of sfctl. */
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/base/room.h"
#include "tools/sfctl/trace/trace.h"

static sf_status_t no_memory(void)
{
  return sfshm_error(SF_ERR_NOMEM, "no memory for the events of a trace");
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

static sfctl_source_t *find_source(const sfctl_trace_t *trace, const Sfproto__TraceInfo *info)
{
  for (size_t i = trace->nsources; i > 0; i--) {
    sfctl_source_t *source = &trace->sources[i - 1];
    if (source->job_id == info->job_id && source->rank == info->rank && source->node == info->node)
      return source;
  }
  return NULL;
}

static sfctl_source_t *add_source(sfctl_trace_t *trace, const Sfproto__TraceInfo *info)
{
  sfctl_source_t *sources = reallocarray(trace->sources, trace->nsources + 1, sizeof *sources);
  if (sources == NULL)
    return NULL;
  trace->sources = sources;
  sfctl_source_t *source = &sources[trace->nsources++];
  *source = (sfctl_source_t){.job_id = info->job_id,
                             .rank = info->rank,
                             .node = info->node,
                             .pid = info->pid,
                             .job = strdup(info->job),
                             .program = strdup(info->program)};
  return source->job != NULL && source->program != NULL ? source : NULL;
}

static sf_status_t add_records(sfctl_source_t *source, const Sfproto__TraceInfo *info)
{
  size_t n = info->events.len / sizeof source->records[0];
  if (n * sizeof source->records[0] != info->events.len)
    return sfshm_error(SF_ERR_PROTO, "sfd answers with %zu bytes of events of %zu each", info->events.len,
                       sizeof source->records[0]);
  if (!sfshm_make_room(&source->records, &source->capacity, source->nrecords + n, sizeof *source->records))
    return no_memory();
  if (n > 0)
    memcpy(source->records + source->nrecords, info->events.data, info->events.len);
  source->nrecords += n;
  source->lost += info->lost;
  source->now_ns = info->now_ns;
  return SF_OK;
}

static sf_status_t add_info(sfctl_trace_t *trace, const Sfproto__TraceInfo *info)
{
  sfctl_source_t *source = find_source(trace, info);
  if (source == NULL)
    source = add_source(trace, info);
  return source != NULL ? add_records(source, info) : no_memory();
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static int compare_made(const void *a, const void *b)
{
  uint64_t x = ((const sfctl_made_t *)a)->graph, y = ((const sfctl_made_t *)b)->graph;
  return (x > y) - (x < y);
}

static const sfctl_made_t *find_made(const sfctl_trace_t *trace, uint64_t graph)
{
  const sfctl_made_t key = {.graph = graph};
  return trace->nmade > 0 ? bsearch(&key, trace->made, trace->nmade, sizeof key, compare_made) : NULL;
}

const char *sfctl_trace_place(const sfctl_trace_t *trace, uint64_t graph)
{
  const sfctl_made_t *made = find_made(trace, graph);
  return made != NULL ? made->place : "";
}

static sf_status_t add_place(sfctl_trace_t *trace, const Sfproto__Place *state)
{
  if (state->place[0] == '\0' || find_made(trace, state->graph) != NULL)
    return SF_OK;
  sfctl_made_t *made = reallocarray(trace->made, trace->nmade + 1, sizeof *made);
  char *place = strdup(state->place);
  if (made != NULL)
    trace->made = made;
  if (made == NULL || place == NULL) {
    free(place);
    return no_memory();
  }
  made[trace->nmade++] = (sfctl_made_t){state->graph, place};
  qsort(made, trace->nmade, sizeof *made, compare_made);
  return SF_OK;
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

sf_status_t sfctl_trace_add(sfctl_trace_t *trace, const Sfproto__TraceInfo *info)
{
  sf_status_t status = add_info(trace, info);
  for (size_t i = 0; i < info->n_places && status == SF_OK; i++)
    status = add_place(trace, info->places[i]);
  return status;
}

void sfctl_trace_clear(sfctl_trace_t *trace)
{
  for (size_t i = 0; i < trace->nsources; i++) {
    free(trace->sources[i].job);
    free(trace->sources[i].program);
    free(trace->sources[i].records);
  }
  for (size_t i = 0; i < trace->nmade; i++)
    free(trace->made[i].place);
  free(trace->sources);
  free(trace->clocks);
  free(trace->made);
  *trace = (sfctl_trace_t){0};
}

/* ---- Clocks ------------------------------------------------------------------------------------------------------ */

static sfctl_clock_t *find_clock(const sfctl_trace_t *trace, int32_t node)
{
  for (size_t i = 0; i < trace->nclocks; i++)
    if (trace->clocks[i].node == node)
      return &trace->clocks[i];
  return NULL;
}

/* Of several answers of a node the fastest counts. */
sf_status_t sfctl_trace_add_clock(sfctl_trace_t *trace, const sfctl_clock_t *clock)
{
  sfctl_clock_t *known = find_clock(trace, clock->node);
  if (known == NULL) {
    sfctl_clock_t *clocks = reallocarray(trace->clocks, trace->nclocks + 1, sizeof *clocks);
    if (clocks == NULL)
      return no_memory();
    trace->clocks = clocks;
    clocks[trace->nclocks++] = *clock;
  } else if (clock->error_ns < known->error_ns) {
    *known = *clock;
  }
  return SF_OK;
}

uint64_t sfctl_trace_time(const sfctl_trace_t *trace, int32_t node, uint64_t ns)
{
  const sfctl_clock_t *clock = find_clock(trace, node);
  return clock != NULL ? ns - (uint64_t)clock->offset_ns : ns;
}

typedef struct bounds {
  int64_t low, high; /* of a node's offset */
} bounds_t;

/* Limits of a node's offset by a message between it and the queried node. */
static void tighten(const sfctl_trace_t *trace, const sfctl_flow_t *flow, int32_t asked, int32_t node, bounds_t *bounds)
{
  int32_t from = trace->sources[flow->from.source].node, to = trace->sources[flow->to.source].node;
  int64_t ahead = (int64_t)(flow->to.record->begin_ns - flow->from.record->begin_ns);
  if (from == asked && to == node && ahead < bounds->high)
    bounds->high = ahead;
  if (from == node && to == asked && -ahead > bounds->low)
    bounds->low = -ahead;
}

void sfctl_trace_adjust_clocks(sfctl_trace_t *trace, int32_t asked)
{
  sfctl_flow_t *flows;
  size_t nflows;
  if (sfctl_trace_flows(trace, &flows, &nflows) != SF_OK)
    return; /* then arrows may point backwards a little */
  for (size_t i = 0; i < trace->nclocks; i++) {
    sfctl_clock_t *clock = &trace->clocks[i];
    bounds_t bounds = {INT64_MIN, INT64_MAX};
    for (size_t f = 0; f < nflows && clock->node != asked; f++)
      tighten(trace, &flows[f], asked, clock->node, &bounds);
    if (bounds.low > bounds.high)
      continue; /* a clock was set, or drifts */
    if (clock->offset_ns < bounds.low)
      clock->offset_ns = bounds.low;
    if (clock->offset_ns > bounds.high)
      clock->offset_ns = bounds.high;
  }
  free(flows);
}
