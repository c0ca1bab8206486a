/* Operations on streams: see sf/sf_streams.h. Between two ranks of a node, on each graph, either has an *area* in pages
 * of its own inbox, which both have pinned for their devices:
 *
 *      writer's stream                                reader's stream
 *   await acks[m % 4] >= m - 4   ◀──────────────────  raise acks[m % 4] = m   (ok to send)
 *   pack into slot m % 4         ──────────────────▶
 *   raise ready = m              ──────────────────▶  await ready >= m, unpack from slot m % 4
 *
 * A stream awaits the words of all neighbours, packs or unpacks what concerns them by one kernel, and raises all words.
 * ready and the slots are in the reader's area, acks in the writer's; or the slots are on the reader's device, if the
 * writer's reaches it: see device_slots.h. m counts the messages from one rank to the other.
 * Words are compared as a driver does: (int32_t)(word - m) >= 0. What goes to other nodes: see trunk.h.
 *
 * The thread that uses the graph, but for what is said. */
#ifndef SFC_STREAMS_OPERATION_H
#define SFC_STREAMS_OPERATION_H

#include <stdatomic.h>
#include <stddef.h>

#include <sf/sf_streams.h>

#include "client/core.h"
#include "client/graph.h"
#include "shm/base/error.h"
#include "shm/device/device.h"

#define SFC_STREAMS_ALIGN ((size_t)128) /* of areas and slots */
#define SFC_STREAMS_CALLS 16u           /* operations that two hosts may be apart to find out that they differ */

/* Where a rank's area for another one is, and what the rank has called: as it is told to the other one. */
typedef struct sfc_stream_place {
  int64_t called;  /* descriptor without number */
  int64_t segment; /* of its inbox; then in bytes: */
  int64_t pages;
  int64_t pages_bytes;
  int64_t area; /* from there on */
  int64_t slot_bytes;
  /* Of its device, with slots; negative: for kernels of that device only, as what others store there might be read too
   * early; 0: none. And where: */
  int64_t region;
  int64_t slots;
  sfshm_device_identity_t device;
} sfc_stream_place_t;

/* Which data of an operation are on the device, as far as there are any. */
typedef struct sfc_stream_sides {
  bool roots_on_device;
  bool leaves_on_device;
} sfc_stream_sides_t;

typedef struct sfc_stream_area {
  _Alignas(128) _Atomic uint32_t ready;
  _Alignas(128) _Atomic uint32_t acks[SF_STREAMS_IN_FLIGHT];
  /* By the other host: */
  _Alignas(128) _Atomic uint64_t calls[SFC_STREAMS_CALLS]; /* number of operation, hash of all */
  _Atomic uint64_t called[SFC_STREAMS_CALLS];              /* its descriptor without number; written before calls */
  _Alignas(128) _Atomic uint64_t grown; /* number of the operation for which there is more room, elsewhere: */
  sfc_stream_place_t place;             /* written before grown */
  _Atomic uint32_t released; /* the other one's graph has failed: what its streams still send is worth nothing */
  _Atomic uint32_t chosen;   /* sfshm_stream_slots_t: where the other one's messages will be; NONE: not known yet */
} sfc_stream_area_t;
_Static_assert(offsetof(sfc_stream_area_t, acks) == 128 && offsetof(sfc_stream_area_t, calls) == 256 &&
                   offsetof(sfc_stream_area_t, called) == 384 && offsetof(sfc_stream_area_t, grown) == 512 &&
                   offsetof(sfc_stream_area_t, place) == 520 && offsetof(sfc_stream_area_t, released) == 600 &&
                   offsetof(sfc_stream_area_t, chosen) == 604 && sizeof(sfc_stream_area_t) == 640,
               "layout version 6");

/* A place in pinned memory: for the host, and for devices. */
typedef struct sfc_stream_pinned {
  char *host;
  char *device;
} sfc_stream_pinned_t;

static inline sfc_stream_area_t *sfc_stream_area(sfc_stream_pinned_t place)
{
  return (sfc_stream_area_t *)(void *)place.host;
}

/* Messages over a lane of the graph. */
typedef struct sfc_stream_lane {
  _Atomic uint32_t nsent;
  _Atomic uint32_t nreceived;
} sfc_stream_lane_t;

/* Where they go. */
typedef struct sfc_stream_way {
  sfc_stream_pinned_t area; /* here, written by the other end */
  size_t slot_bytes;
  char *device_slots;            /* of messages that come, on the device; NULL: they are in the area, pinned */
  bool is_from_peer;             /* then: another device writes there */
  sfc_stream_pinned_t peer_area; /* there; NULL: not pinned */
  size_t peer_slot_bytes;
  char *peer_device_slots; /* of messages that go; NULL: they are in the area */
  sfc_pinned_device_t peer_device;
  sfc_pinned_t peer_pinned;
  void *peer_pages; /* of its block */
} sfc_stream_way_t;

/* All ways of a graph: see areas.h. */
typedef struct sfc_stream_room {
  size_t unit_bytes;        /* of the largest unit for which there is room */
  sfc_stream_sides_t sides; /* of the operation that it was made for */
  sfc_block_t block;
  sfc_block_t device_block; /* slots on the device */
  char *pages;              /* of the block */
  size_t pages_bytes;
  bool is_pinned;
  sfc_stream_pinned_t self_slot;
  sfc_stream_way_t *ways; /* by lane; NULL: no room */
} sfc_stream_room_t;

/* Contributions between the two halves of a fetch_op: see fetch_op.c. */
typedef struct sfc_stream_slots {
  sfc_stream_pinned_t place;
  size_t bytes;     /* 0: no memory */
  bool is_prepared; /* as: */
  int32_t prepared;
} sfc_stream_slots_t;

struct sf_streamed {
  sf_graph_t *graph;
  bool in_flight;
  sfshm_operation_t operation;
  sfshm_unit_t unit;
  sfshm_op_t op;
  const char *source;
  char *target;
  bool source_on_host;
  bool target_on_host;
  int half;           /* of the slots of fetch_ops, 1 or 2: it brings what is there; 0: none */
  uint64_t *messages; /* by lane: the one to receive */
  uint64_t match;     /* descriptor, over nodes */
  bool is_traced;     /* then: */
  uint64_t number;    /* among the operations on streams of the graph, from 1 */
  uint64_t signature; /* what was called */
  uint64_t began_ns;
};

/* Moves that are given together: what an operation sends, and what it brings. */
typedef enum sfc_moves_kind {
  SFC_MOVES_SEND_BCAST,
  SFC_MOVES_SEND_REDUCE,
  SFC_MOVES_BCAST,
  SFC_MOVES_REDUCE,
  SFC_MOVES_WINNERS, /* a reduce with replace */
  SFC_MOVES_KINDS
} sfc_moves_kind_t;

typedef struct sfc_moves sfc_moves_t; /* see move.h */

typedef struct sfc_streams {
  sfc_attachment_t attachment;
  sf_graph_t *graph;
  const sfshm_device_ops_t *plugin;
  const sfshm_streams_ops_t *ops;
  sfshm_streams_t *device;
  sfc_stream_room_t room;
  sfc_stream_slots_t fetched;
  sfc_stream_lane_t *lanes;
  int32_t nlanes; /* to ranks of the node; those of trunks are behind them */
  sf_streamed_t requests[SF_STREAMS_IN_FLIGHT];
  struct sfc_stream_nodes *nodes; /* NULL: all ranks of the group are on one node */
  uint64_t *messages;
  sfc_moves_t *moves;                /* room for those of an operation, and by lane: */
  sfc_stream_pinned_t *slots;        /* where its message is */
  uint64_t *sent;                    /* number of the one that is sent */
  sfshm_stream_word_t *words;        /* room for one of each lane: awaited, or raised */
  int32_t prepared[SFC_MOVES_KINDS]; /* numbers of what was prepared */
  uint64_t ncalls;                   /* operations begun */
  uint32_t hash;                     /* of all of them */
  bool is_growing;                   /* others may have left the areas; with the guard's lock */
  _Atomic bool is_calling;           /* a call gives work to streams, having seen that the graph had not failed */
  bool is_guarded;
  struct sfc_streams *next_guarded;
} sfc_streams_t;

/* Status of a function of the plugin, with its detail. */
static inline sf_status_t sfc_streams_status(const sfc_streams_t *streams, sf_status_t status)
{
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", streams->plugin->detail());
}

/* Makes streams of the graph ready for a first operation and units of that size: collective, blocks. before: SF_OK, or
 * what has failed on this rank, which then fails for all. stream: of the device to be used; called: the operation's
 * descriptor without number. */
sf_status_t sfc_streams_set_up(sf_status_t before, sf_graph_t *graph, size_t unit_bytes, sfc_stream_sides_t sides,
                               void *stream, uint64_t called);

/* What has to be known of an operation's moves. The nodes are open, if there are others. */
sf_status_t sfc_streams_prepare(sfc_streams_t *streams);

/* Gives to the stream what the operation sends, having numbered what it will receive; and what it receives. */
sf_status_t sfc_streams_send(sfc_streams_t *streams, sf_streamed_t *streamed);
sf_status_t sfc_streams_receive(sfc_streams_t *streams, const sf_streamed_t *streamed);

/* SF_ERR_MISMATCH: the lane's other end has called that instead, or something else before. */
sf_status_t sfc_streams_mismatch(const sfc_streams_t *streams, int32_t lane, uint64_t mine, uint64_t theirs);

/* The streams of a graph; NULL: no operation on a stream yet. */
sfc_streams_t *sfc_streams_of(const sf_graph_t *graph);

/* Whether an operation has been begun and not ended. */
bool sfc_streams_are_busy(const sfc_streams_t *streams);

/* Waits until nothing is left to do, or the device has failed. */
sf_status_t sfc_streams_drain(const sfc_streams_t *streams);

/* While a graph is guarded, a thread of the process lets its streams go on if it fails. */
sf_status_t sfc_streams_guard(sfc_streams_t *streams);
void sfc_streams_unguard(sfc_streams_t *streams);

/* Others are about to leave the areas that this rank knows, with nothing of its streams under way. */
void sfc_streams_guard_growth(sfc_streams_t *streams);

/* The graph's room from now on; returns what it was. */
sfc_stream_room_t sfc_streams_guard_room(sfc_streams_t *streams, sfc_stream_room_t room);

/* Traces: the operation begins; its begin has been given to a stream; what is given to it next, for the lane (NULL: for
 * the rank itself, or several lanes); and its end has been given. */
void sfc_streams_watch_begin(const sfc_streams_t *streams, sf_streamed_t *streamed, uint64_t signature);
void sfc_streams_watch_begun(const sfc_streams_t *streams, const sf_streamed_t *streamed);
void sfc_streams_watch_work(const sfc_streams_t *streams, const sf_streamed_t *streamed, const sfc_lane_t *lane,
                            sfshm_trace_work_t work);
void sfc_streams_watch_end(const sfc_streams_t *streams, const sf_streamed_t *streamed);

/* Some graph has failed, or is to be looked at. Any thread. */
void sfc_streams_alarm(void);

#endif
