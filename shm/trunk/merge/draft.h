/* An image in the making: memory that is filled from the start. See shm/trunk/trunk.h for the form of what it holds. */
#ifndef SFSHM_MERGE_DRAFT_H
#define SFSHM_MERGE_DRAFT_H

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

/* Bytes that an array of n takes in an image. */
static inline size_t sfshm_draft_array_bytes(int64_t n, size_t width)
{
  return ((size_t)n * width + 7) / 8 * 8;
}

sf_status_t sfshm_draft_init(sfshm_draft_t *image, size_t capacity_bytes);

/* Appends bytes, zeroed; there must be room. Returns their offset. */
uint64_t sfshm_draft_append(sfshm_draft_t *image, size_t bytes);

static inline void *sfshm_draft_at(const sfshm_draft_t *image, uint64_t offset)
{
  return image->base + offset;
}

/* Where the next array will stand: what is written there, up to the capacity, can then be kept. */
static inline void *sfshm_draft_end(const sfshm_draft_t *image)
{
  return image->base + image->length_bytes;
}

/* Keeps an array of so many bytes that was written to the end. Returns its offset. */
uint64_t sfshm_draft_keep(sfshm_draft_t *image, size_t bytes);

/* The shortest form of the n indices that were written to the end, as int64_t if wide, else as uint32_t: keeps the
 * array only if the pattern needs it. */
sfshm_stored_pattern_t sfshm_draft_keep_pattern(sfshm_draft_t *image, int64_t n, bool wide);

/* The shortest form of a pattern, with its array, as narrow as max allows, in the image. */
sfshm_stored_pattern_t sfshm_draft_store(sfshm_draft_t *image, const sfshm_pattern_t *pattern, int64_t max);

/* A piece of a pattern that is stored in the image, over the same array. */
sfshm_stored_pattern_t sfshm_draft_slice(const sfshm_draft_t *image, const sfshm_stored_pattern_t *stored,
                                         int64_t first, int64_t n);

/* Ends the making: gives memory back if much is not needed. */
void sfshm_draft_finish(sfshm_draft_t *image);

#endif
