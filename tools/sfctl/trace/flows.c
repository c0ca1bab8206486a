/* Flows: matches messages sent and received, see trace.h. The one thread of sfctl. */
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/base/room.h"
#include "tools/sfctl/trace/trace.h"

/* In the order of a message's way; ends of flows match by kind and key. */
typedef enum hop {
  HOP_RANKS,  /* rank to rank of one node */
  HOP_OUT,    /* rank to its daemon */
  HOP_WIRE,   /* daemon to daemon */
  HOP_IN,     /* daemon to its rank */
  HOP_FRAMES, /* daemon to daemon */
} hop_t;

typedef struct end {
  int hop;
  bool reduce;
  int32_t from, to; /* ranks, or nodes */
  uint64_t job_id;
  uint64_t graph;
  uint64_t message;
  bool sends;
  sfctl_end_t end;
} end_t;

typedef struct ends {
  end_t *ends;
  size_t count, capacity;
  bool failed;
} ends_t;

#define COMPARE(field)                                                                                                 \
  if (x->field != y->field)                                                                                            \
    return x->field < y->field ? -1 : 1;

static int compare_keys(const end_t *x, const end_t *y)
{
  COMPARE(hop)
  COMPARE(job_id)
  COMPARE(graph)
  COMPARE(reduce)
  COMPARE(from)
  COMPARE(to)
  COMPARE(message)
  return 0;
}

/* Senders first. */
static int compare_ends(const void *a, const void *b)
{
  const end_t *x = a, *y = b;
  int order = compare_keys(x, y);
  if (order != 0)
    return order;
  if (x->sends != y->sends)
    return x->sends ? -1 : 1;
  COMPARE(end.record->begin_ns)
  COMPARE(end.source)
  return 0;
}
#undef COMPARE

static void add(ends_t *ends, const end_t *end)
{
  ends->failed = ends->failed || !sfshm_make_room(&ends->ends, &ends->capacity, ends->count + 1, sizeof *ends->ends);
  if (!ends->failed)
    ends->ends[ends->count++] = *end;
}

/* Adds a rank's end: to another rank, or the daemon of its node. Ids of graphs are the same on all nodes; flows between
 * nodes are keyed by graph only, as daemons do not record jobs. */
static void add_of_rank(ends_t *ends, const sfctl_source_t *source, end_t end)
{
  const sfshm_trace_record_t *record = end.end.record;
  bool to_node = (record->flags & SFSHM_TRACE_TO_NODE) != 0;
  int32_t here = to_node ? source->node : source->rank;
  if (record->kind != SFSHM_TRACE_SEND && record->kind != SFSHM_TRACE_UNPACK)
    return;
  end.sends = record->kind == SFSHM_TRACE_SEND;
  end.hop = !to_node ? HOP_RANKS : end.sends ? HOP_OUT : HOP_IN;
  end.job_id = to_node ? 0 : source->job_id;
  end.from = end.sends ? here : record->peer;
  end.to = end.sends ? record->peer : here;
  end.reduce = end.reduce && to_node; /* lanes between ranks number both together */
  add(ends, &end);
}

static void add_of_daemon(ends_t *ends, const sfctl_source_t *source, end_t end)
{
  const sfshm_trace_record_t *record = end.end.record;
  bool out = record->kind == SFSHM_TRACE_DEPART || record->kind == SFSHM_TRACE_FRAME_OUT;
  end.from = out ? source->node : record->peer;
  end.to = out ? record->peer : source->node;
  if (record->kind == SFSHM_TRACE_FRAME_OUT || record->kind == SFSHM_TRACE_FRAME_IN) {
    end.hop = HOP_FRAMES;
    end.message = record->sequence;
    end.sends = out;
    add(ends, &end);
  } else if (record->kind == SFSHM_TRACE_DEPART || record->kind == SFSHM_TRACE_ARRIVE) {
    end.hop = HOP_WIRE;
    end.sends = out;
    add(ends, &end);
    end.hop = out ? HOP_OUT : HOP_IN;
    end.sends = !out;
    add(ends, &end);
  }
}

static void add_source(ends_t *ends, const sfctl_trace_t *trace, uint32_t number)
{
  const sfctl_source_t *source = &trace->sources[number];
  for (size_t i = 0; i < source->nrecords; i++) {
    const sfshm_trace_record_t *record = &source->records[i];
    const end_t end = {.reduce = (record->flags & SFSHM_TRACE_REDUCE) != 0,
                       .graph = record->graph,
                       .message = record->message,
                       .end = {number, record}};
    if (source->rank >= 0)
      add_of_rank(ends, source, end);
    else
      add_of_daemon(ends, source, end);
  }
}

/* From each sender to each receiver; only one side can have several. */
static size_t pair(const end_t ends[], size_t n, sfctl_flow_t flows[])
{
  size_t nsenders = 0, nflows = 0;
  while (nsenders < n && ends[nsenders].sends)
    nsenders++;
  if (nsenders > 1 && n - nsenders > 1) /* repeated numbers: of a rank or daemon that was started again */
    return 0;
  for (size_t s = 0; s < nsenders; s++)
    for (size_t r = nsenders; r < n; r++)
      flows[nflows++] = (sfctl_flow_t){ends[s].end, ends[r].end};
  return nflows;
}

sf_status_t sfctl_trace_flows(const sfctl_trace_t *trace, sfctl_flow_t **flows_p, size_t *nflows_p)
{
  ends_t ends = {0};
  size_t nflows = 0, end;
  for (uint32_t i = 0; i < trace->nsources; i++)
    add_source(&ends, trace, i);
  sfctl_flow_t *flows = ends.failed ? NULL : calloc(ends.count + 1, sizeof *flows);
  if (flows == NULL) {
    free(ends.ends);
    return sfshm_error(SF_ERR_NOMEM, "no memory for the messages of a trace");
  }
  if (ends.count > 0)
    qsort(ends.ends, ends.count, sizeof *ends.ends, compare_ends);
  for (size_t first = 0; first < ends.count; first = end) {
    for (end = first + 1; end < ends.count && compare_keys(&ends.ends[first], &ends.ends[end]) == 0;)
      end++;
    nflows += pair(&ends.ends[first], end - first, &flows[nflows]);
  }
  free(ends.ends);
  *flows_p = flows;
  *nflows_p = nflows;
  return SF_OK;
}
