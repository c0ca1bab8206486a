/* Collecting the data of commands from the daemon. */
#ifndef SFCTL_COLLECT_H
#define SFCTL_COLLECT_H

#include "proto/report/list.h"
#include "proto/report/metrics.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/print/short_id.h"

/* Queries what, of one job if job is not NULL: of all jobs of that name; or of the job with that id, an id that ends
 * so, or a name that alone begins so. Clear the result. SF_ERR_NOT_FOUND: no such job is visible to this user;
 * SF_ERR_ARG: several ids end so, or several names begin so; errors of sfctl_connect. */
sf_status_t sfctl_collect(sfctl_connection_t *connection, Sfproto__Query__What what, const char *job,
                          sfreport_list_t *list_p);

/* Takes a RankInfo, and the descriptor of the rank's counters or -1. An error ends the query. */
typedef sf_status_t (*sfctl_take_rank_t)(void *context, const Sfproto__Message *message, int counters_fd);

/* Queries ranks, of one job if job is not NULL, and passes each to take. Errors as above. */
sf_status_t sfctl_collect_ranks(sfctl_connection_t *connection, const char *job, sfctl_take_rank_t take, void *context);

/* The graph of a word: its id or the end of it, as sfctl graphs prints. An unknown number is returned as it is.
 * SF_ERR_ARG: several ids end so; others as above. */
sf_status_t sfctl_collect_graph_id(sfctl_connection_t *connection, const char *word, uint64_t *graph_p);

/* The same for jobs; a name must be complete: *job_p is the word if it is a name or unknown, else the id, in number. */
sf_status_t sfctl_collect_job_id(sfctl_connection_t *connection, const char *word, const char **job_p,
                                 char number[SFCTL_ID_SIZE]);

/* Queries the plan of a graph. Clear the result. SF_ERR_NOT_FOUND: no such graph is visible to this user; others as
 * above. */
sf_status_t sfctl_collect_plan(sfctl_connection_t *connection, uint64_t graph, sfreport_list_t *list_p);

/* Queries everything for metrics. Errors of sfctl_collect; then there is nothing to clear. */
sf_status_t sfctl_collect_metrics(sfctl_connection_t *connection, sfreport_metrics_t *metrics_p);

#endif
