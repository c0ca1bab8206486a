/* An image under construction: memory that is filled from the start. shm/trunk/trunk.h defines its form. */
#ifndef SFSHM_TRUNK_MERGE_DRAFT_H
#define SFSHM_TRUNK_MERGE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/edges.h"

typedef struct sfshm_draft {
  char *base;
  size_t length_bytes; /* a multiple of 8 */
  size_t capacity_bytes;
} sfshm_draft_t;

/* Bytes that an array of n elements takes in an image. */
static inline size_t sfshm_draft_array_bytes(int64_t n, size_t width)
{
  return ((size_t)n * width + 7) / 8 * 8;
}

sf_status_t sfshm_draft_init(sfshm_draft_t *image, size_t capacity_bytes);

/* Appends zeroed bytes; there must be room. Returns their offset. */
uint64_t sfshm_draft_append(sfshm_draft_t *image, size_t bytes);

static inline void *sfshm_draft_at(const sfshm_draft_t *image, uint64_t offset)
{
  return image->base + offset;
}

/* Address of the next array: the caller may write there, up to the capacity, and then keep it. */
static inline void *sfshm_draft_end(const sfshm_draft_t *image)
{
  return image->base + image->length_bytes;
}

/* Keeps the shortest form of the n indices written at the end (int64_t if wide, else uint32_t). Keeps the array only if
 * the pattern needs it. */
sfshm_stored_pattern_t sfshm_draft_keep_pattern(sfshm_draft_t *image, int64_t n, bool wide);

/* Stores the shortest form of a pattern in the image, with its array as narrow as max allows. */
sfshm_stored_pattern_t sfshm_draft_store(sfshm_draft_t *image, const sfshm_pattern_t *pattern, int64_t max);

/* A part of a pattern stored in the image, over the same array. */
sfshm_stored_pattern_t sfshm_draft_slice(const sfshm_draft_t *image, const sfshm_stored_pattern_t *stored,
                                         int64_t first, int64_t n);

/* Completes the image: frees unused memory if there is much. */
void sfshm_draft_finish(sfshm_draft_t *image);

#endif
