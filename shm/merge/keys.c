/* Keys of roots: see merge_keys.h. Any thread. */
#include "shm/merge/keys.h"

#include <stdlib.h>
#include <string.h>

#include "shm/error.h"
#include "shm/merge/draft.h"

/* Bytes of a table with room for all keys are at most 4 times this for each value; otherwise roots are sorted. */
#define MAX_SPREAD 8
#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)

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

void sfshm_write_wide(const sfshm_pattern_t *pattern, int64_t index[])
{
  switch (pattern->kind) {
  case SFSHM_PATTERN_INDEX32:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = pattern->index32[i];
    break;
  case SFSHM_PATTERN_INDEX64:
    memcpy(index, pattern->index64, (size_t)pattern->n * sizeof *index);
    break;
  default:
    for (int64_t i = 0; i < pattern->n; i++)
      index[i] = pattern->start + i * pattern->stride;
  }
}

/* ---- Sorting ----------------------------------------------------------------------------------------------------- */

typedef struct sfshm_sorted {
  uint64_t root;
  uint64_t value; /* its number in the owner's blocks */
} sfshm_sorted_t;

static inline uint32_t digit(const sfshm_sorted_t *entry, int shift)
{
  return (uint32_t)(entry->root >> shift) & (DIGITS - 1);
}

static void distribute(const sfshm_sorted_t from[], sfshm_sorted_t to[], int64_t n, int shift)
{
  int64_t start[DIGITS] = {0}, sum = 0;
  for (int64_t i = 0; i < n; i++)
    start[digit(&from[i], shift)]++;
  for (int d = 0; d < DIGITS; d++) {
    int64_t count = start[d];
    start[d] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; i++)
    to[start[digit(&from[i], shift)]++] = from[i];
}

/* By radix, least significant digits first: no choice of roots makes it slow. Returns where the result is. */
static sfshm_sorted_t *sort(sfshm_sorted_t entries[], sfshm_sorted_t scratch[], int64_t n, uint64_t max)
{
  for (int shift = 0; shift < 64 && max >> shift != 0; shift += DIGIT_BITS) {
    distribute(entries, scratch, n, shift);
    sfshm_sorted_t *swap = entries;
    entries = scratch;
    scratch = swap;
  }
  return entries;
}

/* Roots less the base, which sorting then takes fewer passes for. */
static void list_roots(const sfshm_merge_block_t blocks[], int32_t nblocks, int64_t base, sfshm_sorted_t entries[])
{
  uint64_t value = 0;
  for (int32_t b = 0; b < nblocks; b++) {
    const sfshm_pattern_t *root = &blocks[b].edges->value_root;
    for (int64_t i = 0; i < root->n; i++, value++)
      entries[value] = (sfshm_sorted_t){(uint64_t)(sfshm_pattern_at(root, i) - base), value};
  }
}

static void number_roots(sfshm_keys_t *keys, const sfshm_sorted_t entries[], int64_t n, uint32_t key_of_value[])
{
  keys->nkeys = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || entries[i].root != entries[i - 1].root)
      keys->sorted[keys->nkeys++] = (int64_t)entries[i].root + keys->base;
    key_of_value[entries[i].value] = keys->nkeys - 1;
  }
}

static sf_status_t number_sorted(sfshm_keys_t *keys, const sfshm_merge_block_t blocks[], int32_t nblocks,
                                 int64_t nvalues, uint32_t key_of_value[])
{
  sfshm_sorted_t *entries = malloc(2 * (size_t)nvalues * sizeof *entries);
  keys->sorted = malloc((size_t)nvalues * sizeof *keys->sorted);
  if (entries == NULL || keys->sorted == NULL) {
    free(entries);
    sfshm_keys_destroy(keys);
    return sfshm_error(SF_ERR_NOMEM, "sorting %lld roots of rank %d", (long long)nvalues, blocks[0].owner);
  }
  list_roots(blocks, nblocks, keys->base, entries);
  const sfshm_sorted_t *sorted = sort(entries, entries + nvalues, nvalues, (uint64_t)(keys->root_max - keys->base));
  number_roots(keys, sorted, nvalues, key_of_value);
  free(entries);
  return SF_OK;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

sf_status_t sfshm_keys_init(sfshm_keys_t *keys, const sfshm_merge_block_t blocks[], int32_t nblocks, int64_t nvalues,
                            uint32_t key_of_value[])
{
  int64_t min = INT64_MAX, max = 0;
  for (int32_t b = 0; b < nblocks; b++) {
    const sfshm_pattern_survey_t *roots = &blocks[b].edges->roots;
    min = roots->min < min ? roots->min : min;
    max = roots->max > max ? roots->max : max;
  }
  *keys = (sfshm_keys_t){.base = min, .root_max = max};
  if (max - min >= UINT32_MAX || (max - min) / MAX_SPREAD > nvalues)
    return number_sorted(keys, blocks, nblocks, nvalues, key_of_value);
  keys->nkeys = (uint32_t)(max - min) + 1;
  return SF_OK;
}

void sfshm_keys_destroy(sfshm_keys_t *keys)
{
  free(keys->sorted);
  *keys = (sfshm_keys_t){0};
}

void sfshm_keys_write_roots(const sfshm_keys_t *keys, const uint32_t key[], int64_t n, void *roots)
{
  uint32_t *narrow = roots, low = (uint32_t)keys->base;
  int64_t *wide = roots;
  if (keys->root_max <= UINT32_MAX && keys->sorted == NULL)
    for (int64_t i = 0; i < n; i++)
      narrow[i] = key[i] + low;
  else if (keys->root_max <= UINT32_MAX)
    for (int64_t i = 0; i < n; i++)
      narrow[i] = (uint32_t)keys->sorted[key[i]];
  else if (keys->sorted == NULL)
    for (int64_t i = 0; i < n; i++)
      wide[i] = key[i] + keys->base;
  else
    for (int64_t i = 0; i < n; i++)
      wide[i] = keys->sorted[key[i]];
}
