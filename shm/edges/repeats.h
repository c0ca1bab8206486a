/* Which of many indices occur several times. Any thread. */
#ifndef SFSHM_REPEATS_H
#define SFSHM_REPEATS_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/base/sort.h"
#include "shm/edges/pattern.h"

/* All places where an index stands that also stands elsewhere, as (index, place) in the order of these. */
typedef struct sfshm_repeats {
  sfshm_keyed_t *places;  /* NULL if there are none */
  sfshm_keyed_t *scratch; /* as many, for sorting them differently */
  int64_t n;
} sfshm_repeats_t;

/* Finds them among indices >= 0. */
sf_status_t sfshm_repeats_find(const sfshm_pattern_t *index, sfshm_repeats_t *repeats_p);

/* The same among indices in the order of index >> shift, of which there are fewer than UINT16_MAX: a table of one such
 * region tells what occurred. */
sf_status_t sfshm_repeats_find_clustered(const uint32_t index[], int64_t n, int shift, sfshm_repeats_t *repeats_p);

/* Accepts what is zeroed or freed. */
void sfshm_repeats_free(sfshm_repeats_t *repeats);

#endif
