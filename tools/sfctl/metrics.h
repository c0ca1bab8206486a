/* sfctl metrics: all that status, jobs, ranks, graphs and peers show, for a monitoring system. */
#ifndef SFCTL_METRICS_H
#define SFCTL_METRICS_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/connection.h"
#include "tools/sfctl/list.h"

/* Start with {0}. */
typedef struct sfctl_metrics {
  sfctl_list_t status, jobs, ranks, graphs, peers;
} sfctl_metrics_t;

/* Asks for everything. Errors as sfctl_collect; then there is nothing to clear. */
sf_status_t sfctl_metrics_collect(sfctl_connection_t *connection, sfctl_metrics_t *metrics_p);
void sfctl_metrics_clear(sfctl_metrics_t *metrics);

/* OpenMetrics text with names that docs/man/sfctl.1 lists. SF_ERR_PROTO: the status is missing; errors of writing stay
 * in the stream. */
sf_status_t sfctl_metrics_print(const sfctl_metrics_t *metrics, FILE *file);

#endif
