/* Memory for the examples: an example that runs out of memory has nothing left to show, so it says so and ends. */
#ifndef EXAMPLES_ARRAY_H
#define EXAMPLES_ARRAY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The array with room for count elements; contents as realloc leaves them. Freed with free. */
static inline void *array_resize(void *array, int64_t count, size_t element_bytes)
{
  void *resized = reallocarray(array, (size_t)(count > 0 ? count : 1), element_bytes);
  if (!resized) {
    fprintf(stderr, "out of memory: %lld elements of %zu bytes\n", (long long)count, element_bytes);
    exit(EXIT_FAILURE);
  }
  return resized;
}

static inline void *array_new(int64_t count, size_t element_bytes)
{
  return array_resize(NULL, count, element_bytes);
}

#endif
