/* Runs of equal values in lists of ranks, which mostly have few runs. Any thread. */
#ifndef SFSHM_BASE_EQUAL_RUN_H
#define SFSHM_BASE_EQUAL_RUN_H

#include <stdint.h>

#define SFSHM_RUN_PIECE 32 /* values compared at once */

/* Compares a piece of values with one value: returns 0 if all are equal. */
static inline uint32_t sfshm_run_differences(const int32_t value[], int32_t from)
{
  uint32_t bits = 0;
  for (int i = 0; i < SFSHM_RUN_PIECE; i++)
    bits |= (uint32_t)(value[i] ^ from);
  return bits;
}

/* Returns the end of the run of equal values that begins at i, among n values. */
static inline int64_t sfshm_run_end(const int32_t value[], int64_t i, int64_t n)
{
  int32_t first = value[i++];
  if (i == n || value[i] != first)
    return i;
  while (n - i >= SFSHM_RUN_PIECE && sfshm_run_differences(value + i, first) == 0)
    i += SFSHM_RUN_PIECE;
  while (i < n && value[i] == first)
    i++;
  return i;
}

#endif
