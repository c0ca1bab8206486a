/* Radix sort of pairs, least significant digits first: see sort.h. */
#include "shm/base/sort.h"

#include <stdbool.h>
#include <string.h>

#define FEW 4096 /* pairs for which clearing and adding up many counts would take longer than another pass */
#define DIGIT_BITS 11
#define DIGIT_BITS_OF_FEW 7
#define INSERTION_LIMIT 32

static bool is_sorted(const sfshm_keyed_t pairs[], int64_t n)
{
  for (int64_t i = 1; i < n; i++)
    if (pairs[i].key < pairs[i - 1].key)
      return false;
  return true;
}

static void insertion_sort(sfshm_keyed_t pairs[], int64_t n)
{
  for (int64_t i = 1; i < n; i++) {
    sfshm_keyed_t pair = pairs[i];
    int64_t j = i;
    for (; j > 0 && pair.key < pairs[j - 1].key; j--)
      pairs[j] = pairs[j - 1];
    pairs[j] = pair;
  }
}

static void distribute(const sfshm_keyed_t from[], sfshm_keyed_t to[], int64_t n, int shift, int bits)
{
  int64_t start[1 << DIGIT_BITS];
  uint64_t mask = (UINT64_C(1) << bits) - 1;
  memset(start, 0, sizeof start[0] << bits);
  for (int64_t i = 0; i < n; i++)
    start[(uint64_t)from[i].key >> shift & mask]++;
  int64_t sum = 0;
  for (uint64_t d = 0; d <= mask; d++) {
    int64_t count = start[d];
    start[d] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; i++)
    to[start[(uint64_t)from[i].key >> shift & mask]++] = from[i];
}

void sfshm_sort(sfshm_keyed_t pairs[], sfshm_keyed_t scratch[], int64_t n, int64_t key_max)
{
  sfshm_keyed_t *from = pairs, *to = scratch, *swap;
  int bits = n <= FEW ? DIGIT_BITS_OF_FEW : DIGIT_BITS;
  if (is_sorted(pairs, n))
    return;
  if (n <= INSERTION_LIMIT) {
    insertion_sort(pairs, n);
    return;
  }
  for (int shift = 0; shift < 63 && key_max >> shift != 0; shift += bits) {
    distribute(from, to, n, shift, bits);
    swap = from, from = to, to = swap;
  }
  if (from != pairs)
    memcpy(pairs, from, (size_t)n * sizeof *pairs);
}
