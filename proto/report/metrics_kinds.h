/* What each kind of message tells in plain values, for sfctl metrics. */
#ifndef SFREPORT_METRICS_KINDS_H
#define SFREPORT_METRICS_KINDS_H

#include <stddef.h>

#include "proto/report/openmetrics.h"
#include "proto/sf_control.pb-c.h"

typedef enum sfreport_metric_type { SFREPORT_METRIC_GAUGE, SFREPORT_METRIC_COUNTER } sfreport_metric_type_t;
typedef enum sfreport_metric_value {
  SFREPORT_METRIC_INT32,
  SFREPORT_METRIC_INT64,
  SFREPORT_METRIC_UINT32,
  SFREPORT_METRIC_UINT64,
  SFREPORT_METRIC_DOUBLE,
  SFREPORT_METRIC_SWITCH,
  SFREPORT_METRIC_US /* 64 bits, told as seconds */
} sfreport_metric_value_t;

/* A family of one plain value of a message. */
typedef struct sfreport_metric {
  const char *name; /* after the prefix of the message */
  sfreport_metric_type_t type;
  const char *unit, *help;
  sfreport_metric_value_t kind;
  size_t offset, known; /* known: of the flag that says whether the value is there; 0: it always is */
} sfreport_metric_t;

/* A kind of message. */
typedef struct sfreport_metric_kind {
  const char *prefix;
  const void *(*body)(const Sfproto__Message *message);
  void (*label)(sfreport_openmetrics_t *out, const void *body);
  const char *(*state)(const void *body); /* NULL: has none */
  const char *const *states;              /* those that are known, NULL at the end */
  const sfreport_metric_t *fields;
  size_t nfields;
} sfreport_metric_kind_t;

extern const sfreport_metric_kind_t sfreport_metric_daemon, sfreport_metric_job, sfreport_metric_rank,
    sfreport_metric_graph, sfreport_metric_peer;

/* Of each kind of traffic with a peer: the offsets are in Sfproto__PeerTraffic. */
extern const sfreport_metric_t sfreport_metric_traffic[];
extern const size_t sfreport_metric_ntraffic;

#endif
