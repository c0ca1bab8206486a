/* Writing and reading traces: see trace.h. */
#include "shm/observe/trace.h"

#include <string.h>

#define WORDS (sizeof(sfshm_trace_record_t) / sizeof(uint64_t))

/* Every store of a word is a release: a reader that sees a new word also sees that the number has changed. */
void sfshm_trace_write(sfshm_trace_t *trace, const sfshm_trace_record_t *record)
{
  uint64_t words[WORDS], number = atomic_fetch_add_explicit(&trace->next, 1, memory_order_relaxed) + 1;
  sfshm_trace_event_t *event = &trace->events[(number - 1) % SFSHM_TRACE_EVENTS];
  memcpy(words, record, sizeof words);
  atomic_store_explicit(&event->words[0], 0, memory_order_relaxed);
  for (size_t i = 1; i < WORDS; i++)
    atomic_store_explicit(&event->words[i], words[i], memory_order_release);
  atomic_store_explicit(&event->words[0], number, memory_order_release);
}

/* Copies the event with that number, if the number is unchanged before and after. */
static bool read_event(const sfshm_trace_event_t *event, uint64_t number, sfshm_trace_record_t *record)
{
  uint64_t words[WORDS];
  if (atomic_load_explicit(&event->words[0], memory_order_acquire) != number)
    return false;
  words[0] = number;
  for (size_t i = 1; i < WORDS; i++)
    words[i] = atomic_load_explicit(&event->words[i], memory_order_acquire);
  if (atomic_load_explicit(&event->words[0], memory_order_relaxed) != number)
    return false;
  memcpy(record, words, sizeof words);
  return true;
}

uint32_t sfshm_trace_read(const sfshm_trace_t *trace, uint64_t *next_p, sfshm_trace_record_t records[], uint32_t max,
                          uint64_t *lost_p)
{
  uint64_t end = atomic_load_explicit(&trace->next, memory_order_acquire) + 1, next = *next_p > 0 ? *next_p : 1;
  uint32_t n = 0;
  if (end > SFSHM_TRACE_EVENTS && next < end - SFSHM_TRACE_EVENTS) {
    *lost_p += end - SFSHM_TRACE_EVENTS - next;
    next = end - SFSHM_TRACE_EVENTS;
  }
  for (; next < end && n < max; next++)
    if (read_event(&trace->events[(next - 1) % SFSHM_TRACE_EVENTS], next, &records[n]))
      n++;
    else
      ++*lost_p;
  *next_p = next;
  return n;
}

const char *sfshm_trace_kind_name(unsigned kind)
{
#define NAME(id, number, name)                                                                                         \
  case number:                                                                                                         \
    return name;
  switch (kind) {
    SFSHM_TRACE_TABLE(NAME)
  default:
    return "?";
  }
}

const char *sfshm_trace_phase_name(uint64_t phase)
{
  switch (phase) {
    SFSHM_TRACE_PHASE_TABLE(NAME)
  default:
    return "?";
  }
}

const char *sfshm_trace_work_name(uint64_t work)
{
  switch (work) {
    SFSHM_TRACE_WORK_TABLE(NAME)
  default:
    return "?";
  }
}

const char *sfshm_trace_call_name(uint64_t call)
{
  switch (call) {
    SFSHM_TRACE_CALL_TABLE(NAME)
#undef NAME
  default:
    return "?";
  }
}
