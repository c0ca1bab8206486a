/* sfctl trace: events of ranks and daemons, as a file for Perfetto and chrome://tracing. */
#ifndef SFCTL_TRACE_TRACE_H
#define SFCTL_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"
#include "shm/observe/trace.h"
#include "tools/sfctl/options.h"

/* Source of events: a rank, or a daemon (rank -1). */
typedef struct sfctl_source {
  uint64_t job_id;
  int32_t rank, node, pid;
  char *job, *program;
  uint64_t now_ns; /* time of reading, on its node's clock */
  uint64_t lost;   /* overwritten events */
  sfshm_trace_record_t *records;
  size_t nrecords, capacity;
} sfctl_source_t;

/* Offset of a node's clock from the queried node's. */
typedef struct sfctl_clock {
  int32_t node;
  int64_t offset_ns;
  int64_t error_ns; /* at most, if both ways take equally long */
} sfctl_clock_t;

/* Call site of a graph. */
typedef struct sfctl_made {
  uint64_t graph;
  char *place;
} sfctl_made_t;

/* Start with {0}. */
typedef struct sfctl_trace {
  sfctl_source_t *sources;
  size_t nsources;
  sfctl_clock_t *clocks;
  size_t nclocks;
  sfctl_made_t *made; /* by graph */
  size_t nmade;
} sfctl_trace_t;

/* SF_ERR_ARG: the first of options->words is not start, stop or dump, or options don't go with it. */
sf_status_t sfctl_trace_check(const sfctl_options_t *options);

/* trace start, stop, dump, once checked. */
sf_status_t sfctl_trace(const sfctl_options_t *options, FILE *file);

/* ---- Putting together: pure functions ---------------------------------------------------------------------------- */

/* Adds a message. SF_ERR_PROTO: malformed events. SF_ERR_NOMEM. */
sf_status_t sfctl_trace_add(sfctl_trace_t *trace, const Sfproto__TraceInfo *info);
sf_status_t sfctl_trace_add_clock(sfctl_trace_t *trace, const sfctl_clock_t *clock);
void sfctl_trace_clear(sfctl_trace_t *trace);

/* Time on the clock of the queried node. */
uint64_t sfctl_trace_time(const sfctl_trace_t *trace, int32_t node, uint64_t ns);
const char *sfctl_trace_place(const sfctl_trace_t *trace, uint64_t graph); /* "": not known */

/* Moves clocks as little as needed, so that no message between a node and the queried one arrives before it departs. */
void sfctl_trace_adjust_clocks(sfctl_trace_t *trace, int32_t asked);

/* An arrow from one event to another. */
typedef struct sfctl_end {
  uint32_t source; /* number of it */
  const sfshm_trace_record_t *record;
} sfctl_end_t;

typedef struct sfctl_flow {
  sfctl_end_t from, to;
} sfctl_flow_t;

/* Finds the flows: rank to rank; rank to daemon, daemon to daemon, daemon to rank; and frames. Each has both ends. Free
 * *flows_p. SF_ERR_NOMEM. */
sf_status_t sfctl_trace_flows(const sfctl_trace_t *trace, sfctl_flow_t **flows_p, size_t *nflows_p);

/* Writes Trace Event JSON in order of time. SF_ERR_NOMEM. */
sf_status_t sfctl_trace_print(const sfctl_trace_t *trace, FILE *file);

#endif
