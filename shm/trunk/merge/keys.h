/* Keys: short numbers for the roots of one owner that several ranks have leaves of. A key is the distance from the
 * lowest root. */
#ifndef SFSHM_TRUNK_MERGE_KEYS_H
#define SFSHM_TRUNK_MERGE_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/edges/pattern.h"
#include "shm/trunk/merge/merge.h"

typedef struct sfshm_keys {
  int64_t base; /* root of key 0 */
  int64_t root_max;
} sfshm_keys_t;

/* Keys of all blocks of an owner. */
sfshm_keys_t sfshm_keys_find(const sfshm_merge_block_t blocks[], int32_t nblocks);

/* Whether that many values are dense enough among the keys for a table with one entry per key. */
bool sfshm_keys_are_dense(const sfshm_keys_t *keys, int64_t nvalues);

/* Whether keys need 64 bits. */
bool sfshm_keys_are_wide(const sfshm_keys_t *keys);

/* Writes the roots of n keys (64-bit if wide), as uint32_t unless root_max exceeds it. */
void sfshm_keys_write_roots(const sfshm_keys_t *keys, const void *key, int64_t n, void *roots);

/* Writes a pattern's indices, minus a base. */
void sfshm_write_narrow(const sfshm_pattern_t *pattern, int64_t base, uint32_t index[]);
void sfshm_write_wide(const sfshm_pattern_t *pattern, int64_t base, int64_t index[]);

#endif
