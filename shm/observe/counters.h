/* A rank's counters and current state: a region written by the rank alone (relaxed stores, no read-modify-write on the
 * hot path) and mapped read-only by readers. The region identifies its rank, so it can be read without the daemon.
 * Counters only grow; a reader may see one counter of an operation before another. docs/shm-protocol.md describes how
 * to read it; shm/observe/counters_read.h does so. */
#ifndef SFSHM_OBSERVE_COUNTERS_H
#define SFSHM_OBSERVE_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/observe/trace.h"
#include "shm/region/region.h"

/* X(field, text). Counters of a rank or a graph: sums over its lanes, and counters that belong to no lane. */
#define SFSHM_COUNTER_TABLE(X)                                                                                         \
  X(bcasts, "bcast operations begun")                                                                                  \
  X(reduces, "reduce operations begun")                                                                                \
  X(gathers, "gather operations begun")                                                                                \
  X(scatters, "scatter operations begun")                                                                              \
  X(fetch_ops, "fetch_op operations begun")                                                                            \
  X(exchanges, "exchange operations begun")                                                                            \
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
  X(bytes_from_nodes, "payload bytes of other nodes unpacked")                                                         \
  X(bytes_saved, "payload bytes not carried, as leaves of a rank share a root")                                        \
  X(node_messages_sent, "messages to other nodes that the rank was the last to fill")                                  \
  X(node_bytes_sent, "payload bytes of these")                                                                         \
  X(node_values_sent, "values in these")                                                                               \
  X(node_messages_received, "messages of other nodes that the rank was the last to read")                              \
  X(node_bytes_received, "payload bytes of these")                                                                     \
  X(node_values_received, "values in these")                                                                           \
  X(values_wanted, "values of leaves whose roots other ranks own, in operations begun")                                \
  X(values_carried, "values that travel for these, one for each root that the rank wants")                             \
  X(waits, "waits that were longer than spinning")                                                                     \
  X(waited_ns, "time in these, spinning not included")                                                                 \
  X(waited_nodes_ns, "of this, time in which messages of other nodes were missing")                                    \
  X(samples, "operations of which the time was taken")                                                                 \
  X(pack_ns, "time in which these packed and sent")                                                                    \
  X(unpack_ns, "time in which these unpacked")

typedef struct sfshm_counter_set {
#define SFSHM_COUNTER_FIELD(field, text) _Atomic uint64_t field;
  SFSHM_COUNTER_TABLE(SFSHM_COUNTER_FIELD)
#undef SFSHM_COUNTER_FIELD
} sfshm_counter_set_t;

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

typedef enum sfshm_peer_kind {
  SFSHM_PEER_NONE = 0, /* entry free */
  SFSHM_PEER_RANK = 1, /* another rank of the node */
  SFSHM_PEER_NODE = 2, /* another node: all its ranks */
} sfshm_peer_kind_t;

/* X(field). For a node, bytes_slots and bytes_received count what this rank packed and unpacked. */
#define SFSHM_LANE_COUNTER_TABLE(X)                                                                                    \
  X(messages_sent)                                                                                                     \
  X(bytes_inline)                                                                                                      \
  X(messages_received)                                                                                                 \
  X(bytes_received)                                                                                                    \
  X(bytes_slots)                                                                                                       \
  X(bytes_in_place)                                                                                                    \
  X(bytes_vm_read)                                                                                                     \
  X(bytes_saved)                                                                                                       \
  X(node_messages_sent)                                                                                                \
  X(node_bytes_sent)                                                                                                   \
  X(node_values_sent)                                                                                                  \
  X(node_messages_received)                                                                                            \
  X(node_bytes_received)                                                                                               \
  X(node_values_received)                                                                                              \
  X(values_wanted)                                                                                                     \
  X(values_carried)                                                                                                    \
  X(waits)                                                                                                             \
  X(waited_ns)

#define SFSHM_AWAITS_MESSAGE 1u /* the rank waits for a message of the lane */
#define SFSHM_AWAITS_READER 2u  /* the rank waits for a free slot, or until its message has been read */

/* Memory of the message slots of operations on streams. */
typedef enum sfshm_stream_slots {
  SFSHM_STREAM_SLOTS_NONE = 0, /* no operation on a stream yet */
  SFSHM_STREAM_SLOTS_PINNED = 1,
  SFSHM_STREAM_SLOTS_ON_DEVICE = 2, /* the reader's device, which is also the writer's */
  SFSHM_STREAM_SLOTS_ON_PEER = 3,   /* the reader's device, another than the writer's */
} sfshm_stream_slots_t;

/* Traffic between the rank and one other rank or node on one graph. */
typedef struct sfshm_lane_counters {
  _Atomic uint32_t kind; /* sfshm_peer_kind_t */
  int32_t peer;          /* rank in the job, or node; -1: several peers without entries of their own */
#define SFSHM_LANE_COUNTER_FIELD(field) _Atomic uint64_t field;
  SFSHM_LANE_COUNTER_TABLE(SFSHM_LANE_COUNTER_FIELD)
#undef SFSHM_LANE_COUNTER_FIELD
  uint64_t graph;            /* 0: all destroyed graphs */
  uint64_t leaf_edges;       /* edges from roots of the peer to leaves here; constant, as are the next two */
  uint64_t leaf_values;      /* values that a bcast moves for these */
  uint64_t reduce_values;    /* values that a reduce moves for these */
  _Atomic uint32_t awaiting; /* SFSHM_AWAITS_*, while the graph's wait_since_ns is not 0 */
  _Atomic uint32_t streams;  /* sfshm_stream_slots_t: slots for messages of operations on streams to the rank */
  uint64_t reserved2[8];
} sfshm_lane_counters_t;
_Static_assert(sizeof(sfshm_lane_counters_t) == 256, "layout version 2");

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* Kinds of operations, as called. The lowest bit is the direction of the messages, as in sfshm_operation_t. A fetch_op
 * counts as two operations; the second is the call's. */
typedef enum sfshm_kind {
  SFSHM_KIND_BCAST = 0,
  SFSHM_KIND_REDUCE = 1,
  SFSHM_KIND_SCATTER = 2,
  SFSHM_KIND_GATHER = 3,
  SFSHM_KIND_FETCH_BACK = 4,
  SFSHM_KIND_FETCH_OP = 5,
  SFSHM_KIND_EXCHANGE = 6,
} sfshm_kind_t;
#define SFSHM_KINDS 7
#define SFSHM_LATENCY_BUCKETS 32 /* bucket b: 2^b ns to below 2^(b+1); the first and the last one are open */
#define SFSHM_SAMPLED_EVERY 64   /* about one in so many operations of a graph is timed */
#define SFSHM_PLACE_BYTES 96
#define SFSHM_CALLS 4 /* last operations recorded: see calls.h */
#define SFSHM_CALL_DIGESTS 5

typedef struct sfshm_graph_counters {
  _Atomic uint64_t graph; /* its number; 0: entry free */
  _Atomic uint64_t begun[SFSHM_KINDS];
  _Atomic uint64_t ended[SFSHM_KINDS];
  _Atomic uint64_t bytes_self;
  uint64_t created_ns; /* CLOCK_MONOTONIC; constant, as are the next ones */
  int32_t rank;        /* in the group */
  int32_t size;        /* of the group */
  uint32_t
      first_lane; /* first of its nlanes consecutive lane entries, by peer; nlanes 0: its lanes, if any, are in rest */
  uint32_t nlanes;
  int64_t nroots;
  int64_t nleaves;
  char place[SFSHM_PLACE_BYTES]; /* call site "file:line" of its creation; "": unknown */

  /* Wait in progress, after spinning. since_ns is cleared first and stored last. */
  _Atomic uint64_t wait_since_ns; /* CLOCK_MONOTONIC; 0: no wait */
  _Atomic uint64_t wait_sequence; /* number of the awaited operation, from 1 */
  _Atomic uint64_t wait_desc;     /* descriptor of the awaited operation: shm/lane/message.h */

  _Atomic uint64_t samples;
  _Atomic uint64_t pack_ns;
  _Atomic uint64_t unpack_ns;
  uint64_t made;                                                /* number of the entry's present or last graph */
  _Atomic uint64_t multi_of;                                    /* the graph whose multi-graph it is; 0: none */
  _Atomic uint64_t calls[SFSHM_CALLS];                          /* descriptor of operation s at s % SFSHM_CALLS */
  _Atomic uint64_t digests[SFSHM_CALL_DIGESTS];                 /* by level: see calls.h */
  _Atomic uint64_t latency_ns[SFSHM_KINDS];                     /* sampled operations from begin to end: sum, */
  _Atomic uint32_t latency[SFSHM_KINDS][SFSHM_LATENCY_BUCKETS]; /* and histogram */
  _Atomic uint64_t unit_bytes[2]; /* sizes of units, added up over the operations begun, by direction: of graphs with
                                     edges to other nodes */
  uint32_t first_far; /* first of its nfar entries for ranks of other nodes; nfar 0: none, or the table is full */
  uint32_t nfar;

  /* Time up to which waits have been added to the waited_ns of the awaited lanes, CLOCK_MONOTONIC. 0: the rank does not
   * sleep. SFSHM_CHARGING: the rank is adding to waited_ns. */
  _Atomic uint64_t asleep_since_ns;

  /* Edges, constant. */
  uint64_t self_edges; /* within the rank */
  uint64_t root_edges; /* from roots here to leaves on any rank; combined contributions of a node count once */
  int64_t top_root;    /* the root with the most leaves here */
  uint64_t top_leaves; /* number of these leaves; 0: no leaves, or not determined */
  int32_t top_rank;    /* job rank that owns top_root */
  uint32_t reserved[13];
  sfshm_lane_counters_t rest[2]; /* lanes without their own entries: to ranks, to nodes */
} sfshm_graph_counters_t;
_Static_assert(sizeof(sfshm_graph_counters_t) == 1984, "layout version 22");

#define SFSHM_CHARGING UINT64_C(1) /* not a time */

/* ---- Ranks of other nodes ---------------------------------------------------------------------------------------- */

/* Traffic between leaves here and roots of a rank on another node. The trunk of the node carries it, so nothing is
 * counted per message: readers compute it from the operations of the graph. */
typedef struct sfshm_far_counters {
  _Atomic uint32_t taken;      /* 0: entry free */
  int32_t rank;                /* in the job */
  uint64_t values;             /* units that a bcast moves from there; constant, as are the next two */
  uint64_t reduce_values;      /* units that a reduce moves there */
  uint64_t graph;              /* 0: all destroyed graphs */
  _Atomic uint64_t bytes_from; /* payload of these */
  _Atomic uint64_t bytes_to;
} sfshm_far_counters_t;
_Static_assert(sizeof(sfshm_far_counters_t) == 48, "layout version 4");

/* ---- The whole --------------------------------------------------------------------------------------------------- */

typedef enum sfshm_blocked {
  SFSHM_BLOCKED_IN_GROUP = 1,
  SFSHM_BLOCKED_IN_GRAPH = 2,
  SFSHM_BLOCKED_IN_INIT = 3,
} sfshm_blocked_t;

#define SFSHM_COUNTED_GRAPHS 255 /* further graphs count only in the rank's totals, when destroyed */
#define SFSHM_COUNTED_LANES 4096
#define SFSHM_COUNTED_FAR 8192

typedef struct sfshm_counters {
  sfshm_region_header_t header;
  _Atomic uint32_t changes;     /* odd while entries are created or freed */
  int32_t rank;                 /* in the job */
  int32_t size;                 /* of the job */
  int32_t node;                 /* number of this node; valid if job is not 0 */
  _Atomic uint64_t job;         /* number of the job; 0: not joined yet */
  _Atomic uint64_t sleeps;      /* waits that went to sleep */
  _Atomic uint32_t graphs_used; /* further entries, and their pages, have never been used */
  _Atomic uint32_t lanes_used;
  char job_name[256];
  char program[64];
  _Atomic uint32_t traced;
  _Atomic uint32_t far_used;
  uint64_t copied_ns; /* in copies: time of the copy, CLOCK_MONOTONIC of its node; else 0 */
  uint8_t reserved[8];
  sfshm_counter_set_t total;         /* sums of destroyed graphs */
  _Atomic uint64_t blocked_since_ns; /* begin of a blocking collective call, CLOCK_MONOTONIC; 0: none */
  _Atomic uint32_t blocked_in;       /* sfshm_blocked_t */
  uint32_t reserved1;
  char blocked_place[SFSHM_PLACE_BYTES]; /* call site of that call; "": unknown */
  _Alignas(4096) sfshm_graph_counters_t graphs[SFSHM_COUNTED_GRAPHS];
  _Alignas(4096) sfshm_lane_counters_t lanes[SFSHM_COUNTED_LANES];
  _Alignas(4096) sfshm_trace_t trace; /* its pages are allocated if traced is 1 */
  _Alignas(4096) sfshm_far_counters_t far[SFSHM_COUNTED_FAR];
} sfshm_counters_t;
_Static_assert(offsetof(sfshm_counters_t, graphs) == 4096, "layout version 2");
_Static_assert(offsetof(sfshm_counters_t, lanes) == 4096 + 124 * 4096, "layout version 22");
_Static_assert(offsetof(sfshm_counters_t, trace) == 4096 + 124 * 4096 + 4096 * 256, "layout version 22");
_Static_assert(sizeof(sfshm_counters_t) == 4096 + 124 * 4096 + 4096 * 256 + 353 * 4096, "layout version 22");

/* Adds the counters of a lane, or of a graph without its lanes, to sums in private memory. */
void sfshm_counters_add_lane(sfshm_counter_set_t *sum, const sfshm_lane_counters_t *lane);
void sfshm_counters_add_graph(sfshm_counter_set_t *sum, const sfshm_graph_counters_t *graph);

/* Number of operations begun with messages in that direction (sfshm_operation_t). */
static inline uint64_t sfshm_counters_begun(const sfshm_graph_counters_t *graph, unsigned direction)
{
  uint64_t sum = 0;
  for (unsigned kind = direction; kind < SFSHM_KINDS; kind += 2)
    sum += atomic_load_explicit(&graph->begun[kind], memory_order_relaxed);
  return sum;
}

/* False in builds that measure the cost of counting (tests/bench/counters). */
#ifdef SFSHM_UNCOUNTED
#define SFSHM_IS_COUNTED 0
#else
#define SFSHM_IS_COUNTED 1
#endif

/* Adds to a counter of this process: a load and a store, no locked instruction. Each counter has one writer. */
static inline void sfshm_count(_Atomic uint64_t *counter, uint64_t amount)
{
  if (!SFSHM_IS_COUNTED)
    return;
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount, memory_order_relaxed);
}

/* Increments a 32-bit counter, which wraps around. */
static inline void sfshm_count_one32(_Atomic uint32_t *counter)
{
  if (!SFSHM_IS_COUNTED)
    return;
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

#endif
