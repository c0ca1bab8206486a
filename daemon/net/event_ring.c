/* Ring of trace events: see event_ring.h. */
#include "daemon/net/event_ring.h"

#include "shm/trunk/trunk.h"

sfshm_trace_t *sfd_event_ring;

void sfd_event_ring_add_message(sfshm_trace_kind_t kind, int32_t node, const sfd_message_head_t *head, uint64_t message)
{
  /* A bcast is received by leaves, a reduce by roots. */
  uint64_t now_ns = sfshm_trace_now_ns();
  sfshm_trace_record_t record = {.begin_ns = now_ns,
                                 .end_ns = now_ns,
                                 .graph = head->object,
                                 .sequence = head->desc,
                                 .message = message,
                                 .bytes = head->payload_bytes,
                                 .peer = node,
                                 .kind = (uint8_t)kind,
                                 .flags = SFSHM_TRACE_TO_NODE};
  record.flags |= (head->flags & 15) == SFSHM_AS_ROOT ? SFSHM_TRACE_REDUCE : 0;
  sfshm_trace_write(sfd_event_ring, &record);
}

void sfd_event_ring_add_frame(sfshm_trace_kind_t kind, int32_t node, uint32_t number, unsigned messages, uint64_t bytes,
                              uint64_t since_ns)
{
  uint64_t now_ns = sfshm_trace_now_ns();
  sfshm_trace_record_t record = {.begin_ns = since_ns != 0 ? since_ns : now_ns,
                                 .end_ns = now_ns,
                                 .sequence = number,
                                 .message = messages,
                                 .bytes = bytes,
                                 .peer = node,
                                 .kind = (uint8_t)kind,
                                 .flags = SFSHM_TRACE_TO_NODE};
  sfshm_trace_write(sfd_event_ring, &record);
}
