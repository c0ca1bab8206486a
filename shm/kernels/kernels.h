/* The loops over elements: pack, unpack with an op, and direct scatter, chosen once per (unit, op) and called with
 * ranges of patterns. Vectorised by the compiler; clones for several instruction sets are picked at load time. */
#ifndef SFSHM_KERNELS_H
#define SFSHM_KERNELS_H

#include "shm/edges/pattern.h"
#include "shm/kernels/unit.h"

/* packed[i] = array[pattern(first + i)] for 0 <= i < n. packed and array do not overlap. */
typedef void (*sfshm_pack_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,
                                const void *array, void *packed);

/* array[pattern(first + i)] op= packed[i], i ascending (a vertex may occur several times; then the order counts). */
typedef void (*sfshm_unpack_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,
                                  const void *packed, void *array);

/* to[to_pattern(first + i)] op= from[from_pattern(first + i) - from_bias], i ascending. The arrays may be the same if
 * the vertices read and written are disjoint. from_bias lets a window of a packed stream stand for the whole. */
typedef void (*sfshm_scatter_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *from_pattern, int64_t from_bias,
                                   const void *from, const sfshm_pattern_t *to_pattern, void *to, int64_t first,
                                   int64_t n);

/* array[pattern(first + i)] op= packed[i], and packed[i] becomes what was in the array before, i ascending. */
typedef void (*sfshm_fetch_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,
                                 void *packed, void *array);

typedef struct sfshm_kernels {
  sfshm_pack_fn_t pack;
  sfshm_unpack_fn_t unpack;
  sfshm_scatter_fn_t scatter;
  sfshm_fetch_fn_t fetch; /* NULL: a device may have none */
} sfshm_kernels_t;

/* Kernels for a unit and an op that applies to it (NULL otherwise). Static storage; two loads to find. */
const sfshm_kernels_t *sfshm_kernels_find(sfshm_unit_t unit, sfshm_op_t op);

/* array[pattern(i)] = e op array[pattern(i)] for 0 <= i < n, with the e of sfshm_op_extreme, if the op needs one: it
 * takes the place of NaNs. To be done with the first of several values that are combined with each other on their way,
 * as a NaN that is there stays. */
void sfshm_kernels_start(sfshm_unit_t unit, sfshm_op_t op, const sfshm_pattern_t *pattern, int64_t n, void *array);

#endif
