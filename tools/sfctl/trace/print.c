/* Trace Event JSON: see trace.h. The one thread of sfctl. Each rank and each daemon is a process of the trace. Work of
 * threads is complete events ("X"), which are nested. Operations overlap, and are asynchronous events ("b" and "e").
 * Messages are flows ("s" and "f") from the sending to the receiving event. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/lane/message.h"
#include "tools/sfctl/trace/trace.h"

#define MESSAGES_THREAD 1
#define FRAMES_THREAD 100      /* plus number of the node */
#define DEVICE_THREAD 100000u  /* plus number of the device */
#define STREAMS_THREAD 200000u /* plus number of the graph, below */
#define STREAMS_THREADS UINT64_C(1000000)
#define THREADS_NAMED 256 /* of a process */

/* One line of the file. */
typedef struct line {
  uint64_t ns; /* on the clock of the queried node */
  int order;   /* of lines with the same time */
  uint64_t length_ns;
  enum { LINE_SLICE, LINE_BEGIN, LINE_END, LINE_IN_FLIGHT, LINE_FLOW_FROM, LINE_FLOW_TO } kind;
  uint32_t source;
  size_t flow;
  const sfshm_trace_record_t *record;
} line_t;

typedef struct lines {
  const sfctl_trace_t *trace;
  line_t *lines;
  size_t count, capacity;
} lines_t;

/* ---- Collecting -------------------------------------------------------------------------------------------------- */

static void add(lines_t *lines, const line_t *line)
{
  lines->lines[lines->count++] = *line; /* room: see count_lines */
}

static int compare_lines(const void *a, const void *b)
{
  const line_t *x = a, *y = b;
  if (x->ns != y->ns)
    return x->ns < y->ns ? -1 : 1;
  if (x->length_ns != y->length_ns) /* outer events first */
    return x->length_ns > y->length_ns ? -1 : 1;
  if (x->order != y->order)
    return x->order - y->order;
  return (x->source > y->source) - (x->source < y->source);
}

/* Operations of a graph on streams have their own numbers. */
static bool on_stream(const sfshm_trace_record_t *record)
{
  return (record->flags & SFSHM_TRACE_ON_STREAM) != 0;
}

static int compare_sequences(const void *a, const void *b)
{
  const sfshm_trace_record_t *x = *(const sfshm_trace_record_t *const *)a, *y = *(const sfshm_trace_record_t *const *)b;
  if (x->graph != y->graph)
    return x->graph < y->graph ? -1 : 1;
  if (on_stream(x) != on_stream(y))
    return on_stream(x) ? 1 : -1;
  if (x->sequence != y->sequence)
    return x->sequence < y->sequence ? -1 : 1;
  return x->kind - y->kind; /* begins first */
}

/* A begin and an end event; an operation without end ends when the trace was read. */
static void add_operation(lines_t *lines, uint32_t number, const sfshm_trace_record_t *record, bool ended)
{
  const sfctl_source_t *source = &lines->trace->sources[number];
  uint64_t end_ns = ended ? record->end_ns : source->now_ns > record->begin_ns ? source->now_ns : record->begin_ns;
  line_t line = {.source = number, .record = record};
  line.kind = LINE_BEGIN;
  line.ns = sfctl_trace_time(lines->trace, source->node, record->begin_ns);
  line.order = 0;
  add(lines, &line);
  line.kind = ended ? LINE_END : LINE_IN_FLIGHT;
  line.ns = sfctl_trace_time(lines->trace, source->node, end_ns);
  line.order = 5;
  add(lines, &line);
}

/* Matches begins and ends of a rank's operations. An end has the begin's time, so an operation with overwritten begin
 * is complete; a begin without end is in flight. */
static sf_status_t add_operations(lines_t *lines, uint32_t number)
{
  const sfctl_source_t *source = &lines->trace->sources[number];
  size_t n = 0;
  const sfshm_trace_record_t **records = calloc(source->nrecords + 1, sizeof *records);
  if (records == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the operations of a trace");
  for (size_t i = 0; i < source->nrecords; i++)
    if (source->records[i].kind == SFSHM_TRACE_BEGIN || source->records[i].kind == SFSHM_TRACE_END)
      records[n++] = &source->records[i];
  qsort(records, n, sizeof *records, compare_sequences);
  for (size_t i = 0; i < n; i++) {
    bool begins = records[i]->kind == SFSHM_TRACE_BEGIN;
    bool followed = i + 1 < n && records[i + 1]->graph == records[i]->graph &&
                    records[i + 1]->sequence == records[i]->sequence &&
                    on_stream(records[i + 1]) == on_stream(records[i]);
    if (!begins || !followed)
      add_operation(lines, number, records[i], !begins);
  }
  free(records);
  return SF_OK;
}

static void add_slices(lines_t *lines, uint32_t number)
{
  const sfctl_source_t *source = &lines->trace->sources[number];
  for (size_t i = 0; i < source->nrecords; i++) {
    const sfshm_trace_record_t *record = &source->records[i];
    if (record->kind == SFSHM_TRACE_END)
      continue;
    const line_t line = {.ns = sfctl_trace_time(lines->trace, source->node, record->begin_ns),
                         .length_ns = record->end_ns > record->begin_ns ? record->end_ns - record->begin_ns : 0,
                         .order = record->kind == SFSHM_TRACE_BEGIN || record->kind == SFSHM_TRACE_WAIT ? 1 : 2,
                         .kind = LINE_SLICE,
                         .source = number,
                         .record = record};
    add(lines, &line);
  }
}

static void add_flow(lines_t *lines, size_t number, const sfctl_flow_t *flow)
{
  const sfctl_trace_t *trace = lines->trace;
  line_t line = {
      .order = 3, .kind = LINE_FLOW_FROM, .flow = number, .source = flow->from.source, .record = flow->from.record};
  line.ns = sfctl_trace_time(trace, trace->sources[flow->from.source].node, flow->from.record->begin_ns);
  uint64_t from_ns = line.ns;
  add(lines, &line);
  line.order = 4;
  line.kind = LINE_FLOW_TO;
  line.source = flow->to.source;
  line.record = flow->to.record;
  line.ns = sfctl_trace_time(trace, trace->sources[flow->to.source].node, flow->to.record->begin_ns);
  if (line.ns < from_ns) /* clocks could not be adjusted: no arrow points backwards */
    line.ns = from_ns;
  add(lines, &line);
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

/* As content of a JSON string. */
static const char *escaped(const char *text, char buffer[256])
{
  size_t n = 0;
  for (; *text != '\0' && n < 250; text++) {
    if (*text == '"' || *text == '\\')
      buffer[n++] = '\\';
    buffer[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
  }
  buffer[n] = '\0';
  return buffer;
}

/* Thread of an event: daemons have one for messages, and one per node for frames; devices of a rank have one per
 * device, and one per graph with operations on streams. */
static uint32_t thread_of(const sfctl_source_t *source, const sfshm_trace_record_t *record)
{
  if (record->kind == SFSHM_TRACE_DEVICE)
    return on_stream(record) ? STREAMS_THREAD + (uint32_t)(record->graph % STREAMS_THREADS)
                             : DEVICE_THREAD + record->thread;
  if (source->rank >= 0)
    return record->thread;
  bool frame = record->kind == SFSHM_TRACE_FRAME_OUT || record->kind == SFSHM_TRACE_FRAME_IN;
  return frame ? FRAMES_THREAD + (uint32_t)record->peer : MESSAGES_THREAD;
}

static const char *name_of(const sfctl_trace_t *trace, const sfshm_trace_record_t *record, char name[160])
{
  char call[80];
  if (record->kind == SFSHM_TRACE_BEGIN || record->kind == SFSHM_TRACE_END) {
    const char *place = sfctl_trace_place(trace, record->graph);
    sfshm_desc_text(record->message, call, sizeof call);
    snprintf(name, 160, "%s%s%s", call, place[0] != '\0' ? " " : "", place);
    return name;
  }
  const char *what = record->kind == SFSHM_TRACE_SETUP    ? sfshm_trace_phase_name(record->message)
                     : record->kind == SFSHM_TRACE_DEVICE ? sfshm_trace_work_name(record->message)
                     : record->kind == SFSHM_TRACE_ARRAY  ? sfshm_trace_call_name(record->message)
                                                          : sfshm_trace_kind_name(record->kind);
  const char *to = record->kind == SFSHM_TRACE_WAIT || record->kind == SFSHM_TRACE_DEVICE ? " for"
                   : record->kind == SFSHM_TRACE_UNPACK                                   ? " from"
                                                                                          : " to";
  if (record->kind == SFSHM_TRACE_ARRIVE || record->kind == SFSHM_TRACE_FRAME_IN || record->kind == SFSHM_TRACE_ARRAY)
    to = " from";
  if (record->peer < 0)
    snprintf(name, 160, "%s", what);
  else
    snprintf(name, 160, "%s%s %s %d", what, to, (record->flags & SFSHM_TRACE_TO_NODE) != 0 ? "node" : "rank",
             record->peer);
  return name;
}

static void print_time(FILE *file, const char *name, uint64_t ns)
{
  fprintf(file, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

static void print_place(FILE *file, const sfctl_trace_t *trace, const line_t *line, uint64_t zero_ns)
{
  fprintf(file, ",\"pid\":%u,\"tid\":%u", line->source + 1, thread_of(&trace->sources[line->source], line->record));
  print_time(file, "ts", line->ns - zero_ns);
}

static void print_arguments(FILE *file, const sfctl_trace_t *trace, const line_t *line)
{
  char buffer[256];
  const sfshm_trace_record_t *record = line->record;
  fprintf(file, ",\"args\":{\"graph\":%" PRIu64, record->graph);
  const char *place = sfctl_trace_place(trace, record->graph);
  if (place[0] != '\0')
    fprintf(file, ",\"place\":\"%s\"", escaped(place, buffer));
  if (record->kind != SFSHM_TRACE_SETUP)
    fprintf(file, ",\"sequence\":%" PRIu64 ",\"bytes\":%" PRIu64, record->sequence, record->bytes);
  if (record->kind == SFSHM_TRACE_FRAME_OUT || record->kind == SFSHM_TRACE_FRAME_IN)
    fprintf(file, ",\"messages\":%" PRIu64, record->message);
  else if (record->kind == SFSHM_TRACE_DEVICE)
    fprintf(file, ",\"device\":%u", record->thread);
  else if (record->kind != SFSHM_TRACE_BEGIN && record->kind != SFSHM_TRACE_END && record->kind != SFSHM_TRACE_SETUP &&
           record->kind != SFSHM_TRACE_ARRAY)
    fprintf(file, ",\"message\":%" PRIu64, record->message);
  if (line->kind == LINE_IN_FLIGHT)
    fprintf(file, ",\"in_flight\":true");
  fprintf(file, "}");
}

static const char *category(const sfshm_trace_record_t *record)
{
  switch (record->kind) {
  case SFSHM_TRACE_SETUP:
    return "set-up";
  case SFSHM_TRACE_FRAME_OUT:
  case SFSHM_TRACE_FRAME_IN:
    return "frame";
  case SFSHM_TRACE_DEPART:
  case SFSHM_TRACE_ARRIVE:
    return "node";
  case SFSHM_TRACE_DEVICE:
    return "device";
  case SFSHM_TRACE_ARRAY:
    return "array";
  default:
    return "rank";
  }
}

static void print_line(FILE *file, const sfctl_trace_t *trace, const line_t *line, uint64_t zero_ns)
{
  char name[160], buffer[256];
  escaped(name_of(trace, line->record, name), buffer);
  switch (line->kind) {
  case LINE_SLICE:
    fprintf(file, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\"", category(line->record), buffer);
    print_place(file, trace, line, zero_ns);
    print_time(file, "dur", line->length_ns);
    break;
  case LINE_BEGIN:
  case LINE_END:
  case LINE_IN_FLIGHT:
    fprintf(file, "{\"ph\":\"%s\",\"cat\":\"operation\",\"id\":\"%u.%" PRIu64 ".%s%" PRIu64 "\",\"name\":\"%s\"",
            line->kind == LINE_BEGIN ? "b" : "e", line->source + 1, line->record->graph,
            on_stream(line->record) ? "s" : "", line->record->sequence, buffer);
    print_place(file, trace, line, zero_ns);
    break;
  case LINE_FLOW_FROM:
  case LINE_FLOW_TO:
    fprintf(file, "{\"ph\":\"%s\",\"cat\":\"message\",\"id\":%zu,\"name\":\"message\"",
            line->kind == LINE_FLOW_FROM ? "s" : "f", line->flow + 1);
    if (line->kind == LINE_FLOW_TO)
      fprintf(file, ",\"bp\":\"e\"");
    print_place(file, trace, line, zero_ns);
    fprintf(file, "},\n");
    return;
  }
  print_arguments(file, trace, line);
  fprintf(file, "},\n");
}

static void print_name(FILE *file, const char *what, size_t process, uint32_t thread, const char *name)
{
  fprintf(file, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%zu,\"tid\":%u,\"ts\":0,\"args\":{\"name\":\"%s\"}},\n", what,
          process, thread, name);
}

static void print_thread(FILE *file, size_t process, const sfctl_source_t *source, const sfshm_trace_record_t *record)
{
  char name[80];
  uint32_t thread = thread_of(source, record);
  if (record->kind == SFSHM_TRACE_DEVICE && on_stream(record))
    snprintf(name, sizeof name, "device %u, streams of graph %" PRIu64, record->thread, record->graph);
  else if (record->kind == SFSHM_TRACE_DEVICE)
    snprintf(name, sizeof name, "device %u", record->thread);
  else if (source->rank >= 0)
    snprintf(name, sizeof name, "thread %u", thread);
  else if (thread >= FRAMES_THREAD)
    snprintf(name, sizeof name, "frames, node %u", thread - FRAMES_THREAD);
  else
    snprintf(name, sizeof name, "messages");
  print_name(file, "thread_name", process, thread, name);
}

/* Names threads at their first event. */
static void print_threads(FILE *file, size_t process, const sfctl_source_t *source)
{
  uint32_t seen[THREADS_NAMED];
  size_t nseen = 0;
  for (size_t i = 0; i < source->nrecords && nseen < THREADS_NAMED; i++) {
    uint32_t thread = thread_of(source, &source->records[i]);
    size_t known = 0;
    while (known < nseen && seen[known] != thread)
      known++;
    if (known < nseen)
      continue;
    seen[nseen++] = thread;
    print_thread(file, process, source, &source->records[i]);
  }
}

/* Order of processes, by which viewers sort: daemons by node, then ranks of a job. */
static bool stands_before(const sfctl_source_t *a, const sfctl_source_t *b)
{
  if ((a->rank < 0) != (b->rank < 0))
    return a->rank < 0;
  if (a->job_id != b->job_id)
    return a->job_id < b->job_id;
  return a->rank != b->rank ? a->rank < b->rank : a->node < b->node;
}

static void print_position(FILE *file, const sfctl_trace_t *trace, size_t number, const sfctl_source_t *source)
{
  size_t position = 0;
  for (size_t i = 0; i < trace->nsources; i++)
    position += stands_before(&trace->sources[i], source);
  fprintf(file,
          "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%zu,\"tid\":0,\"ts\":0,"
          "\"args\":{\"sort_index\":%zu}},\n",
          number, position);
}

static void print_process(FILE *file, const sfctl_trace_t *trace, size_t number, const sfctl_source_t *source)
{
  char job[256], program[256], name[640];
  if (source->rank >= 0)
    snprintf(name, sizeof name, "%s rank %d, node %d (%s, pid %d)", escaped(source->job, job), source->rank,
             source->node, escaped(source->program, program), source->pid);
  else
    snprintf(name, sizeof name, "sfd, node %d (pid %d)", source->node, source->pid);
  print_name(file, "process_name", number, 0, name);
  print_position(file, trace, number, source);
  print_threads(file, number, source);
}

/* The last event has no comma: prints the number of lost events there. */
static void print_end(FILE *file, const sfctl_trace_t *trace)
{
  uint64_t lost = 0;
  for (size_t i = 0; i < trace->nsources; i++)
    lost += trace->sources[i].lost;
  fprintf(file,
          "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"tid\":0,\"ts\":0,\"args\":{\"labels\":\"sfd\"}}\n");
  fprintf(file, "],\"displayTimeUnit\":\"ns\",\"otherData\":{\"events_lost\":%" PRIu64 ",\"clocks\":[", lost);
  for (size_t i = 0; i < trace->nclocks; i++)
    fprintf(file, "%s{\"node\":%d,\"offset_ns\":%" PRId64 ",\"error_ns\":%" PRId64 "}", i > 0 ? "," : "",
            trace->clocks[i].node, trace->clocks[i].offset_ns, trace->clocks[i].error_ns);
  fprintf(file, "]}}\n");
}

static size_t count_lines(const sfctl_trace_t *trace, size_t nflows)
{
  size_t n = 2 * nflows;
  for (size_t i = 0; i < trace->nsources; i++)
    n += 3 * trace->sources[i].nrecords;
  return n;
}

sf_status_t sfctl_trace_print(const sfctl_trace_t *trace, FILE *file)
{
  lines_t lines = {.trace = trace};
  sfctl_flow_t *flows;
  size_t nflows;
  sf_status_t status = sfctl_trace_flows(trace, &flows, &nflows);
  if (status != SF_OK)
    return status;
  lines.lines = calloc(count_lines(trace, nflows) + 1, sizeof *lines.lines);
  if (lines.lines == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for the events of a trace");
  for (uint32_t i = 0; i < trace->nsources && status == SF_OK; i++) {
    add_slices(&lines, i);
    status = add_operations(&lines, i);
  }
  if (status == SF_OK) {
    for (size_t i = 0; i < nflows; i++)
      add_flow(&lines, i, &flows[i]);
    qsort(lines.lines, lines.count, sizeof *lines.lines, compare_lines);
    fprintf(file, "{\"traceEvents\":[\n");
    for (size_t i = 0; i < trace->nsources; i++)
      print_process(file, trace, i + 1, &trace->sources[i]);
    for (size_t i = 0; i < lines.count; i++)
      print_line(file, trace, &lines.lines[i], lines.lines[0].ns);
    print_end(file, trace);
  }
  free(lines.lines);
  free(flows);
  return status;
}
