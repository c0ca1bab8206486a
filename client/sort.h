/* Sorting of edges. */
#ifndef SFC_SORT_H
#define SFC_SORT_H

#include <stdint.h>

#include <sf/sf_status.h>

/* An edge within one block. */
typedef struct sfc_edge {
  int64_t root;
  int64_t leaf;
} sfc_edge_t;

/* Sorts by (root, leaf). scratch has room for n. root_max and leaf_max bound the values (>= 0), so that only the bits
 * that differ cost time; edges that are in order already cost one look. */
void sfc_sort_edges(sfc_edge_t edges[], sfc_edge_t scratch[], int64_t n, int64_t root_max, int64_t leaf_max);

#endif
