/* Repeated indices of a list. Any thread. */
#ifndef SFSHM_EDGES_REPEATS_H
#define SFSHM_EDGES_REPEATS_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/base/sort.h"
#include "shm/edges/pattern.h"

/* All occurrences of repeated indices, as (index, position) in ascending order. */
typedef struct sfshm_repeats {
  sfshm_keyed_t *places;  /* NULL if there are none */
  sfshm_keyed_t *scratch; /* same length, for sorting in another order */
  int64_t n;
} sfshm_repeats_t;

/* Finds the repeated indices among indices >= 0. */
sf_status_t sfshm_repeats_find(const sfshm_pattern_t *index, sfshm_repeats_t *repeats_p);

/* The same for indices ordered by index >> shift, with fewer than UINT16_MAX indices per region: a table of one region
 * finds the repetitions. */
sf_status_t sfshm_repeats_find_clustered(const uint32_t index[], int64_t n, int shift, sfshm_repeats_t *repeats_p);

/* Frees the lists. Accepts zeroed or freed repeats. */
void sfshm_repeats_free(sfshm_repeats_t *repeats);

#endif
