/* Sorting of pairs. */
#ifndef SFSHM_SORT_H
#define SFSHM_SORT_H

#include <stdint.h>

#include <sf/sf_status.h>

/* A key >= 0, and what goes with it. */
typedef struct sfshm_keyed {
  int64_t key;
  int64_t item;
} sfshm_keyed_t;

/* Sorts by key; pairs with equal keys keep their order. scratch has room for n. key_max bounds the keys, so that only
 * the bits that differ cost time; pairs that are in order already cost one look. */
void sfshm_sort(sfshm_keyed_t pairs[], sfshm_keyed_t scratch[], int64_t n, int64_t key_max);

#endif
