/* sfctl metrics: all that status, jobs, ranks, graphs and peers show, for a monitoring system. */
#ifndef SFREPORT_METRICS_H
#define SFREPORT_METRICS_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

/* Start with {0}. */
typedef struct sfreport_metrics {
  sfreport_list_t status, jobs, ranks, graphs, peers;
} sfreport_metrics_t;

/* Graphs that are being set up have no number yet: several of them could not be told apart. */
void sfreport_metrics_drop_unnumbered(sfreport_list_t *graphs);
void sfreport_metrics_clear(sfreport_metrics_t *metrics);

/* OpenMetrics text with names that docs/man/sfctl.1 lists. SF_ERR_PROTO: the status is missing; errors of writing stay
 * in the stream. */
sf_status_t sfreport_metrics_print(const sfreport_metrics_t *metrics, FILE *file);

#endif
