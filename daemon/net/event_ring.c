/* Ring of trace events: see event_ring.h. */
#include "daemon/net/event_ring.h"

#include "shm/trunk/trunk.h"

sfshm_trace_t *sfd_event_ring;

static uint64_t jobs[SFSHM_TRACE_EVENTS]; /* of the events in the ring: users see those of their jobs only */

static void write_event(const sfshm_trace_record_t *record, uint64_t job)
{
  uint64_t number = atomic_load_explicit(&sfd_event_ring->next, memory_order_relaxed) + 1; /* nobody else writes */
  jobs[number % SFSHM_TRACE_EVENTS] = job;
  sfshm_trace_write(sfd_event_ring, record);
}

uint64_t sfd_event_ring_job(uint64_t number)
{
  return jobs[number % SFSHM_TRACE_EVENTS];
}

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
  write_event(&record, head->job);
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
  write_event(&record, 0);
}
