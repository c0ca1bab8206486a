/* Reading a rank's counters region: a checked copy in private memory. Whatever the rank writes meanwhile, or however
 * wrong it is, cannot harm the reader. Needs only the region. */
#ifndef SFSHM_OBSERVE_COUNTERS_READ_H
#define SFSHM_OBSERVE_COUNTERS_READ_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/observe/counters.h"

/* Copies the entries in use; free the copy with sfshm_counters_free. In the copy, graphs_used, lanes_used and far_used
 * are within the tables, a graph's entries are within these, and texts are printable and terminated. The trace is not
 * copied. A wait in progress is included in waited_ns up to now, divided among the awaited lanes. All other numbers are
 * as the rank wrote them and may be meaningless. *torn_p: entries were being created or freed during the whole copy, so
 * one may be missing or duplicated; or the rank was stopped or died while doing so. The descriptor stays the caller's.
 * SF_ERR_PROTO: not a region of counters. SF_ERR_VERSION: another layout. SF_ERR_NOMEM, SF_ERR_SYS. */
sf_status_t sfshm_counters_copy(int fd, sfshm_counters_t **copy_p, bool *torn_p);
void sfshm_counters_free(sfshm_counters_t *copy);

/* Returns how long the rank has waited on any of its graphs, spinning not included, or been in a collective call; 0:
 * neither. Needs no copy and is cheap. Errors as above. */
sf_status_t sfshm_counters_longest_wait(int fd, uint64_t *wait_ns_p);

/* The same from counters, at the given time; for a copy use copied_ns. */
uint64_t sfshm_counters_rank_wait(const sfshm_counters_t *counters, uint64_t now_ns);
uint64_t sfshm_counters_graph_wait(const sfshm_graph_counters_t *graph, uint64_t now_ns);

/* Adds to *sum all counters of one graph in the copy, its lanes included. */
void sfshm_counters_sum_graph(const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph,
                              sfshm_counter_set_t *sum);

/* Adds to *sum all counters of the rank: all graphs, also those destroyed. */
void sfshm_counters_sum_all(const sfshm_counters_t *copy, sfshm_counter_set_t *sum);

/* Returns the graph with that number, or NULL. */
const sfshm_graph_counters_t *sfshm_counters_find_graph(const sfshm_counters_t *copy, uint64_t graph);

#endif
