/* Arrays for operations in every kind of memory. Used by ranks. */
#ifndef SFTEST_BUFFERS_H
#define SFTEST_BUFFERS_H

#include "tests/system/harness.h"

typedef enum sftest_memory {
  SFTEST_PLAIN,             /* malloc, of exactly the size: the address sanitizer sees what lies beyond */
  SFTEST_ALLOC,             /* sf_alloc */
  SFTEST_ALLOC_INSIDE,      /* somewhere in memory of sf_alloc, not aligned */
  SFTEST_REGISTERED,        /* sf_register */
  SFTEST_REGISTERED_INSIDE, /* somewhere in a registered region, not aligned */
  SFTEST_HOST_MEMORY_COUNT,
  SFTEST_DEVICE = SFTEST_HOST_MEMORY_COUNT, /* of a device that is not there */
  SFTEST_DEVICE_INSIDE,                     /* somewhere in a registered region of it, aligned to 16 bytes */
  SFTEST_MEMORY_COUNT
} sftest_memory_t;

typedef struct sftest_buffer {
  char *data; /* for operations. NULL: 0 bytes */
  char *view; /* what is in it, for the processor: the same, but for devices */
  int64_t bytes;
  sf_context_t *context;
  sftest_memory_t memory;
  char *base;
  sf_region_t *region;
} sftest_buffer_t;

/* How many kinds can be had here, the first ones of the list. */
int sftest_memory_count(void);

/* random: where inside, if anywhere, and on which device. */
void sftest_buffer_make(sftest_rank_t *self, sf_context_t *context, sftest_memory_t memory, int64_t bytes,
                        uint64_t random, sftest_buffer_t *buffer);
void sftest_buffer_free(sftest_rank_t *self, sftest_buffer_t *buffer);

/* From the view to the memory, and back. */
void sftest_buffer_put(const sftest_buffer_t *buffer);
void sftest_buffer_get(const sftest_buffer_t *buffer);

const char *sftest_memory_name(sftest_memory_t memory);

#endif
