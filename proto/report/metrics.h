/* Metrics: all that status, jobs, ranks, graphs, arrays and peers show, for monitoring systems. */
#ifndef SFREPORT_METRICS_H
#define SFREPORT_METRICS_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

/* Start with {0}. */
typedef struct sfreport_metrics {
  sfreport_list_t status, jobs, ranks, graphs, arrays, peers;
} sfreport_metrics_t;

void sfreport_metrics_clear(sfreport_metrics_t *metrics);

/* Prints OpenMetrics text; docs/man/sfctl.1 lists the names. SF_ERR_PROTO: no status; write errors stay in the stream.
 * */
sf_status_t sfreport_metrics_print(const sfreport_metrics_t *metrics, FILE *file);

#endif
