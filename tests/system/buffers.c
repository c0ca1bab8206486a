/* Arrays in every kind of memory: see buffers.h. */
#include "tests/system/buffers.h"

#include "tests/system/fake_device.h"

int sftest_memory_count(void)
{
  return sftest_device_is_there() ? SFTEST_MEMORY_COUNT : SFTEST_HOST_MEMORY_COUNT;
}

static bool is_alloc(sftest_memory_t memory)
{
  return memory == SFTEST_ALLOC || memory == SFTEST_ALLOC_INSIDE;
}

static bool is_device(sftest_memory_t memory)
{
  return memory == SFTEST_DEVICE || memory == SFTEST_DEVICE_INSIDE;
}

static char *allocate(sftest_rank_t *self, sftest_buffer_t *buffer, size_t bytes, uint64_t random)
{
  void *address = NULL;
  if (is_device(buffer->memory))
    return sftest_device_alloc((int)(random >> 40) % SFTEST_DEVICES, bytes);
  if (!is_alloc(buffer->memory))
    return malloc(bytes);
  SFTEST_OK(self, sf_alloc(buffer->context, bytes, &address));
  SFTEST_REQUIRE(self, (uintptr_t)address % 128 == 0);
  return address;
}

void sftest_buffer_make(sftest_rank_t *self, sf_context_t *context, sftest_memory_t memory, int64_t bytes,
                        uint64_t random, sftest_buffer_t *buffer)
{
  bool inside = memory == SFTEST_ALLOC_INSIDE || memory == SFTEST_REGISTERED_INSIDE || memory == SFTEST_DEVICE_INSIDE;
  size_t before = inside ? (size_t)(random % 300) : 0, after = inside ? (size_t)(random >> 20) % 300 : 0;
  *buffer = (sftest_buffer_t){.bytes = bytes, .context = context, .memory = memory};
  if (bytes == 0)
    return;
  if (is_device(memory))
    before &= ~(size_t)15;
  size_t length = before + (size_t)bytes + after;
  buffer->base = allocate(self, buffer, length, random);
  if (memory >= SFTEST_REGISTERED) {
    sf_memory_kind_t kind = !is_device(memory)     ? SF_MEMORY_HOST
                            : (random & 1024) != 0 ? SF_MEMORY_CUDA
                                                   : SF_MEMORY_DETECT;
    SFTEST_OK(self, sf_register(context, buffer->base, length, kind, &buffer->region));
  }
  buffer->data = buffer->base + before;
  buffer->view = is_device(memory) ? malloc((size_t)bytes) : buffer->data;
}

void sftest_buffer_free(sftest_rank_t *self, sftest_buffer_t *buffer)
{
  SFTEST_OK(self, sf_unregister(buffer->region));
  if (is_alloc(buffer->memory)) {
    SFTEST_OK(self, sf_free(buffer->context, buffer->base));
  } else if (is_device(buffer->memory)) {
    if (buffer->base != NULL)
      sftest_device_free(buffer->base);
    free(buffer->view);
  } else {
    free(buffer->base);
  }
  *buffer = (sftest_buffer_t){0};
}

void sftest_buffer_put(const sftest_buffer_t *buffer)
{
  if (buffer->view != buffer->data)
    sftest_device_copy(buffer->data, buffer->view, (size_t)buffer->bytes);
}

void sftest_buffer_get(const sftest_buffer_t *buffer)
{
  if (buffer->view != buffer->data)
    sftest_device_copy(buffer->view, buffer->data, (size_t)buffer->bytes);
}

const char *sftest_memory_name(sftest_memory_t memory)
{
  static const char *const names[] = {"plain",  "sf_alloc",     "inside sf_alloc", "registered", "inside registered",
                                      "device", "inside device"};
  return names[memory];
}
