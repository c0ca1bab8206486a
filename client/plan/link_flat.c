/* Links of several arrays as one: see sfc_link_flatten. Any thread. */
#include <stdlib.h>

#include "client/plan/link.h"

/* Indices as they are collected, and their largest one. */
typedef struct list {
  int64_t *index;
  int64_t n;
  int64_t largest;
} list_t;

static void add(list_t *list, const sfshm_pattern_t *pattern, int64_t n, int64_t offset)
{
  for (int64_t i = 0; i < n; i++) {
    int64_t index = sfshm_pattern_at(pattern, i) + offset;
    list->index[list->n++] = index;
    list->largest = index > list->largest ? index : list->largest;
  }
}

/* Moves the list to memory that the link owns, in its shortest form. */
static bool store(const list_t *list, sfc_link_t *flat)
{
  bool wide = list->largest > UINT32_MAX;
  void *memory = malloc((size_t)list->n * (wide ? sizeof(int64_t) : sizeof(uint32_t)) + 1);
  sfshm_pattern_t all = {.kind = SFSHM_PATTERN_INDEX64, .n = list->n, .index64 = list->index};
  if (memory == NULL)
    return false;
  sfshm_pattern_copy(&all, NULL, wide, memory);
  flat->memory[0] = memory;
  return true;
}

/* The pattern of n indices behind the first at ones. */
static sfshm_pattern_t take(const list_t *list, const sfc_link_t *flat, int64_t at, int64_t n)
{
  bool wide = list->largest > UINT32_MAX;
  const char *memory = flat->memory[0];
  return sfshm_pattern_from_indices(memory + (size_t)at * (wide ? sizeof(int64_t) : sizeof(uint32_t)), n, wide);
}

bool sfc_link_adjoins(const sfc_link_t *link, sfshm_operation_t operation, bool sends, const int64_t offsets[],
                      int32_t n)
{
  bool roots = (operation == SFSHM_BCAST) == sends;
  const sfshm_pattern_t *pattern = roots ? &link->value_root : &link->leaf;
  int64_t count = sfc_link_count(link, operation);
  if (pattern->kind != SFSHM_PATTERN_CONTIGUOUS || link->extra_value.n > 0)
    return false;
  for (int32_t k = 1; k < n; k++)
    if (offsets[k] != offsets[0] + k * count)
      return false;
  return true;
}

bool sfc_link_flatten(const sfc_link_t *link, sfshm_operation_t operation, bool sends, const int64_t offsets[],
                      int32_t n, sfc_link_t *flat_p)
{
  bool bcast = operation == SFSHM_BCAST;
  int64_t count = sfc_link_count(link, operation), nextra = bcast && !sends ? link->extra_value.n : 0;
  const sfshm_pattern_t *first = bcast == sends ? &link->value_root : &link->leaf;
  int64_t nfirst = bcast || sends ? count : link->nvalues; /* the roots of other contributions are extra */
  sfc_link_t flat = {.nvalues = count * n, .nedges = (count + nextra) * n};
  sfshm_pattern_t *main = bcast == sends ? &flat.value_root : &flat.leaf;
  if (sfc_link_adjoins(link, operation, sends, offsets, n)) {
    *main = sfshm_pattern_contiguous(first->start + offsets[0], count * n);
    *flat_p = flat;
    return true;
  }
  list_t list = {.index = malloc((size_t)((count + 2 * nextra) * n) * sizeof(int64_t) + 1)};
  if (list.index == NULL)
    return false;
  for (int32_t k = 0; k < n; k++) {
    add(&list, first, nfirst, offsets[k]);
    add(&list, &link->extra_root, count - nfirst, offsets[k]);
  }
  for (int32_t k = 0; k < n; k++)
    add(&list, &link->extra_value, nextra, k * count);
  for (int32_t k = 0; k < n; k++)
    add(&list, &link->extra_leaf, nextra, offsets[k]);
  bool stored = store(&list, &flat);
  free(list.index);
  if (!stored)
    return false;
  *main = take(&list, &flat, 0, count * n);
  flat.extra_value = take(&list, &flat, count * n, nextra * n);
  flat.extra_leaf = take(&list, &flat, (count + nextra) * n, nextra * n);
  *flat_p = flat;
  return true;
}
