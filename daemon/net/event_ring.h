/* Ring of the daemon's trace events: frames and messages between nodes. admin/trace.h starts, stops and reads it. The
 * daemon's thread; one ring per process. */
#ifndef SFD_NET_EVENT_RING_H
#define SFD_NET_EVENT_RING_H

#include "daemon/net/channel.h"
#include "shm/observe/trace.h"

/* NULL: no events are written. Set by admin/trace.c. */
extern sfshm_trace_t *sfd_event_ring;

/* Job of an event by its number; 0: none. */
uint64_t sfd_event_ring_job(uint64_t number);

/* 0: no events are written. */
static inline uint64_t sfd_event_ring_now_ns(void)
{
  return sfd_event_ring != NULL ? sfshm_trace_now_ns() : 0;
}

/* A trunk message was given to the channel, or has arrived; head->flags: the receiver's role. */
void sfd_event_ring_add_message(sfshm_trace_kind_t kind, int32_t node, const sfd_message_head_t *head,
                                uint64_t message);

/* A frame with so many messages, with the fabric since since_ns. */
void sfd_event_ring_add_frame(sfshm_trace_kind_t kind, int32_t node, uint32_t number, unsigned messages, uint64_t bytes,
                              uint64_t since_ns);

#endif
