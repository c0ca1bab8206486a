/* Entries of submission rings that a test recognises. */
#ifndef SFTEST_RING_ENTRIES_H
#define SFTEST_RING_ENTRIES_H

#include "shm/lane/ring.h"
#include "tests/unit/runner.h"

/* An entry whose fields all follow from who publishes it, and which of his it is. */
static inline sfshm_ring_entry_t entry_of(uint32_t producer, uint64_t count)
{
  return (sfshm_ring_entry_t){.kind = (uint32_t)count * 7,
                              .graph = producer,
                              .message = count,
                              .desc = ~count,
                              .a = (uint32_t)count + 1,
                              .b = (uint32_t)count + 2,
                              .size = count << 20,
                              .more = {count * 3, count * 5 + producer}};
}

static inline void expect_entry(const sfshm_ring_entry_t *found, uint32_t producer, uint64_t count)
{
  sfshm_ring_entry_t expected = entry_of(producer, count);
  expected.number = found->number;
  ck_assert_mem_eq(found, &expected, sizeof expected);
}

#endif
