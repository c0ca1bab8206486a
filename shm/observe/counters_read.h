/* Reading a rank's counters region: a copy in private memory, checked, so that what the rank does meanwhile, or however
 * wrong it is, harms nobody. Needs nothing but the region. */
#ifndef SFSHM_COUNTERS_READ_H
#define SFSHM_COUNTERS_READ_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/observe/counters.h"

/* Copies what is in use; free it with sfshm_counters_free. In the copy graphs_used, lanes_used and far_used are
 * within the tables, entries of a graph within these, and texts printable and ended by a 0. The trace is not in it. A
 * wait that lasts is in waited_ns up to now, shared by the lanes that are awaited.
 * Everything else is as the rank wrote it: numbers that may mean nothing. *torn_p: entries were being made or freed all
 * the time, so that one may be missing or there twice; a rank that was stopped or died in the middle of that. The
 * descriptor stays the caller's. SF_ERR_PROTO: not a region of counters; SF_ERR_VERSION: of another layout;
 * SF_ERR_NOMEM, SF_ERR_SYS. */
sf_status_t sfshm_counters_copy(int fd, sfshm_counters_t **copy_p, bool *torn_p);
void sfshm_counters_free(sfshm_counters_t *copy);

/* How long the rank has waited on any of its graphs, spinning not included, or been in a call that others have to make,
 * too; 0: neither. Without a copy: cheap. Errors as above. */
sf_status_t sfshm_counters_longest_wait(int fd, uint64_t *wait_ns_p);

/* The same of counters, at that time; of a copy it is copied_ns. */
uint64_t sfshm_counters_rank_wait(const sfshm_counters_t *counters, uint64_t now_ns);
uint64_t sfshm_counters_graph_wait(const sfshm_graph_counters_t *graph, uint64_t now_ns);

/* Of the copy. All that the rank has counted for one of its graphs, its lanes included; added to *sum. */
void sfshm_counters_sum_graph(const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph,
                              sfshm_counter_set_t *sum);

/* The same for the rank: all graphs, and those that are gone. */
void sfshm_counters_sum_all(const sfshm_counters_t *copy, sfshm_counter_set_t *sum);

/* The graph of that number, or NULL. */
const sfshm_graph_counters_t *sfshm_counters_find_graph(const sfshm_counters_t *copy, uint64_t graph);

#endif
