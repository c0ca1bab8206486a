/* The counters region of a rank: shared memory, from which tools and the daemon read what the rank counts. It has
 * tables of entries for graphs, their lanes, and ranks of other nodes. Entries are given out under the context's lock.
 */
#ifndef SFC_CORE_COUNTERS_REGION_H
#define SFC_CORE_COUNTERS_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

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

/* The calling thread enters a call that others have to make, too, and comes back. place may be NULL. Of several threads
 * the last one shows. */
void sfc_counters_block(sfc_counters_t *counters, sfshm_blocked_t in, const char *place);
void sfc_counters_unblock(sfc_counters_t *counters);

/* The rank's trace, made at first use; NULL: there is no memory for it. Any thread. */
sfshm_trace_t *sfc_counters_trace(sfc_counters_t *counters);

/* ---- Entries: under the context's lock -------------------------------------------------------------------------- */

/* Free entries, n of them one behind the other, cleared; NULL: there is no room. */
sfshm_graph_counters_t *sfc_counters_take_graph(sfc_counters_t *counters);
sfshm_lane_counters_t *sfc_counters_take_lanes(sfc_counters_t *counters, uint32_t n);
sfshm_far_counters_t *sfc_counters_take_far(sfc_counters_t *counters, uint32_t n);

/* Marks n entries of a table taken, or free. */
void sfc_counters_set_taken(uint64_t bits[], uint32_t first, uint32_t n, bool taken);

/* Sequentially consistent: what is changed is stored neither before the count is odd nor after it is even again. */
static inline void sfc_counters_begin_change(sfshm_counters_t *shared)
{
  atomic_fetch_add_explicit(&shared->changes, 1, memory_order_seq_cst);
}

static inline void sfc_counters_end_change(sfshm_counters_t *shared)
{
  atomic_fetch_add_explicit(&shared->changes, 1, memory_order_seq_cst);
}

/* Copies the call site into an entry. The end of a long path says more than its beginning. */
void sfc_counters_copy_call_site(char *to, size_t size, const char *place);

#endif
