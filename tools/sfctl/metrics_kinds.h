/* What each kind of message tells in plain values, for sfctl metrics. */
#ifndef SFCTL_METRICS_KINDS_H
#define SFCTL_METRICS_KINDS_H

#include <stddef.h>

#include "proto/sf_control.pb-c.h"
#include "tools/sfctl/openmetrics.h"

typedef enum sfctl_metric_type { SFCTL_METRIC_GAUGE, SFCTL_METRIC_COUNTER } sfctl_metric_type_t;
typedef enum sfctl_metric_value {
  SFCTL_METRIC_INT32,
  SFCTL_METRIC_INT64,
  SFCTL_METRIC_UINT32,
  SFCTL_METRIC_UINT64,
  SFCTL_METRIC_DOUBLE,
  SFCTL_METRIC_SWITCH
} sfctl_metric_value_t;

/* A family of one plain value of a message. */
typedef struct sfctl_metric {
  const char *name; /* after the prefix of the message */
  sfctl_metric_type_t type;
  const char *unit, *help;
  sfctl_metric_value_t kind;
  size_t offset, known; /* known: of the flag that says whether the value is there; 0: it always is */
} sfctl_metric_t;

/* A kind of message. */
typedef struct sfctl_metric_kind {
  const char *prefix;
  const void *(*body)(const Sfproto__Message *message);
  void (*label)(sfctl_openmetrics_t *out, const void *body);
  const char *(*state)(const void *body); /* NULL: has none */
  const char *const *states;              /* those that are known, NULL at the end */
  const sfctl_metric_t *fields;
  size_t nfields;
} sfctl_metric_kind_t;

extern const sfctl_metric_kind_t sfctl_metric_daemon, sfctl_metric_job, sfctl_metric_rank, sfctl_metric_graph,
    sfctl_metric_peer;

/* Of each kind of traffic with a peer: the offsets are in Sfproto__PeerTraffic. */
extern const sfctl_metric_t sfctl_metric_traffic[];
extern const size_t sfctl_metric_ntraffic;

#endif
