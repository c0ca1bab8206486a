/* What a rank has called on a graph, kept in the graph's counters so that others can compare it with what they called:
 * the last few operations one by one, and a digest of all of them now and then. Each word says by itself of which
 * operation it is, so they are written and read in any order. The rank writes, in whole words; the daemon reads. */
#ifndef SFSHM_CALLS_H
#define SFSHM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/lane/message.h"
#include "shm/observe/counters.h"

/* Digests are kept at several levels: the last one after a multiple of 32 operations, of 512, 8192, 2^17, 2^21. So
 * ranks that are far from each other have one in common, too, before long. */
static inline uint64_t sfshm_calls_every(int level)
{
  return UINT64_C(32) << 4 * level;
}

/* The digest of all operations up to one, from that of all before and its descriptor. */
static inline uint64_t sfshm_calls_digest(uint64_t before, uint64_t match)
{
  uint64_t digest = (before ^ match) * UINT64_C(0x9e3779b97f4a7c15);
  return digest ^ digest >> 29;
}

/* Stores it: the highest 40 bits, and the number of the operation divided by how far they are apart at the level. */
void sfshm_calls_store_digest(sfshm_graph_counters_t *counts, uint64_t digest, uint64_t sequence);

/* Notes an operation that begins; match is its descriptor, *digest is kept by the caller, from 0. */
static inline void sfshm_calls_note(sfshm_graph_counters_t *counts, uint64_t *digest, uint64_t sequence, uint64_t match)
{
  *digest = sfshm_calls_digest(*digest, match);
  atomic_store_explicit(&counts->calls[sequence % SFSHM_CALLS], match, memory_order_relaxed);
  if (sequence % sfshm_calls_every(0) == 0)
    sfshm_calls_store_digest(counts, *digest, sequence);
}

/* A copy. */
typedef struct sfshm_calls {
  uint64_t begun; /* operations */
  uint64_t digests[SFSHM_CALL_DIGESTS];
  uint64_t last[SFSHM_CALLS];
} sfshm_calls_t;

/* Of that graph; false if the entry is not, or not any more, the graph's. */
bool sfshm_calls_read(const sfshm_graph_counters_t *counts, uint64_t graph, sfshm_calls_t *calls_p);

/* The descriptor of the last operation of which something is known; 0: of none. */
uint64_t sfshm_calls_last(const sfshm_calls_t *calls);

/* The descriptor of that operation; 0 if it is not among the last ones. */
uint64_t sfshm_calls_find(const sfshm_calls_t *calls, uint64_t sequence);

typedef enum sfshm_calls_order {
  SFSHM_CALLS_ALIKE,   /* as far as both have come, and can be compared */
  SFSHM_CALLS_DIFFER,  /* *mine_p and *theirs_p: in the first of the last operations that does */
  SFSHM_CALLS_DIFFERED /* in an earlier one; *mine_p and *theirs_p: the last descriptors of both */
} sfshm_calls_order_t;

sfshm_calls_order_t sfshm_calls_compare(const sfshm_calls_t *mine, const sfshm_calls_t *theirs, uint64_t *mine_p,
                                        uint64_t *theirs_p);

#endif
