/* Pieces of a trunk image, as trunk_image.c and root_image.c open them. Any thread; stateless. */
#ifndef SFSHM_TRUNK_IMAGE_H
#define SFSHM_TRUNK_IMAGE_H

#include <stdbool.h>

#include "shm/trunk/trunk.h"

/* Whether the image holds n entries of width bytes at the offset, which is a multiple of the alignment. */
bool sfshm_image_holds(const sfshm_image_t *image, uint64_t offset, uint64_t n, uint64_t width, uint64_t alignment);

static inline const void *sfshm_image_at(const sfshm_image_t *image, uint64_t offset)
{
  return (const char *)image->base + offset;
}

/* Bytes of a pattern's index array. */
uint64_t sfshm_image_array_bytes(const sfshm_stored_pattern_t *stored);

/* Opens a pattern of 1 to max_n entries. Does not read its indices. what: for the error. SF_ERR_PROTO: malformed. */
sf_status_t sfshm_image_open_pattern(const sfshm_image_t *image, const sfshm_stored_pattern_t *stored, const char *what,
                                     int64_t max_n, sfshm_pattern_t *pattern_p);

#endif
