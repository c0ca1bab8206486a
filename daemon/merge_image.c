/* Images in the making: see merge_image.h. Any thread. */
#include "daemon/merge_image.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/merge_keys.h"
#include "shm/error.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define MUCH_BYTES ((size_t)256 << 10)

void *sfd_take_memory(size_t bytes)
{
  if (bytes < MUCH_BYTES || bytes > SIZE_MAX - HUGE_PAGE_BYTES)
    return malloc(bytes);
  size_t rounded = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
  void *memory = aligned_alloc(HUGE_PAGE_BYTES, rounded);
  if (memory != NULL)
    (void)madvise(memory, rounded, MADV_HUGEPAGE); /* a wish; not every kernel grants it */
  return memory;
}

sf_status_t sfd_image_init(sfd_image_t *image, size_t capacity_bytes)
{
  *image = (sfd_image_t){.base = sfd_take_memory(capacity_bytes), .capacity_bytes = capacity_bytes};
  return image->base != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "trunk image of %zu bytes", capacity_bytes);
}

uint64_t sfd_image_append(sfd_image_t *image, size_t bytes)
{
  memset(sfd_image_end(image), 0, bytes);
  return sfd_image_keep(image, bytes);
}

uint64_t sfd_image_keep(sfd_image_t *image, size_t bytes)
{
  uint64_t offset = image->length_bytes;
  size_t padded = sfd_image_array_bytes((int64_t)bytes, 1);
  assert(padded <= image->capacity_bytes - image->length_bytes);
  memset(image->base + offset + bytes, 0, padded - bytes);
  image->length_bytes += padded;
  return offset;
}

static sfshm_stored_pattern_t describe(const sfshm_pattern_t *pattern, uint64_t offset)
{
  bool arithmetic = pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED;
  return (sfshm_stored_pattern_t){.kind = (uint32_t)pattern->kind,
                                  .n = pattern->n,
                                  .start = pattern->start,
                                  .stride = pattern->stride,
                                  .offset = arithmetic ? 0 : offset};
}

sfshm_stored_pattern_t sfd_image_keep_pattern(sfd_image_t *image, int64_t n, bool wide)
{
  sfshm_pattern_t pattern =
      wide ? sfshm_pattern_from_index64(sfd_image_end(image), n) : sfshm_pattern_from_index32(sfd_image_end(image), n);
  sfshm_stored_pattern_t stored = describe(&pattern, image->length_bytes);
  if (pattern.kind == SFSHM_PATTERN_INDEX32 || pattern.kind == SFSHM_PATTERN_INDEX64)
    sfd_image_keep(image, (size_t)n * (wide ? sizeof(int64_t) : sizeof(uint32_t)));
  return stored;
}

static sfshm_pattern_t shortest(const sfshm_pattern_t *pattern)
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    return sfshm_pattern_from_index32(pattern->index32, pattern->n);
  if (pattern->kind == SFSHM_PATTERN_INDEX64)
    return sfshm_pattern_from_index64(pattern->index64, pattern->n);
  sfshm_pattern_t arithmetic = sfshm_pattern_contiguous(pattern->start, pattern->n);
  if (pattern->n > 1 && pattern->stride != 1) {
    arithmetic.kind = SFSHM_PATTERN_STRIDED;
    arithmetic.stride = pattern->stride;
  }
  return arithmetic;
}

sfshm_stored_pattern_t sfd_image_store(sfd_image_t *image, const sfshm_pattern_t *pattern, int64_t max)
{
  sfshm_pattern_t found = shortest(pattern);
  bool wide = max > UINT32_MAX;
  if (found.kind == SFSHM_PATTERN_CONTIGUOUS || found.kind == SFSHM_PATTERN_STRIDED)
    return describe(&found, 0);
  if (wide)
    sfd_write_wide(&found, sfd_image_end(image));
  else
    sfd_write_narrow(&found, 0, sfd_image_end(image));
  found.kind = wide ? SFSHM_PATTERN_INDEX64 : SFSHM_PATTERN_INDEX32;
  return describe(&found, sfd_image_keep(image, (size_t)found.n * (wide ? sizeof(int64_t) : sizeof(uint32_t))));
}

sfshm_stored_pattern_t sfd_image_slice(const sfd_image_t *image, const sfshm_stored_pattern_t *stored, int64_t first,
                                       int64_t n)
{
  if (n == stored->n)
    return *stored;
  sfshm_pattern_t pattern = {.kind = (sfshm_pattern_kind_t)stored->kind,
                             .n = n,
                             .start = stored->start + first * stored->stride,
                             .stride = stored->stride};
  uint64_t offset = stored->offset;
  if (pattern.kind == SFSHM_PATTERN_INDEX32) {
    offset += (uint64_t)first * sizeof(uint32_t);
    pattern.index32 = sfd_image_at(image, offset);
  } else if (pattern.kind == SFSHM_PATTERN_INDEX64) {
    offset += (uint64_t)first * sizeof(int64_t);
    pattern.index64 = sfd_image_at(image, offset);
  }
  pattern = shortest(&pattern);
  return describe(&pattern, offset);
}

void sfd_image_finish(sfd_image_t *image)
{
  if (image->length_bytes > image->capacity_bytes / 2)
    return;
  char *base = realloc(image->base, image->length_bytes);
  if (base != NULL)
    image->base = base;
  image->capacity_bytes = image->length_bytes;
}
