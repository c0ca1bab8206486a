/* Comparison of collective calls. A rank keeps in its counters the descriptors of its last few operations on a graph,
 * and digests of all operations at intervals, so that others can compare them with their own. Each word contains the
 * number of its operation, so words may be written and read in any order. The rank writes whole words; the daemon
 * reads. */
#ifndef SFSHM_OBSERVE_CALLS_H
#define SFSHM_OBSERVE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/lane/message.h"
#include "shm/observe/counters.h"

/* Digests are kept at several levels: the last one after a multiple of 32, 512, 8192, 2^17 and 2^21 operations. So
 * ranks that are many operations apart have a digest in common as well. */
static inline uint64_t sfshm_calls_every(int level)
{
  return UINT64_C(32) << 4 * level;
}

/* Returns the digest of all operations up to one, from the digest before it and its descriptor. */
static inline uint64_t sfshm_calls_digest(uint64_t before, uint64_t match)
{
  uint64_t digest = (before ^ match) * UINT64_C(0x9e3779b97f4a7c15);
  return digest ^ digest >> 29;
}

/* Stores a digest: its highest 40 bits, and the number of the operation divided by the interval of the level. */
void sfshm_calls_store_digest(sfshm_graph_counters_t *counts, uint64_t digest, uint64_t sequence);

/* Records an operation that begins. match is its descriptor; the caller keeps *digest, initially 0. */
static inline void sfshm_calls_note(sfshm_graph_counters_t *counts, uint64_t *digest, uint64_t sequence, uint64_t match)
{
  *digest = sfshm_calls_digest(*digest, match);
  atomic_store_explicit(&counts->calls[sequence % SFSHM_CALLS], match, memory_order_relaxed);
  if (sequence % sfshm_calls_every(0) == 0)
    sfshm_calls_store_digest(counts, *digest, sequence);
}

/* A copy of the words of a graph. */
typedef struct sfshm_calls {
  uint64_t begun; /* operations */
  uint64_t digests[SFSHM_CALL_DIGESTS];
  uint64_t last[SFSHM_CALLS];
} sfshm_calls_t;

/* Reads the words of a graph. Returns false if the entry does not, or no longer, belong to the graph. */
bool sfshm_calls_read(const sfshm_graph_counters_t *counts, uint64_t graph, sfshm_calls_t *calls_p);

/* Returns the last known descriptor; 0: none. */
uint64_t sfshm_calls_last(const sfshm_calls_t *calls);

/* Returns the descriptor of an operation; 0 if it is not among the last ones. */
uint64_t sfshm_calls_find(const sfshm_calls_t *calls, uint64_t sequence);

typedef enum sfshm_calls_order {
  SFSHM_CALLS_ALIKE,   /* equal as far as both can be compared */
  SFSHM_CALLS_DIFFER,  /* *mine_p and *theirs_p: the first of the last operations that differs */
  SFSHM_CALLS_DIFFERED /* an earlier operation differs; *mine_p and *theirs_p: the last descriptors */
} sfshm_calls_order_t;

sfshm_calls_order_t sfshm_calls_compare(const sfshm_calls_t *mine, const sfshm_calls_t *theirs, uint64_t *mine_p,
                                        uint64_t *theirs_p);

#endif
