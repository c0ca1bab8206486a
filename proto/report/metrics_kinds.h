/* Metrics that are one value each, as tables: fields of info messages (status, jobs, ranks, graphs, arrays, peers), and
 * counters of ranks and graphs. */
#ifndef SFREPORT_METRICS_KINDS_H
#define SFREPORT_METRICS_KINDS_H

#include <stddef.h>

#include "proto/report/list.h"

typedef enum sfreport_metric_type {
  SFREPORT_METRIC_INT32, /* also booleans */
  SFREPORT_METRIC_INT64,
  SFREPORT_METRIC_UINT32,
  SFREPORT_METRIC_UINT64,
  SFREPORT_METRIC_DOUBLE,
  SFREPORT_METRIC_TEXT,
  SFREPORT_METRIC_US, /* 64 bits, printed as seconds */
  SFREPORT_METRIC_NS
} sfreport_metric_type_t;

/* Where a value is. known: an int that is 0 if the value is not present; 0: always present */
typedef struct sfreport_metric_field {
  size_t offset, known;
  sfreport_metric_type_t type;
} sfreport_metric_field_t;

typedef struct sfreport_metric_label {
  const char *name;
  sfreport_metric_field_t field;
} sfreport_metric_label_t;

/* A family of one value. Consecutive rows of one name differ in the way. */
typedef struct sfreport_metric {
  const char *name; /* after the prefix of the kind */
  const char *type, *help;
  sfreport_metric_field_t field;
  const char *way; /* label; NULL: none */
} sfreport_metric_t;

typedef struct sfreport_metric_table {
  const sfreport_metric_t *rows;
  size_t n;
} sfreport_metric_table_t;

#define SFREPORT_METRIC_LABELS 3

/* A kind of message. Tables of labels are filled from the start. */
typedef struct sfreport_metric_kind {
  const char *prefix;
  sfreport_metric_label_t labels[SFREPORT_METRIC_LABELS]; /* which tell objects apart */
  const char *info, *info_help;                           /* family of texts about the object; NULL: none */
  sfreport_metric_label_t info_labels[SFREPORT_METRIC_LABELS];
  size_t state;                    /* offset of the state's name, if there are states */
  const char *const *states;       /* known ones, ended by NULL; NULL: no states */
  sfreport_metric_table_t fields;  /* of the message */
  sfreport_metric_table_t counted; /* of sfreport_item_t, after sfreport_metric_counts */
} sfreport_metric_kind_t;

extern const sfreport_metric_kind_t sfreport_metric_daemon, sfreport_metric_job, sfreport_metric_rank,
    sfreport_metric_graph, sfreport_metric_array, sfreport_metric_peer;

/* Counters of ranks and graphs, in sfreport_item_t. */
extern const sfreport_metric_table_t sfreport_metric_counts;

/* By kind of traffic with a peer, in Sfproto__PeerTraffic. */
extern const sfreport_metric_table_t sfreport_metric_traffic;

#endif
