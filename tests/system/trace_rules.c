/* Trace files: see trace_rules.h. In the process of the test. */
#include "tests/system/trace_rules.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16
#define SAME_US 0.0005 /* times are rounded to 0.001 us */

typedef struct event {
  char phase;
  unsigned pid, tid;
  int number; /* in the file */
  double ts, dur;
  char id[64], category[32], name[160];
} event_t;

static event_t *events;
static int nevents, room;

static bool text_of(const char *line, const char *member, char *to, size_t size)
{
  char key[32];
  snprintf(key, sizeof key, "\"%s\":", member);
  const char *at = strstr(line, key);
  if (at == NULL)
    return false;
  at += strlen(key);
  bool quoted = *at == '"';
  at += quoted;
  snprintf(to, size, "%.*s", (int)strcspn(at, quoted ? "\"" : "},"), at);
  return true;
}

static double number_of(const char *line, const char *member)
{
  char text[64], *end;
  ck_assert_msg(text_of(line, member, text, sizeof text), "no %s in %s", member, line);
  double number = strtod(text, &end);
  ck_assert_msg(*end == '\0' && end != text, "%s is no number in %s", member, line);
  return number;
}

/* Each event is an object on a line of its own. */
static void read_event(const char *line)
{
  char phase[8];
  if (nevents == room) {
    room = room > 0 ? 2 * room : 4096;
    events = reallocarray(events, (size_t)room, sizeof *events);
    ck_assert_ptr_nonnull(events);
  }
  event_t *event = &events[nevents];
  ck_assert(text_of(line, "ph", phase, sizeof phase) && strlen(phase) == 1 && strchr("MXbesf", phase[0]) != NULL);
  *event = (event_t){.phase = phase[0],
                     .pid = (unsigned)number_of(line, "pid"),
                     .tid = (unsigned)number_of(line, "tid"),
                     .number = nevents++};
  event->ts = number_of(line, "ts");
  event->dur = event->phase == 'X' ? number_of(line, "dur") : 0;
  ck_assert(event->dur >= 0);
  text_of(line, "id", event->id, sizeof event->id);
  text_of(line, "cat", event->category, sizeof event->category);
  ck_assert_msg(text_of(line, "name", event->name, sizeof event->name), "no name in %s", line);
}

void sftest_trace_read(const char *path)
{
  static char line[4096];
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  nevents = 0;
  ck_assert(fgets(line, sizeof line, file) != NULL);
  ck_assert_str_eq(line, "{\"traceEvents\":[\n");
  while (fgets(line, sizeof line, file) != NULL && line[0] == '{')
    read_event(line);
  ck_assert_msg(line[0] == ']' && line[strlen(line) - 2] == '}', "the file ends in %s", line);
  fclose(file);
}

void sftest_trace_free(void)
{
  free(events);
  events = NULL;
  nevents = room = 0;
}

int sftest_trace_count(char phase, const char *name)
{
  int n = 0;
  for (int i = 0; i < nevents; i++)
    n += events[i].phase == phase && strstr(events[i].name, name) == events[i].name;
  return n;
}

sftest_trace_span_t sftest_trace_span(unsigned pid, char phase, const char *name)
{
  sftest_trace_span_t span = {0, 0};
  bool found = false;
  for (int i = 0; i < nevents; i++) {
    const event_t *event = &events[i];
    if (event->pid != pid || event->phase != phase || strstr(event->name, name) != event->name)
      continue;
    span.begin_us = found && span.begin_us < event->ts ? span.begin_us : event->ts;
    span.end_us = found && span.end_us > event->ts + event->dur ? span.end_us : event->ts + event->dur;
    found = true;
  }
  return span;
}

/* ---- The rules --------------------------------------------------------------------------------------------------- */

/* Those with an id, by kind and id, in the order of the file. */
static int by_id(const void *a, const void *b)
{
  const event_t *x = a, *y = b;
  bool flow_x = strchr("sf", x->phase) != NULL, flow_y = strchr("sf", y->phase) != NULL;
  int order = flow_x != flow_y ? flow_x - flow_y : strcmp(x->category, y->category);
  if (order == 0)
    order = strcmp(x->id, y->id);
  return order != 0 ? order : x->number - y->number;
}

/* What begins ends, once, and not before. */
static void check_pairs(void)
{
  int n = 0;
  event_t *paired = calloc((size_t)nevents + 1, sizeof *paired);
  for (int i = 0; i < nevents; i++)
    if (strchr("besf", events[i].phase) != NULL)
      paired[n++] = events[i];
  if (n > 0)
    qsort(paired, (size_t)n, sizeof *paired, by_id);
  ck_assert_msg(n % 2 == 0, "%d events that begin or end something", n);
  for (int i = 0; i < n; i += 2) {
    const event_t *first = &paired[i], *second = &paired[i + 1];
    bool pair = (first->phase == 'b' && second->phase == 'e') || (first->phase == 's' && second->phase == 'f');
    ck_assert_msg(pair && strcmp(first->id, second->id) == 0 && strcmp(first->category, second->category) == 0,
                  "%s %s (%c) has not one partner", first->category, first->id, first->phase);
    ck_assert_msg(second->ts >= first->ts, "%s %s ends before it begins", first->category, first->id);
  }
  free(paired);
}

static int by_track(const void *a, const void *b)
{
  const event_t *x = a, *y = b;
  if (x->pid != y->pid)
    return x->pid < y->pid ? -1 : 1;
  if (x->tid != y->tid)
    return x->tid < y->tid ? -1 : 1;
  return x->number - y->number;
}

/* Events of a track stand in the order of time; its slices lie within each other, or apart. */
static void check_slices(const event_t track[], int n)
{
  double ends[MAX_DEPTH], last = 0;
  int depth = 0;
  for (int i = 0; i < n; i++) {
    const event_t *event = &track[i];
    if (event->phase == 'M')
      continue;
    ck_assert_double_ge(event->ts, last);
    last = event->ts;
    if (event->phase != 'X')
      continue;
    while (depth > 0 && ends[depth - 1] <= event->ts + SAME_US)
      depth--;
    ck_assert_msg(depth == 0 || event->ts + event->dur <= ends[depth - 1] + SAME_US, "\"%s\" at %f overlaps",
                  event->name, event->ts);
    ck_assert_int_lt(depth, MAX_DEPTH);
    ends[depth++] = event->ts + event->dur;
  }
}

/* Each end of a flow lies in a slice: one that has begun by then has not ended. */
static void check_flows(const event_t track[], int n)
{
  double end = -1;
  for (int i = 0, slice = 0; i < n; i++) {
    const event_t *flow = &track[i];
    if (flow->phase != 's' && flow->phase != 'f')
      continue;
    for (; slice < n && (track[slice].phase == 'M' || track[slice].ts <= flow->ts + SAME_US); slice++)
      if (track[slice].phase == 'X' && track[slice].ts + track[slice].dur > end)
        end = track[slice].ts + track[slice].dur;
    ck_assert_msg(end >= flow->ts - SAME_US, "flow %s at %f lies in no slice", flow->id, flow->ts);
  }
}

void sftest_trace_check(void)
{
  check_pairs();
  event_t *sorted = calloc((size_t)nevents + 1, sizeof *sorted);
  memcpy(sorted, events, (size_t)nevents * sizeof *sorted);
  qsort(sorted, (size_t)nevents, sizeof *sorted, by_track);
  for (int first = 0, end; first < nevents; first = end) {
    for (end = first; end < nevents && sorted[end].pid == sorted[first].pid && sorted[end].tid == sorted[first].tid;)
      end++;
    check_slices(sorted + first, end - first);
    check_flows(sorted + first, end - first);
  }
  free(sorted);
}
