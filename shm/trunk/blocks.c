/* Messages of exchanges on trunks: see blocks.h. Any thread; stateless. */
#include "shm/trunk/blocks.h"

#include <string.h>

#include "shm/base/error.h"

/* The class of a message's unit; 0: too long. */
static uint32_t class_of(int64_t nvalues, uint64_t bytes, uint64_t *unit_bytes_p)
{
  uint64_t unit_bytes = sizeof(sfshm_block_entry_t) + bytes / (uint64_t)nvalues + (bytes % (uint64_t)nvalues != 0);
  uint64_t class_bytes = sfshm_exchange_class(unit_bytes);
  *unit_bytes_p = unit_bytes;
  return class_bytes != 0 ? (uint32_t)__builtin_ctzll(class_bytes) : 0;
}

static sf_status_t report_length(int64_t nvalues, uint64_t bytes)
{
  return sfshm_error(SF_ERR_LIMIT, "exchange: %llu bytes in %lld blocks for another node, the limit is %llu",
                     (unsigned long long)bytes, (long long)nvalues,
                     (unsigned long long)(((uint64_t)nvalues << SFSHM_BLOCKS_MAX_CLASS) -
                                          (uint64_t)nvalues * sizeof(sfshm_block_entry_t)));
}

static sf_status_t check_class(uint64_t word)
{
  uint64_t class = word >> SFSHM_BLOCKS_CLASS_SHIFT;
  if (class >= SFSHM_BLOCKS_MIN_CLASS && class <= SFSHM_BLOCKS_MAX_CLASS)
    return SF_OK;
  return sfshm_error(SF_ERR_PROTO, "exchange: a rank of this node wrote class %llu on the trunk board",
                     (unsigned long long)class);
}

static uint32_t first_class(uint64_t class_hint, uint32_t class)
{
  return class_hint > class && class_hint <= SFSHM_BLOCKS_MAX_CLASS ? (uint32_t)class_hint : class;
}

sf_status_t sfshm_blocks_reserve(_Atomic uint64_t *word, int64_t nvalues, uint64_t bytes, uint64_t class_hint,
                                 sfshm_blocks_room_t *room_p)
{
  uint64_t before = atomic_load_explicit(word, memory_order_relaxed), after, end, unit_bytes;
  uint64_t aligned = (bytes + SFSHM_BLOCKS_ALIGNMENT - 1) & ~(uint64_t)(SFSHM_BLOCKS_ALIGNMENT - 1);
  uint32_t class;
  if (aligned < bytes || aligned > SFSHM_BLOCKS_OFFSET_MASK)
    return report_length(nvalues, bytes);
  do {
    end = (before & SFSHM_BLOCKS_OFFSET_MASK) + aligned;
    class = end <= SFSHM_BLOCKS_OFFSET_MASK ? class_of(nvalues, end, &unit_bytes) : 0;
    if (class == 0)
      return report_length(nvalues, end);
    sf_status_t status = before != 0 ? check_class(before) : SF_OK;
    if (status != SF_OK)
      return status;
    uint64_t table = before != 0 ? before >> SFSHM_BLOCKS_CLASS_SHIFT : first_class(class_hint, class);
    after = table << SFSHM_BLOCKS_CLASS_SHIFT | end;
  } while (!atomic_compare_exchange_weak_explicit(word, &before, after, memory_order_relaxed, memory_order_relaxed));
  uint32_t table_class = (uint32_t)(after >> SFSHM_BLOCKS_CLASS_SHIFT);
  *room_p = (sfshm_blocks_room_t){.offset = (uint64_t)nvalues * sizeof(sfshm_block_entry_t) + end - aligned,
                                  .bytes = bytes,
                                  .table_class = table_class,
                                  .class = class > table_class ? class : table_class};
  return SF_OK;
}

sf_status_t sfshm_blocks_complete(_Atomic uint64_t *word, int64_t nvalues, sfshm_blocks_message_t *message_p)
{
  uint64_t reserved = atomic_exchange_explicit(word, 0, memory_order_relaxed), unit_bytes;
  uint32_t class = class_of(nvalues, reserved & SFSHM_BLOCKS_OFFSET_MASK, &unit_bytes);
  sf_status_t status = check_class(reserved);
  if (status != SF_OK)
    return status;
  if (class == 0)
    return report_length(nvalues, reserved & SFSHM_BLOCKS_OFFSET_MASK);
  uint32_t table_class = (uint32_t)(reserved >> SFSHM_BLOCKS_CLASS_SHIFT);
  *message_p = (sfshm_blocks_message_t){
      .unit_bytes = unit_bytes, .table_class = table_class, .class = class > table_class ? class : table_class};
  return SF_OK;
}

uint64_t sfshm_blocks_classes(const sfshm_block_entry_t table[], int64_t nvalues)
{
  uint64_t classes = 0;
  for (int64_t i = 0; i < nvalues; i++) {
    uint64_t class = sfshm_block_load(&table[i]).class;
    if (class != 0 && class <= SFSHM_BLOCKS_MAX_CLASS)
      classes |= UINT64_C(1) << class;
  }
  return classes;
}

sf_status_t sfshm_blocks_move(const sfshm_blocks_message_t *message, int64_t nvalues,
                              char *const slots[SFSHM_BLOCKS_MAX_CLASS + 1])
{
  const sfshm_block_entry_t *from = (const void *)slots[message->table_class];
  sfshm_block_entry_t *to = (void *)slots[message->class];
  for (int64_t i = 0; i < nvalues && message->class != message->table_class; i++) {
    sfshm_block_at_t block = sfshm_block_load(&from[i]);
    uint64_t class = block.class != 0 ? block.class : message->table_class;
    block.class = 0;
    if (class > message->class || slots[class] == NULL ||
        !sfshm_block_fits(&block, nvalues, sfshm_blocks_slot_bytes(nvalues, class)) ||
        !sfshm_block_fits(&block, nvalues, (uint64_t)nvalues * message->unit_bytes))
      return sfshm_error(SF_ERR_PROTO, "exchange: a rank of this node wrote %llu bytes at %llu to class %llu",
                         (unsigned long long)block.bytes, (unsigned long long)block.offset, (unsigned long long)class);
    if (class != message->class && block.bytes > 0)
      memcpy(slots[message->class] + block.offset, slots[class] + block.offset, block.bytes);
    sfshm_block_store(&to[i], &block);
  }
  return SF_OK;
}

uint64_t sfshm_blocks_next_class(const sfshm_blocks_message_t *message)
{
  bool too_high = message->unit_bytes < (UINT64_C(1) << message->class) / 8;
  return message->class - (too_high ? 1 : 0);
}
