/* Images under construction: see draft.h. Any thread. */
#include "shm/trunk/merge/draft.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/trunk/merge/keys.h"

sf_status_t sfshm_draft_init(sfshm_draft_t *image, size_t capacity_bytes)
{
  *image = (sfshm_draft_t){.base = malloc(capacity_bytes), .capacity_bytes = capacity_bytes};
  return image->base != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "trunk image of %zu bytes", capacity_bytes);
}

/* Keeps an array of so many bytes that was written to the end. Returns its offset. */
static uint64_t keep(sfshm_draft_t *image, size_t bytes)
{
  uint64_t offset = image->length_bytes;
  size_t padded = sfshm_draft_array_bytes((int64_t)bytes, 1);
  assert(padded <= image->capacity_bytes - image->length_bytes);
  memset(image->base + offset + bytes, 0, padded - bytes);
  image->length_bytes += padded;
  return offset;
}

uint64_t sfshm_draft_append(sfshm_draft_t *image, size_t bytes)
{
  memset(sfshm_draft_end(image), 0, bytes);
  return keep(image, bytes);
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

sfshm_stored_pattern_t sfshm_draft_keep_pattern(sfshm_draft_t *image, int64_t n, bool wide)
{
  sfshm_pattern_t pattern = wide ? sfshm_pattern_from_index64(sfshm_draft_end(image), n)
                                 : sfshm_pattern_from_index32(sfshm_draft_end(image), n);
  sfshm_stored_pattern_t stored = describe(&pattern, image->length_bytes);
  if (pattern.kind == SFSHM_PATTERN_INDEX32 || pattern.kind == SFSHM_PATTERN_INDEX64)
    keep(image, (size_t)n * (wide ? sizeof(int64_t) : sizeof(uint32_t)));
  return stored;
}

sfshm_stored_pattern_t sfshm_draft_store(sfshm_draft_t *image, const sfshm_pattern_t *pattern, int64_t max)
{
  sfshm_pattern_t found = sfshm_pattern_shorten(pattern);
  bool wide = max > UINT32_MAX;
  if (found.kind == SFSHM_PATTERN_CONTIGUOUS || found.kind == SFSHM_PATTERN_STRIDED)
    return describe(&found, 0);
  if (wide)
    sfshm_write_wide(&found, 0, sfshm_draft_end(image));
  else
    sfshm_write_narrow(&found, 0, sfshm_draft_end(image));
  found.kind = wide ? SFSHM_PATTERN_INDEX64 : SFSHM_PATTERN_INDEX32;
  return describe(&found, keep(image, (size_t)found.n * (wide ? sizeof(int64_t) : sizeof(uint32_t))));
}

sfshm_stored_pattern_t sfshm_draft_slice(const sfshm_draft_t *image, const sfshm_stored_pattern_t *stored,
                                         int64_t first, int64_t n)
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
    pattern.index32 = sfshm_draft_at(image, offset);
  } else if (pattern.kind == SFSHM_PATTERN_INDEX64) {
    offset += (uint64_t)first * sizeof(int64_t);
    pattern.index64 = sfshm_draft_at(image, offset);
  }
  pattern = sfshm_pattern_shorten(&pattern);
  return describe(&pattern, offset);
}

void sfshm_draft_finish(sfshm_draft_t *image)
{
  if (image->length_bytes > image->capacity_bytes / 2)
    return;
  char *base = realloc(image->base, image->length_bytes);
  if (base != NULL)
    image->base = base;
  image->capacity_bytes = image->length_bytes;
}
