/* Stable radix sort of (key, item) pairs, and comparison of numbers for qsort. */
#ifndef SFSHM_BASE_SORT_H
#define SFSHM_BASE_SORT_H

#include <stdint.h>

#include <sf/sf_status.h>

/* A key >= 0 and its item. */
typedef struct sfshm_keyed {
  int64_t key;
  int64_t item;
} sfshm_keyed_t;

/* Sorts n pairs by key; pairs with equal keys keep their order. scratch has n elements. key_max bounds the keys, so
 * that the sort processes only significant bits. Pairs that are in order cost one pass. */
void sfshm_sort(sfshm_keyed_t pairs[], sfshm_keyed_t scratch[], int64_t n, int64_t key_max);

/* Ascending int32_t, for qsort and bsearch; also of structs that begin with one. */
static inline int sfshm_compare_int32(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

#endif
