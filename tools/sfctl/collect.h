/* Asking for all that a command shows. */
#ifndef SFCTL_COLLECT_H
#define SFCTL_COLLECT_H

#include "proto/report/list.h"
#include "proto/report/metrics.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/print/short_id.h"

/* Asks for what, of one job if job is not NULL: of all jobs of that name, or without any of the one whose number it is,
 * or ends so, or whose name alone begins so. To be cleared by the caller. SF_ERR_NOT_FOUND: there is no such job that
 * this user may see; SF_ERR_ARG: the number is the end of several; others as sfctl_connect. */
sf_status_t sfctl_collect(sfctl_connection_t *connection, Sfproto__Query__What what, const char *job,
                          sfreport_list_t *list_p);

/* Gets a RankInfo, and the descriptor of the rank's counters, or -1. Other than SF_OK ends the query. */
typedef sf_status_t (*sfctl_take_rank_t)(void *context, const Sfproto__Message *message, int counters_fd);

/* Asks for ranks, of one job if job is not NULL, and hands each to take. Errors as above. */
sf_status_t sfctl_collect_ranks(sfctl_connection_t *connection, const char *job, sfctl_take_rank_t take, void *context);

/* Which graph the word means: its number, or the end of it, as sfctl graphs shows it. A number that is unknown here is
 * taken as it is. SF_ERR_ARG: it is the end of several; others as above. */
sf_status_t sfctl_collect_graph_id(sfctl_connection_t *connection, const char *word, uint64_t *graph_p);

/* The same for jobs, whose names have to be whole: *job_p is the word if that is a name, or unknown, else the whole
 * number, written to number. */
sf_status_t sfctl_collect_job_id(sfctl_connection_t *connection, const char *word, const char **job_p,
                                 char number[SFCTL_ID_SIZE]);

/* Asks for the plan of the graph with that number. To be cleared by the caller. SF_ERR_NOT_FOUND: there is no such
 * graph that this user may see; others as above. */
sf_status_t sfctl_collect_plan(sfctl_connection_t *connection, uint64_t graph, sfreport_list_t *list_p);

/* Asks for everything. Errors as sfctl_collect; then there is nothing to clear. */
sf_status_t sfctl_collect_metrics(sfctl_connection_t *connection, sfreport_metrics_t *metrics_p);

#endif
