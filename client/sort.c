/* Radix sort of edges, least significant digits first: see sort.h. */
#include "client/sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)
#define INSERTION_LIMIT 48

static inline bool is_before(const sfc_edge_t *a, const sfc_edge_t *b)
{
  return a->root != b->root ? a->root < b->root : a->leaf < b->leaf;
}

static bool is_sorted(const sfc_edge_t edges[], int64_t n)
{
  for (int64_t i = 1; i < n; i++)
    if (is_before(&edges[i], &edges[i - 1]))
      return false;
  return true;
}

static bool leaves_ascend(const sfc_edge_t edges[], int64_t n)
{
  for (int64_t i = 1; i < n; i++)
    if (edges[i].leaf < edges[i - 1].leaf)
      return false;
  return true;
}

static void insertion_sort(sfc_edge_t edges[], int64_t n)
{
  for (int64_t i = 1; i < n; i++) {
    sfc_edge_t edge = edges[i];
    int64_t j = i;
    for (; j > 0 && is_before(&edge, &edges[j - 1]); j--)
      edges[j] = edges[j - 1];
    edges[j] = edge;
  }
}

static inline uint64_t digit(const sfc_edge_t *edge, bool by_root, int shift)
{
  return (uint64_t)(by_root ? edge->root : edge->leaf) >> shift & (DIGITS - 1);
}

static inline __attribute__((always_inline)) void distribute(const sfc_edge_t from[], sfc_edge_t to[], int64_t n,
                                                             bool by_root, int shift)
{
  int64_t start[DIGITS] = {0};
  for (int64_t i = 0; i < n; i++)
    start[digit(&from[i], by_root, shift)]++;
  int64_t sum = 0;
  for (int d = 0; d < DIGITS; d++) {
    int64_t count = start[d];
    start[d] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; i++)
    to[start[digit(&from[i], by_root, shift)]++] = from[i];
}

void sfc_sort_edges(sfc_edge_t edges[], sfc_edge_t scratch[], int64_t n, int64_t root_max, int64_t leaf_max)
{
  sfc_edge_t *from = edges, *to = scratch, *swap;
  if (is_sorted(edges, n))
    return;
  if (n <= INSERTION_LIMIT) {
    insertion_sort(edges, n);
    return;
  }
  if (!leaves_ascend(edges, n)) {
    for (int shift = 0; shift < 64 && leaf_max >> shift != 0; shift += DIGIT_BITS) {
      distribute(from, to, n, false, shift);
      swap = from, from = to, to = swap;
    }
  }
  for (int shift = 0; shift < 64 && root_max >> shift != 0; shift += DIGIT_BITS) {
    distribute(from, to, n, true, shift);
    swap = from, from = to, to = swap;
  }
  if (from != edges)
    memcpy(edges, from, (size_t)n * sizeof *edges);
}
