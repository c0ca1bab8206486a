/* Stable radix sort of (key, item) pairs. */
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

#endif
