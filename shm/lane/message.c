/* Message descriptors in words. Any thread. */
#include "shm/lane/message.h"

#include <stdio.h>

_Static_assert((uint64_t)SFSHM_BASE_COUNT <= SFSHM_DESC_EXCHANGE_BASE &&
                   SFSHM_DESC_EXCHANGE_BASE < SFSHM_DESC_FIELDS_BASE && SFSHM_DESC_FIELDS_BASE < SFSHM_DESC_MAKE_BASE,
               "no type looks like an exchange, like several fields, or like what ranks make together");

#define FETCH (SFSHM_CALL_FETCH >> 2)

static unsigned op_field(uint64_t desc)
{
  return (unsigned)(desc >> 31 & 31);
}

const char *sfshm_call_name(sfshm_call_t call)
{
  static const char *const names[] = {"bcast", "reduce", "scatter", "gather"};
  return (call & SFSHM_CALL_FETCH) != 0 ? "fetch_op" : names[call & 3];
}

const char *sfshm_desc_operation(uint64_t desc)
{
  if (sfshm_desc_is_exchange(desc))
    return "exchange";
  return sfshm_call_name((sfshm_call_t)((desc >> 24 & 3) | (op_field(desc) & FETCH) << 2));
}

static const char *make_text(uint64_t desc)
{
  switch (desc >> 36 & ((1u << 25) - 1)) {
  case SFSHM_MAKE_MULTI:
    return "what makes the multi-graph";
  case SFSHM_MAKE_LEAF_RANKS:
    return "what finds the leaf ranks";
  case SFSHM_MAKE_STREAMS:
    return "what makes the graph ready for streams";
  default:
    return "what all ranks call together";
  }
}

void sfshm_desc_text(uint64_t desc, char *text, size_t text_bytes)
{
  if (sfshm_desc_is_make(desc)) {
    snprintf(text, text_bytes, "%s", make_text(desc));
    return;
  }
  const char *operation = sfshm_desc_operation(desc);
  if (sfshm_desc_is_exchange(desc)) {
    snprintf(text, text_bytes, "%s", operation);
    return;
  }
  if (sfshm_desc_is_of_fields(desc)) {
    snprintf(text, text_bytes, "%s(%u fields [%06x])", operation, (unsigned)(desc >> 36 & SFSHM_DESC_FIELDS_MAX),
             (unsigned)(desc >> 44 & ((1u << 17) - 1)) << 4 | (op_field(desc) & ~(unsigned)FETCH));
    return;
  }
  const char *base = sfshm_base_name((sfshm_base_t)(desc >> 26 & 31));
  const char *op = sfshm_op_name((sfshm_op_t)(op_field(desc) & ~(unsigned)FETCH));
  unsigned count = (unsigned)(desc >> 36 & ((1u << 25) - 1));
  if (count >= SFSHM_DESC_COUNT_HASHED)
    snprintf(text, text_bytes, "%s(%s x many [%06x], %s)", operation, base,
             count & (unsigned)(SFSHM_DESC_COUNT_HASHED - 1), op);
  else if (count == 1)
    snprintf(text, text_bytes, "%s(%s, %s)", operation, base, op);
  else
    snprintf(text, text_bytes, "%s(%s x %u, %s)", operation, base, count, op);
}
