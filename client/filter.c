/* Leaving edges out of links: see filter.h. */
#include "client/filter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/edges.h"
#include "shm/error.h"

/* ---- Sets -------------------------------------------------------------------------------------------------------- */

static bool is_kept(const uint64_t kept[], int64_t edge)
{
  return (kept[edge >> 6] >> (edge & 63) & 1) != 0;
}

static void add_marked(const sfshm_pattern_t *pattern, const uint8_t marks[], int64_t first_edge, uint64_t kept[])
{
  for (int64_t i = 0, edge = first_edge; i < pattern->n; i++, edge++)
    kept[edge >> 6] |= (uint64_t)(marks[sfshm_pattern_at(pattern, i)] != 0) << (edge & 63);
}

void sfc_filter_by_leaves(const sfc_link_t *link, const uint8_t leaves[], uint64_t kept[])
{
  add_marked(&link->leaf, leaves, 0, kept);
}

void sfc_filter_by_roots(const sfc_link_t *link, const uint8_t roots[], uint64_t kept[])
{
  add_marked(&link->value_root, roots, 0, kept);
  add_marked(&link->extra_root, roots, link->nvalues, kept);
}

void sfc_filter_values(const sfc_link_t *link, const uint64_t kept[], int64_t first, uint64_t values[])
{
  for (int64_t v = 0, to = first; v < link->nvalues; v++, to++)
    values[to >> 6] |= (uint64_t)is_kept(kept, v) << (to & 63);
  for (int64_t e = 0; e < link->extra_value.n; e++) {
    int64_t to = first + sfshm_pattern_at(&link->extra_value, e);
    values[to >> 6] |= (uint64_t)is_kept(kept, link->nvalues + e) << (to & 63);
  }
}

int64_t sfc_filter_count(const sfc_link_t *link, const uint64_t kept[])
{
  int64_t n = 0, full = link->nedges >> 6, rest = link->nedges & 63;
  for (int64_t i = 0; i < full; i++)
    n += __builtin_popcountll(kept[i]);
  if (rest > 0)
    n += __builtin_popcountll(kept[full] & ((UINT64_C(1) << rest) - 1));
  return n;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* An array of indices in the making. */
typedef struct array {
  char *base;
  size_t offset; /* in the image */
  bool wide;
} array_t;

static void put(const array_t *array, int64_t i, int64_t value)
{
  if (array->wide)
    ((int64_t *)(void *)array->base)[i] = value;
  else
    ((uint32_t *)(void *)array->base)[i] = (uint32_t)value;
}

/* Of an array of 64 bits nobody looks whether less would do. */
static bool is_wide(const sfshm_pattern_t *pattern)
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32 || pattern->kind == SFSHM_PATTERN_INDEX64)
    return pattern->kind == SFSHM_PATTERN_INDEX64;
  return sfshm_pattern_max(pattern) > UINT32_MAX;
}

static array_t place(char *image, size_t *offset, int64_t n, bool wide)
{
  array_t array = {image + *offset, *offset, wide};
  *offset += sfc_edge_array_bytes(n, wide);
  return array;
}

/* How many extra edges there can be among nkept edges. */
static int64_t most_extra(const sfc_link_t *link, int64_t nkept)
{
  return link->extra_value.n < nkept ? link->extra_value.n : nkept;
}

size_t sfc_filter_room(const sfc_link_t *link, int64_t nkept)
{
  int64_t nextra = most_extra(link, nkept);
  bool wide_leaves = is_wide(&link->leaf);
  return sfc_edge_array_bytes(nkept + 1, is_wide(&link->value_root)) + sfc_edge_array_bytes(nkept + 1, wide_leaves) +
         sfc_edge_array_bytes(nextra + 1, nkept > UINT32_MAX) + sfc_edge_array_bytes(nextra + 1, wide_leaves);
}

/* The shortest form of an array. */
static sfshm_stored_pattern_t store(const array_t *array, int64_t n)
{
  sfshm_pattern_t pattern = sfshm_pattern_from_indices(array->base, n, array->wide);
  sfshm_stored_pattern_t stored = {.kind = (uint32_t)pattern.kind, .n = n};
  if (pattern.kind == SFSHM_PATTERN_INDEX32 || pattern.kind == SFSHM_PATTERN_INDEX64) {
    stored.offset = array->offset;
  } else {
    stored.start = pattern.start;
    stored.stride = pattern.stride;
  }
  return stored;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* What is written, and how much of it there is. What stays can't be foreseen by the processor, so that everything is
 * written, and then written over if it does not: arrays are longer by one. */
typedef struct making {
  array_t root;
  array_t leaf;
  array_t extra_value;
  array_t extra_leaf; /* for a moment: they are to stand behind the others */
  int64_t nvalues;
  int64_t nextra;
} making_t;

/* What is known of values, if there are extra edges. */
typedef struct values {
  uint64_t *stay;    /* those of which some edge stays */
  uint64_t *carried; /* those of which an edge has been found that carries them */
  int64_t *before;   /* how many stay, before each word of the set */
} values_t;

static void put_values(const sfc_link_t *link, const uint64_t stay[], making_t *making)
{
  for (int64_t value = 0; value < link->nvalues; value++) {
    put(&making->root, making->nvalues, sfshm_pattern_at(&link->value_root, value));
    put(&making->leaf, making->nvalues, sfshm_pattern_at(&link->leaf, value));
    making->nvalues += is_kept(stay, value);
  }
}

static sf_status_t find_values(const sfc_link_t *link, const uint64_t kept[], values_t *values)
{
  int64_t nwords = link->nvalues / 64 + 1, n = 0;
  values->stay = calloc(3 * (size_t)nwords, sizeof *values->stay);
  if (values->stay == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)link->nedges);
  values->carried = values->stay + nwords;
  values->before = (int64_t *)(values->carried + nwords);
  memcpy(values->stay, kept, (size_t)(link->nvalues / 64) * sizeof *kept);
  for (int64_t value = link->nvalues / 64 * 64; value < link->nvalues; value++)
    values->stay[value >> 6] |= (uint64_t)is_kept(kept, value) << (value & 63);
  memcpy(values->carried, values->stay, (size_t)nwords * sizeof *kept);
  for (int64_t e = 0; e < link->extra_value.n; e++) {
    int64_t value = sfshm_pattern_at(&link->extra_value, e);
    values->stay[value >> 6] |= (uint64_t)is_kept(kept, link->nvalues + e) << (value & 63);
  }
  for (int64_t word = 0; word < nwords; word++) {
    values->before[word] = n;
    n += __builtin_popcountll(values->stay[word]);
  }
  return SF_OK;
}

/* The first edge of a value that stays carries it, the others are extra ones. */
static void put_extras(const sfc_link_t *link, const uint64_t kept[], const values_t *values, making_t *making)
{
  for (int64_t e = 0; e < link->extra_value.n; e++) {
    int64_t edge = link->nvalues + e, value = sfshm_pattern_at(&link->extra_value, e), word = value >> 6;
    uint64_t bit = UINT64_C(1) << (value & 63);
    int64_t number = values->before[word] + __builtin_popcountll(values->stay[word] & (bit - 1));
    int64_t leaf = sfshm_pattern_at(&link->leaf, edge);
    bool carried = (values->carried[word] & bit) != 0, stays = is_kept(kept, edge);
    put(&making->extra_value, making->nextra, number);
    put(&making->extra_leaf, making->nextra, leaf);
    making->nextra += stays && carried;
    if (stays && !carried) {
      put(&making->leaf, number, leaf);
      values->carried[word] |= bit;
    }
  }
}

static sf_status_t put_all(const sfc_link_t *link, const uint64_t kept[], making_t *making)
{
  values_t values = {.stay = NULL};
  if (link->extra_value.n == 0) {
    put_values(link, kept, making);
    return SF_OK;
  }
  sf_status_t status = find_values(link, kept, &values);
  if (status != SF_OK)
    return status;
  put_values(link, values.stay, making);
  put_extras(link, kept, &values, making);
  size_t width = making->leaf.wide ? sizeof(int64_t) : sizeof(uint32_t);
  memcpy(making->leaf.base + (size_t)making->nvalues * width, making->extra_leaf.base, (size_t)making->nextra * width);
  free(values.stay);
  return SF_OK;
}

sf_status_t sfc_filter_write(const sfc_link_t *link, const uint64_t kept[], int64_t nkept, char *image, size_t offset,
                             sfshm_edge_block_t *block_p)
{
  int64_t nextra = most_extra(link, nkept);
  bool wide_leaves = is_wide(&link->leaf);
  making_t making = {.nvalues = 0};
  making.root = place(image, &offset, nkept + 1, is_wide(&link->value_root));
  making.leaf = place(image, &offset, nkept + 1, wide_leaves);
  making.extra_value = place(image, &offset, nextra + 1, nkept > UINT32_MAX);
  making.extra_leaf = place(image, &offset, nextra + 1, wide_leaves);
  sf_status_t status = put_all(link, kept, &making);
  if (status != SF_OK)
    return status;
  *block_p = (sfshm_edge_block_t){
      .value_root = store(&making.root, making.nvalues),
      .leaf = store(&making.leaf, nkept),
      .extra_value = store(&making.extra_value, making.nextra),
      .extra_edge = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = making.nextra, .start = making.nvalues, .stride = 1},
  };
  return SF_OK;
}
