/* A rank's counters: plain values in a region of its own, written by the rank alone (relaxed stores, no read-modify-
 * write on the hot path) and mapped read-only by sfctl. Values only grow; a reader may see one counter of an operation
 * before another. */
#ifndef SFSHM_COUNTERS_H
#define SFSHM_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "shm/region.h"

/* X(field, text). Every field is a counter since the rank or the graph began. */
#define SFSHM_COUNTER_TABLE(X)                                                                                         \
  X(bcasts, "bcast operations begun")                                                                                  \
  X(reduces, "reduce operations begun")                                                                                \
  X(completed, "operations ended")                                                                                     \
  X(messages_sent, "messages to other ranks of the node")                                                              \
  X(bytes_inline, "payload bytes sent in the line of the flag")                                                        \
  X(bytes_slots, "payload bytes sent through slots")                                                                   \
  X(bytes_in_place, "payload bytes offered in sf_alloc memory, read in place")                                         \
  X(bytes_vm_read, "payload bytes offered in registered memory, read by process_vm_readv")                             \
  X(bytes_self, "payload bytes on edges within the rank")                                                              \
  X(messages_received, "messages from other ranks")                                                                    \
  X(bytes_received, "payload bytes received from other ranks")                                                         \
  X(bytes_to_nodes, "payload bytes packed for other nodes")                                                            \
  X(bytes_from_nodes, "payload bytes of other nodes unpacked")

typedef struct sfshm_counter_set {
#define SFSHM_COUNTER_FIELD(field, text) _Atomic uint64_t field;
  SFSHM_COUNTER_TABLE(SFSHM_COUNTER_FIELD)
#undef SFSHM_COUNTER_FIELD
} sfshm_counter_set_t;

/* Counters of one graph; graph 0: entry free. */
typedef struct sfshm_graph_counters {
  _Atomic uint64_t graph;
  sfshm_counter_set_t counts;
  uint64_t reserved[2];
} sfshm_graph_counters_t;
_Static_assert(sizeof(sfshm_graph_counters_t) == 128, "layout version 1");

#define SFSHM_COUNTED_GRAPHS 255 /* graphs beyond that count only in the rank's totals */

typedef struct sfshm_counters {
  sfshm_region_header_t header;
  sfshm_counter_set_t total;
  _Atomic uint64_t sleeps; /* waits that went to sleep */
  uint64_t reserved[2];
  sfshm_graph_counters_t graphs[SFSHM_COUNTED_GRAPHS];
} sfshm_counters_t;
_Static_assert(sizeof(sfshm_counters_t) == 128 + 128 + 255 * 128, "layout version 1");

/* Adds to a counter of this process: a load and a store, no locked instruction. One writer per counter. */
static inline void sfshm_count(_Atomic uint64_t *counter, uint64_t amount)
{
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount, memory_order_relaxed);
}

#endif
