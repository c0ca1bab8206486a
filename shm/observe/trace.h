/* Trace: a ring of events that overwrites its oldest. Each rank has one ring, written by its threads; each daemon has
 * one. Others read at any time. Nobody blocks: readers skip events that are being overwritten. */
#ifndef SFSHM_OBSERVE_TRACE_H
#define SFSHM_OBSERVE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/base/clock.h"

#define SFSHM_TRACE_EVENTS 16384 /* a power of two */

/* X(id, number, name). Events from begin_ns to end_ns; both are equal for events without duration. sequence is the
 * number of the operation on the graph; message is the number of the message on the lane or trunk side, from 1. */
#define SFSHM_TRACE_TABLE(X)                                                                                           \
  X(SFSHM_TRACE_BEGIN, 1, "begin")         /* the call that began an operation. message: its descriptor */             \
  X(SFSHM_TRACE_END, 2, "end")             /* an operation, from begin to its last message. message: as begin */       \
  X(SFSHM_TRACE_SEND, 3, "send")           /* pack and send to a rank; or pack a part of a message to a node */        \
  X(SFSHM_TRACE_UNPACK, 4, "unpack")       /* unpack a message that arrived from a rank or node at begin_ns */         \
  X(SFSHM_TRACE_WAIT, 5, "wait")           /* without spinning; peer: the last missing rank or node */                 \
  X(SFSHM_TRACE_SETUP, 6, "set-up")        /* a phase of graph set-up. message: SFSHM_TRACE_PHASE_* */                 \
  X(SFSHM_TRACE_DEPART, 7, "depart")       /* daemon: a trunk message was passed to the channel */                     \
  X(SFSHM_TRACE_ARRIVE, 8, "arrive")       /* daemon: a trunk message arrived from a node */                           \
  X(SFSHM_TRACE_FRAME_OUT, 9, "frame out") /* daemon: a frame was passed to the fabric. message: its messages */       \
  X(SFSHM_TRACE_FRAME_IN, 10, "frame in")  /* daemon: a frame begins to arrive */                                      \
  X(SFSHM_TRACE_DEVICE, 11, "device")      /* work of a device. message: SFSHM_TRACE_WORK_*, thread: the device */     \
  X(SFSHM_TRACE_ARRAY, 12, "array")        /* a call, or the request of a rank of a node. message: SFSHM_TRACE_CALL_* */

#define SFSHM_TRACE_ID(id, number, name) id = number,
typedef enum sfshm_trace_kind { SFSHM_TRACE_TABLE(SFSHM_TRACE_ID) } sfshm_trace_kind_t;
#undef SFSHM_TRACE_ID

/* X(id, number, name). Phases of graph set-up. */
#define SFSHM_TRACE_PHASE_TABLE(X)                                                                                     \
  X(SFSHM_TRACE_PHASE_SORT, 1, "sort edges")                                                                           \
  X(SFSHM_TRACE_PHASE_GATHER, 2, "wait for others' edges")                                                             \
  X(SFSHM_TRACE_PHASE_PLAN, 3, "plan")                                                                                 \
  X(SFSHM_TRACE_PHASE_COMMIT, 4, "commit")                                                                             \
  X(SFSHM_TRACE_PHASE_CONNECT, 5, "connect")

#define SFSHM_TRACE_ID(id, number, name) id = number,
typedef enum sfshm_trace_phase { SFSHM_TRACE_PHASE_TABLE(SFSHM_TRACE_ID) } sfshm_trace_phase_t;
#undef SFSHM_TRACE_ID

/* X(id, number, name). Work of a device. */
#define SFSHM_TRACE_WORK_TABLE(X)                                                                                      \
  X(SFSHM_TRACE_WORK_TO_HOST, 1, "kernel to host")                                                                     \
  X(SFSHM_TRACE_WORK_FROM_HOST, 2, "kernel from host")                                                                 \
  X(SFSHM_TRACE_WORK_WITHIN, 3, "kernel")                                                                              \
  X(SFSHM_TRACE_WORK_FROM_DEVICE, 4, "kernel from another device")                                                     \
  X(SFSHM_TRACE_WORK_AWAIT, 5, "stream waits")                                                                         \
  X(SFSHM_TRACE_WORK_CALL, 6, "host function")

#define SFSHM_TRACE_ID(id, number, name) id = number,
typedef enum sfshm_trace_work { SFSHM_TRACE_WORK_TABLE(SFSHM_TRACE_ID) } sfshm_trace_work_t;
#undef SFSHM_TRACE_ID

/* X(id, number, name). Calls on arrays, in the order of sfshm_array_access_t. */
#define SFSHM_TRACE_CALL_TABLE(X)                                                                                      \
  X(SFSHM_TRACE_CALL_PUT, 1, "array put")                                                                              \
  X(SFSHM_TRACE_CALL_GET, 2, "array get")                                                                              \
  X(SFSHM_TRACE_CALL_ACC, 3, "array acc")                                                                              \
  X(SFSHM_TRACE_CALL_ATOMIC, 4, "array atomic")                                                                        \
  X(SFSHM_TRACE_CALL_FLUSH, 5, "array flush")

#define SFSHM_TRACE_ID(id, number, name) id = number,
typedef enum sfshm_trace_call { SFSHM_TRACE_CALL_TABLE(SFSHM_TRACE_ID) } sfshm_trace_call_t;
#undef SFSHM_TRACE_ID

#define SFSHM_TRACE_TO_NODE 1u   /* flag: peer is a node, not a rank of the job */
#define SFSHM_TRACE_REDUCE 2u    /* flag: direction of a reduce, else of a bcast */
#define SFSHM_TRACE_ON_STREAM 4u /* flag: an operation on a stream; these are numbered separately */

/* An event outside the ring. */
typedef struct sfshm_trace_record {
  uint64_t number; /* number of the event in its ring, from 1 */
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t graph;
  uint64_t sequence;
  uint64_t message;
  uint64_t bytes;
  int32_t peer; /* -1: none */
  uint8_t kind;
  uint8_t flags;
  uint16_t thread; /* number of the thread in its process; 0: unknown */
} sfshm_trace_record_t;
_Static_assert(sizeof(sfshm_trace_record_t) == 64, "layout version 3");

/* An event in the ring: the same words. number is 0 while the event is being written, and is stored last. */
typedef struct sfshm_trace_event {
  _Atomic uint64_t words[8];
} sfshm_trace_event_t;
_Static_assert(sizeof(sfshm_trace_event_t) == sizeof(sfshm_trace_record_t), "layout version 3");

typedef struct sfshm_trace {
  _Alignas(128) _Atomic uint64_t next; /* number of events begun so far */
  uint64_t reserved[15];
  sfshm_trace_event_t events[SFSHM_TRACE_EVENTS];
} sfshm_trace_t;
_Static_assert(sizeof(sfshm_trace_t) == 128 + 64 * SFSHM_TRACE_EVENTS, "layout version 3");

static inline uint64_t sfshm_trace_now_ns(void)
{
  return (uint64_t)sfshm_now_ns();
}

/* Writes an event; record->number is not read. Any thread of the ring's process. */
void sfshm_trace_write(sfshm_trace_t *trace, const sfshm_trace_record_t *record);

/* Copies up to max events from number *next_p on, oldest first, and sets *next_p after the last one. Skips events that
 * have been or are being overwritten, and adds their number to *lost_p. Returns the number of copied events; less than
 * max: there are no more. The contents of the ring are not trusted. */
uint32_t sfshm_trace_read(const sfshm_trace_t *trace, uint64_t *next_p, sfshm_trace_record_t records[], uint32_t max,
                          uint64_t *lost_p);

const char *sfshm_trace_kind_name(unsigned kind);   /* "?" for unknown kinds */
const char *sfshm_trace_phase_name(uint64_t phase); /* "?" likewise */
const char *sfshm_trace_work_name(uint64_t work);   /* "?" likewise */
const char *sfshm_trace_call_name(uint64_t call);   /* "?" likewise */

#endif
