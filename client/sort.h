/* Sorting of pairs. */
#ifndef SFC_SORT_H
#define SFC_SORT_H

#include <stdint.h>

#include <sf/sf_status.h>

/* A key >= 0, and what goes with it. */
typedef struct sfc_keyed {
  int64_t key;
  int64_t item;
} sfc_keyed_t;

/* Sorts by key; pairs with equal keys keep their order. scratch has room for n. key_max bounds the keys, so that only
 * the bits that differ cost time; pairs that are in order already cost one look. */
void sfc_sort(sfc_keyed_t pairs[], sfc_keyed_t scratch[], int64_t n, int64_t key_max);

#endif
