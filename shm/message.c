/* Message descriptors in words. Any thread. */
#include "shm/message.h"

#include <stdio.h>

void sfshm_desc_text(uint64_t desc, char *text, size_t text_bytes)
{
  static const char *const operations[] = {"bcast", "reduce", "?", "?"};
  const char *base = sfshm_base_name((sfshm_base_t)(desc >> 26 & 31));
  const char *op = sfshm_op_name((sfshm_op_t)(desc >> 31 & 31));
  unsigned count = (unsigned)(desc >> 36 & ((1u << 25) - 1));
  if (count >= SFSHM_DESC_COUNT_HASHED)
    snprintf(text, text_bytes, "%s(%s x many [%06x], %s)", operations[desc >> 24 & 3], base,
             count & (unsigned)(SFSHM_DESC_COUNT_HASHED - 1), op);
  else if (count == 1)
    snprintf(text, text_bytes, "%s(%s, %s)", operations[desc >> 24 & 3], base, op);
  else
    snprintf(text, text_bytes, "%s(%s x %u, %s)", operations[desc >> 24 & 3], base, count, op);
}
