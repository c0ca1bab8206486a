/* Where a rank counts: its counters region, entries in it for its graphs and their lanes. Entries are given out under
 * the context's lock; what is in them belongs to the thread that uses the graph. */
#ifndef SFC_COUNTERS_H
#define SFC_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "shm/observe/counters.h"
#include "shm/region/region.h"

typedef struct sfc_gone sfc_gone_t;

typedef struct sfc_counters {
  sfshm_region_t region;
  sfshm_counters_t *shared;
  uint64_t graphs_taken[(SFSHM_COUNTED_GRAPHS + 63) / 64]; /* bits */
  uint64_t lanes_taken[SFSHM_COUNTED_LANES / 64];
  uint64_t far_taken[SFSHM_COUNTED_FAR / 64];
  bool trace_failed; /* there was no memory for it */
  sfc_gone_t *gone;  /* entries of other ranks and nodes that outlive graphs */
  int32_t ngone;
} sfc_counters_t;

/* Makes the region. program: its name, cut if need be. */
sf_status_t sfc_counters_open(sfc_counters_t *counters, const char *job, const char *program, int32_t rank,
                              int32_t size);
void sfc_counters_close(sfc_counters_t *counters);

/* The job has begun. */
void sfc_counters_joined(sfc_counters_t *counters, uint64_t job, int32_t node);

/* Finds entries for the graph and its lanes, and sets their counts. Without room, in the region or in memory, lanes
 * count together, and graphs where nobody can see it until they are gone. SF_ERR_NOMEM: there is no memory at all. */
sf_status_t sfc_counters_enter(sfc_counters_t *counters, sf_graph_t *graph);

/* The calling thread enters a call that others have to make, too, and comes back. place may be NULL. Of several threads
 * the last one shows. */
void sfc_counters_block(sfc_counters_t *counters, sfshm_blocked_t in, const char *place);
void sfc_counters_unblock(sfc_counters_t *counters);

/* The rank's trace, made at first use; NULL: there is no memory for it. Any thread. */
sfshm_trace_t *sfc_counters_trace(sfc_counters_t *counters);

/* Adds what the graph has counted to the totals, and frees its entries. */
void sfc_counters_settle(sfc_counters_t *counters, sf_graph_t *graph);

#endif
