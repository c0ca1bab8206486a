/* Keys of roots: see keys.h. Any thread. */
#include "shm/trunk/merge/keys.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Options that -O2 lacks: vectorise loops of unknown length. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

/* A table for all keys has at most 4 times as many bytes per value. */
#define MAX_SPREAD 8

/* ---- Indices of patterns ----------------------------------------------------------------------------------------- */

void sfshm_write_narrow(const sfshm_pattern_t *pattern, int64_t base, uint32_t index[])
{
  uint32_t low = (uint32_t)base; /* differences are below 2^32, so that the lower halves suffice */
  switch (pattern->kind) {
  case SFSHM_PATTERN_INDEX32:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = pattern->index32[i] - low;
    break;
  case SFSHM_PATTERN_INDEX64:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = (uint32_t)pattern->index64[i] - low;
    break;
  default:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = (uint32_t)pattern->start + (uint32_t)i * (uint32_t)pattern->stride - low;
  }
}

void sfshm_write_wide(const sfshm_pattern_t *pattern, int64_t base, int64_t index[])
{
  switch (pattern->kind) {
  case SFSHM_PATTERN_INDEX32:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = pattern->index32[i] - base;
    break;
  case SFSHM_PATTERN_INDEX64:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = pattern->index64[i] - base;
    break;
  default:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = pattern->start + i * pattern->stride - base;
  }
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

sfshm_keys_t sfshm_keys_find(const sfshm_merge_block_t blocks[], int32_t nblocks)
{
  int64_t min = INT64_MAX, max = 0;
  for (int32_t b = 0; b < nblocks; b++) {
    const sfshm_pattern_survey_t *roots = &blocks[b].edges->roots;
    min = roots->min < min ? roots->min : min;
    max = roots->max > max ? roots->max : max;
  }
  return (sfshm_keys_t){.base = min, .root_max = max};
}

bool sfshm_keys_are_wide(const sfshm_keys_t *keys)
{
  return keys->root_max - keys->base > UINT32_MAX;
}

bool sfshm_keys_are_dense(const sfshm_keys_t *keys, int64_t nvalues)
{
  int64_t span = keys->root_max - keys->base;
  return span < UINT32_MAX && span / MAX_SPREAD <= nvalues;
}

void sfshm_keys_write_roots(const sfshm_keys_t *keys, const void *key, int64_t n, void *roots)
{
  const uint32_t *narrow_key = key;
  const int64_t *wide_key = key;
  uint32_t *narrow = roots, low = (uint32_t)keys->base;
  int64_t *wide = roots;
  if (sfshm_keys_are_wide(keys)) /* then roots are, too */
    for (int64_t i = 0; i < n; i++)
      wide[i] = wide_key[i] + keys->base;
  else if (keys->root_max <= UINT32_MAX)
    for (int64_t i = 0; i < n; i++)
      narrow[i] = narrow_key[i] + low;
  else
    for (int64_t i = 0; i < n; i++)
      wide[i] = narrow_key[i] + keys->base;
}
