/* Counters region of a rank: shared memory from which tools and the daemon read the rank's counters. It has tables of
 * entries for graphs, lanes, and ranks of other nodes. Entries are allocated under the context's lock. */
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
  bool trace_failed; /* no memory for the trace */
  sfc_gone_t *gone;  /* sums over lanes of destroyed graphs, one per peer */
  int32_t ngone;
} sfc_counters_t;

/* Creates the region. program: its name, truncated if too long. */
sf_status_t sfc_counters_open(sfc_counters_t *counters, const char *job, const char *program, int32_t rank,
                              int32_t size);
void sfc_counters_close(sfc_counters_t *counters);

/* Records job and node, after joining. */
void sfc_counters_joined(sfc_counters_t *counters, uint64_t job, int32_t node);

/* Marks the calling thread blocked in a collective call, and not blocked. place may be NULL. If several threads are
 * blocked, the last one is shown. */
void sfc_counters_block(sfc_counters_t *counters, sfshm_blocked_t in, const char *place);
void sfc_counters_unblock(sfc_counters_t *counters);

/* Returns the rank's trace, created at first use; NULL: no memory. Any thread. */
sfshm_trace_t *sfc_counters_trace(sfc_counters_t *counters);

/* ---- Entries: under the context's lock -------------------------------------------------------------------------- */

/* Takes n consecutive free entries, cleared; NULL: there are none. */
sfshm_graph_counters_t *sfc_counters_take_graph(sfc_counters_t *counters);
sfshm_lane_counters_t *sfc_counters_take_lanes(sfc_counters_t *counters, uint32_t n);
sfshm_far_counters_t *sfc_counters_take_far(sfc_counters_t *counters, uint32_t n);

/* Marks n entries taken, or free. */
void sfc_counters_set_taken(uint64_t bits[], uint32_t first, uint32_t n, bool taken);

/* Brackets a change: the count is odd meanwhile. Sequentially consistent, so that no store of the change moves out. */
static inline void sfc_counters_begin_change(sfshm_counters_t *shared)
{
  atomic_fetch_add_explicit(&shared->changes, 1, memory_order_seq_cst);
}

static inline void sfc_counters_end_change(sfshm_counters_t *shared)
{
  atomic_fetch_add_explicit(&shared->changes, 1, memory_order_seq_cst);
}

/* Copies a call site into an entry; a long path loses its beginning. */
void sfc_counters_copy_call_site(char *to, size_t size, const char *place);

#endif
