/* Arrays in every kind of memory: see buffers.h. */
#include "tests/system/buffers.h"

#include <stdlib.h>

void sftest_buffer_make(sftest_rank_t *self, sf_context_t *context, sftest_memory_t memory, int64_t bytes,
                        uint64_t random, sftest_buffer_t *buffer)
{
  bool inside = memory == SFTEST_ALLOC_INSIDE || memory == SFTEST_REGISTERED_INSIDE;
  size_t before = inside ? (size_t)(random % 300) : 0, after = inside ? (size_t)(random >> 20) % 300 : 0;
  *buffer = (sftest_buffer_t){.bytes = bytes, .context = context};
  if (bytes == 0)
    return;
  buffer->allocated = memory == SFTEST_ALLOC || memory == SFTEST_ALLOC_INSIDE;
  if (buffer->allocated) {
    void *address = NULL;
    SFTEST_OK(self, sf_alloc(context, before + (size_t)bytes + after, &address));
    SFTEST_REQUIRE(self, (uintptr_t)address % 128 == 0);
    buffer->base = address;
  } else {
    buffer->base = malloc(before + (size_t)bytes + after);
  }
  if (memory == SFTEST_REGISTERED || memory == SFTEST_REGISTERED_INSIDE)
    SFTEST_OK(self,
              sf_register(context, buffer->base, before + (size_t)bytes + after, SF_MEMORY_HOST, &buffer->region));
  buffer->data = buffer->base + before;
}

void sftest_buffer_free(sftest_rank_t *self, sftest_buffer_t *buffer)
{
  SFTEST_OK(self, sf_unregister(buffer->region));
  if (buffer->allocated)
    SFTEST_OK(self, sf_free(buffer->context, buffer->base));
  else
    free(buffer->base);
  *buffer = (sftest_buffer_t){0};
}

const char *sftest_memory_name(sftest_memory_t memory)
{
  static const char *const names[] = {"plain", "sf_alloc", "inside sf_alloc", "registered", "inside registered"};
  return names[memory];
}
