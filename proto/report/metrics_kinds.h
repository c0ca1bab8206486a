/* Metrics that are fields of info messages (status, jobs, ranks, graphs, arrays, peers). The table of the counters of
 * ranks and graphs is in metrics.c. */
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
  SFREPORT_METRIC_US /* 64 bits, printed as seconds */
} sfreport_metric_value_t;

/* A family of one plain value of a message. */
typedef struct sfreport_metric {
  const char *name; /* after the prefix of the kind */
  sfreport_metric_type_t type;
  const char *unit, *help;
  sfreport_metric_value_t kind;
  size_t offset, known; /* known: flag that the value is present; 0: always */
} sfreport_metric_t;

/* A kind of message. */
typedef struct sfreport_metric_kind {
  const char *prefix;
  const void *(*body)(const Sfproto__Message *message);
  void (*label)(sfreport_openmetrics_t *out, const void *body);
  const char *(*state)(const void *body); /* NULL: no states */
  const char *const *states;              /* known ones, ended by NULL */
  const sfreport_metric_t *fields;
  size_t nfields;
} sfreport_metric_kind_t;

extern const sfreport_metric_kind_t sfreport_metric_daemon, sfreport_metric_job, sfreport_metric_rank,
    sfreport_metric_graph, sfreport_metric_array, sfreport_metric_peer;

/* By kind of traffic with a peer; offsets in Sfproto__PeerTraffic. */
extern const sfreport_metric_t sfreport_metric_traffic[];
extern const size_t sfreport_metric_ntraffic;

#endif
