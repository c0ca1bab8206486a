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
  SFTEST_MEMORY_COUNT
} sftest_memory_t;

typedef struct sftest_buffer {
  char *data; /* NULL: 0 bytes */
  int64_t bytes;
  sf_context_t *context;
  char *base;
  sf_region_t *region;
  bool allocated;
} sftest_buffer_t;

/* random: where inside, if anywhere. */
void sftest_buffer_make(sftest_rank_t *self, sf_context_t *context, sftest_memory_t memory, int64_t bytes,
                        uint64_t random, sftest_buffer_t *buffer);
void sftest_buffer_free(sftest_rank_t *self, sftest_buffer_t *buffer);

const char *sftest_memory_name(sftest_memory_t memory);

#endif
