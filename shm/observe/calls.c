/* Records and compares the calls of ranks: see calls.h. The thread that uses the graph; the daemon. */
#include "shm/observe/calls.h"

#define NUMBERS_APART (UINT64_C(1) << 20) /* operations; far below what makes numbers in descriptors repeat */

static uint64_t load(const _Atomic uint64_t *word)
{
  return atomic_load_explicit(word, memory_order_relaxed);
}

void sfshm_calls_store_digest(sfshm_graph_counters_t *counts, uint64_t digest, uint64_t sequence)
{
  for (int level = 0; level < SFSHM_CALL_DIGESTS && sequence % sfshm_calls_every(level) == 0; level++) {
    uint64_t number = sequence / sfshm_calls_every(level) & SFSHM_DESC_SEQUENCE_MASK;
    atomic_store_explicit(&counts->digests[level], (digest & ~SFSHM_DESC_SEQUENCE_MASK) | number, memory_order_relaxed);
  }
}

bool sfshm_calls_read(const sfshm_graph_counters_t *counts, uint64_t graph, sfshm_calls_t *calls_p)
{
  sfshm_calls_t calls = {0};
  /* Pairs with the release of the creation of the entry: the words belong to this graph or a later one. */
  if (atomic_load_explicit(&counts->graph, memory_order_acquire) != graph)
    return false;
  for (int kind = 0; kind < SFSHM_KINDS; kind++)
    calls.begun += load(&counts->begun[kind]);
  for (int level = 0; level < SFSHM_CALL_DIGESTS; level++)
    calls.digests[level] = atomic_load_explicit(&counts->digests[level], memory_order_acquire);
  for (int i = 0; i < SFSHM_CALLS; i++)
    calls.last[i] = atomic_load_explicit(&counts->calls[i], memory_order_acquire);
  *calls_p = calls;
  /* An entry is reused only after its number has been cleared, with read-modify-writes between. */
  return load(&counts->graph) == graph;
}

uint64_t sfshm_calls_last(const sfshm_calls_t *calls)
{
  uint64_t last = 0;
  for (int i = 0; i < SFSHM_CALLS; i++)
    if (last == 0 || (calls->last[i] != 0 && sfshm_desc_is_later(calls->last[i], last)))
      last = calls->last[i];
  return last & SFSHM_DESC_MATCH_MASK;
}

uint64_t sfshm_calls_find(const sfshm_calls_t *calls, uint64_t sequence)
{
  for (int i = 0; i < SFSHM_CALLS; i++)
    if (calls->last[i] != 0 && ((calls->last[i] ^ sequence) & SFSHM_DESC_SEQUENCE_MASK) == 0)
      return calls->last[i] & SFSHM_DESC_MATCH_MASK;
  return 0;
}

/* Whether both belong to the same operation and the calls differ. */
static bool differ(uint64_t mine, uint64_t theirs)
{
  return mine != 0 && theirs != 0 && mine != theirs && ((mine ^ theirs) & SFSHM_DESC_SEQUENCE_MASK) == 0;
}

/* The first of the last operations that differs, or -1. */
static int first_difference(const sfshm_calls_t *mine, const sfshm_calls_t *theirs)
{
  int first = -1;
  for (int i = 0; i < SFSHM_CALLS; i++) {
    bool earlier = first < 0 || ((mine->last[first] - mine->last[i]) & SFSHM_DESC_SEQUENCE_MASK) < SFSHM_CALLS;
    if (earlier && differ(mine->last[i] & SFSHM_DESC_MATCH_MASK, theirs->last[i] & SFSHM_DESC_MATCH_MASK))
      first = i;
  }
  return first;
}

static bool digests_differ(const sfshm_calls_t *mine, const sfshm_calls_t *theirs)
{
  for (int level = 0; level < SFSHM_CALL_DIGESTS; level++)
    if (differ(mine->digests[level], theirs->digests[level]))
      return true;
  return false;
}

sfshm_calls_order_t sfshm_calls_compare(const sfshm_calls_t *mine, const sfshm_calls_t *theirs, uint64_t *mine_p,
                                        uint64_t *theirs_p)
{
  if (mine->begun - theirs->begun + NUMBERS_APART > 2 * NUMBERS_APART)
    return SFSHM_CALLS_ALIKE;
  int first = first_difference(mine, theirs);
  if (first >= 0) {
    *mine_p = mine->last[first] & SFSHM_DESC_MATCH_MASK;
    *theirs_p = theirs->last[first] & SFSHM_DESC_MATCH_MASK;
    return SFSHM_CALLS_DIFFER;
  }
  if (!digests_differ(mine, theirs))
    return SFSHM_CALLS_ALIKE;
  *mine_p = sfshm_calls_last(mine);
  *theirs_p = sfshm_calls_last(theirs);
  return SFSHM_CALLS_DIFFERED;
}
