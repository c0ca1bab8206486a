/* Messages between daemons about arrays: docs/peer-protocol.md. */
#ifndef SFD_ONESIDED_MESSAGES_H
#define SFD_ONESIDED_MESSAGES_H

#include <sys/queue.h>

#include "daemon/net.h"
#include "shm/array/window.h"

#define SFD_ARRAY_DATA_FOLLOW 1u /* flags of SFD_PEER_ARRAY: SFD_PEER_ARRAY_DATA is the next message about arrays */
#define SFD_ARRAY_FAILED 1u      /* flags of SFD_PEER_ARRAY_DONE: the payload is status (32 bits) and text */

/* Data in the payload of SFD_PEER_ARRAY, behind the request: the channel copies at most so much. */
#define SFD_ARRAY_INLINE 384u

/* Answers up to this size are copied into the frame. */
#define SFD_ARRAY_COPIED 512u

/* desc of all three: the origin. */
static inline uint64_t sfd_array_origin(int32_t rank, uint32_t slot)
{
  return (uint64_t)(uint32_t)rank << 32 | slot;
}

struct sfd_window;
struct sfd_array_task;
TAILQ_HEAD(sfd_array_queue_list, sfd_array_queue);

/* Messages in progress from one node. */
typedef struct sfd_array_arrival {
  struct sfd_array_task *task; /* whose data are awaited or arriving; NULL: none */
  struct sfd_window *window;   /* into which an answer is arriving; NULL: none */
} sfd_array_arrival_t;

/* The daemon's state of operations between nodes. */
typedef struct sfd_onesided {
  struct sfd_array_queue_list ready; /* queues whose first operation can be carried out */
  int64_t budget;                    /* cost that this turn of the loop may still carry out */
  int32_t nnodes;
  sfd_array_arrival_t arrivals[]; /* by node */
} sfd_onesided_t;

#endif
