/* Short numbers, keys, for the roots of one owner that several ranks have leaves on, so that a table can tell which
 * roots have been met: how far a root is above the lowest one, or its number among all if roots are spread widely. */
#ifndef SFSHM_MERGE_KEYS_H
#define SFSHM_MERGE_KEYS_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/merge/merge.h"
#include "shm/pattern.h"

typedef struct sfshm_keys {
  uint32_t nkeys;
  int64_t base; /* root of key 0, unless sorted */
  int64_t root_max;
  int64_t *sorted; /* root of each key; NULL: base + key */
} sfshm_keys_t;

/* Finds the keys of all the owner's blocks, which have nvalues values. Where they are sorted, writes the key of each
 * value, block by block, to key_of_value. */
sf_status_t sfshm_keys_init(sfshm_keys_t *keys, const sfshm_merge_block_t blocks[], int32_t nblocks, int64_t nvalues,
                            uint32_t key_of_value[]);
void sfshm_keys_destroy(sfshm_keys_t *keys);

/* The roots of n keys, as uint32_t unless root_max is above. */
void sfshm_keys_write_roots(const sfshm_keys_t *keys, const uint32_t key[], int64_t n, void *roots);

/* Writes a pattern's indices out, less a base. */
void sfshm_write_narrow(const sfshm_pattern_t *pattern, int64_t base, uint32_t index[]);
void sfshm_write_wide(const sfshm_pattern_t *pattern, int64_t index[]);

#endif
