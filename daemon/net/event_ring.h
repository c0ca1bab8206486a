/* The daemon's ring of trace events: frames and messages between nodes. admin/trace.h starts and stops it, and tells
 * tools what it holds. The daemon's thread; one ring for the process. */
#ifndef SFD_NET_EVENT_RING_H
#define SFD_NET_EVENT_RING_H

#include "daemon/net/channel.h"
#include "shm/observe/trace.h"

/* NULL: the daemon writes no events. Set by admin/trace.c only. */
extern sfshm_trace_t *sfd_event_ring;

/* The time, if the daemon writes events; else 0. */
static inline uint64_t sfd_event_ring_now_ns(void)
{
  return sfd_event_ring != NULL ? sfshm_trace_now_ns() : 0;
}

/* A trunk's message was given to the channel, or has come. flags of its head: the role of the side that receives. */
void sfd_event_ring_add_message(sfshm_trace_kind_t kind, int32_t node, const sfd_message_head_t *head,
                                uint64_t message);

/* A frame of so many messages; since when it has been with the fabric. */
void sfd_event_ring_add_frame(sfshm_trace_kind_t kind, int32_t node, uint32_t number, unsigned messages, uint64_t bytes,
                              uint64_t since_ns);

#endif
