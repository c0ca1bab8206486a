/* Messages between daemons about one-sided arrays (docs/peer-protocol.md), and the daemon's state of these messages. */
#ifndef SFD_ONESIDED_MESSAGES_H
#define SFD_ONESIDED_MESSAGES_H

#include <sys/queue.h>

#include "daemon/net.h"
#include "shm/array/window.h"

#define SFD_ARRAY_DATA_FOLLOW 1u /* flags of SFD_PEER_ARRAY: SFD_PEER_ARRAY_DATA is the next message about arrays */
#define SFD_ARRAY_FAILED 1u      /* flags of SFD_PEER_ARRAY_DONE: the payload is status (32 bits) and text */

/* Most bytes of data behind the request in the payload of SFD_PEER_ARRAY; the channel copies them. */
#define SFD_ARRAY_INLINE 384u

/* Most bytes of an answer that are copied into the frame. */
#define SFD_ARRAY_COPIED 512u

/* desc of SFD_PEER_ARRAY, SFD_PEER_ARRAY_DATA and SFD_PEER_ARRAY_DONE: rank of the origin and slot of its window. */
static inline uint64_t sfd_array_origin(int32_t rank, uint32_t slot)
{
  return (uint64_t)(uint32_t)rank << 32 | slot;
}

struct sfd_window;
struct sfd_array_task;
TAILQ_HEAD(sfd_array_queue_list, sfd_array_queue);

/* Messages that are arriving from one node. */
typedef struct sfd_array_arrival {
  struct sfd_array_task *task; /* task whose data are awaited or arriving; NULL: none */
  struct sfd_window *window;   /* window into which an answer is arriving; NULL: none */
} sfd_array_arrival_t;

/* The daemon's state of operations between nodes. */
typedef struct sfd_onesided {
  struct sfd_array_queue_list ready; /* queues whose first operation can be carried out */
  int64_t budget;                    /* cost left to this turn of the loop */
  int32_t nnodes;
  sfd_array_arrival_t arrivals[]; /* by node */
} sfd_onesided_t;

#endif
