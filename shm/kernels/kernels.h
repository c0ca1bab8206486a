/* Kernels: loops over elements for pack, unpack with an op, and direct scatter. They are chosen once per (unit, op) and
 * called with ranges of patterns. The compiler vectorises them; the loader selects among clones for several instruction
 * sets. */
#ifndef SFSHM_KERNELS_KERNELS_H
#define SFSHM_KERNELS_KERNELS_H

#include "shm/edges/pattern.h"
#include "shm/kernels/unit.h"

/* packed[i] = array[pattern(first + i)] for 0 <= i < n. packed and array do not overlap. */
typedef void (*sfshm_pack_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,
                                const void *array, void *packed);

/* array[pattern(first + i)] op= packed[i], i ascending. A vertex may occur several times; then the order matters. */
typedef void (*sfshm_unpack_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,
                                  const void *packed, void *array);

/* to[to_pattern(first + i)] op= from[from_pattern(first + i) - from_bias], i ascending. The arrays may be the same if
 * the vertices read and written are disjoint. With from_bias a window of a packed stream stands for the whole stream.
 */
typedef void (*sfshm_scatter_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *from_pattern, int64_t from_bias,
                                   const void *from, const sfshm_pattern_t *to_pattern, void *to, int64_t first,
                                   int64_t n);

/* array[pattern(first + i)] op= packed[i]; packed[i] becomes the previous value of the array, i ascending. */
typedef void (*sfshm_fetch_fn_t)(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,
                                 void *packed, void *array);

typedef struct sfshm_kernels {
  sfshm_pack_fn_t pack;
  sfshm_unpack_fn_t unpack;
  sfshm_scatter_fn_t scatter;
  sfshm_fetch_fn_t fetch; /* NULL: a device may have none */
} sfshm_kernels_t;

/* Returns the kernels for a unit and an op; NULL if the op does not apply. Static storage; the lookup takes two loads.
 */
const sfshm_kernels_t *sfshm_kernels_find(sfshm_unit_t unit, sfshm_op_t op);

/* array[pattern(i)] = e op array[pattern(i)] for 0 <= i < n, with the neutral element e of sfshm_op_extreme if the op
 * needs one, which replaces NaNs. Apply it to the first of several values that are combined before they travel, because
 * a present NaN would stay. */
void sfshm_kernels_start(sfshm_unit_t unit, sfshm_op_t op, const sfshm_pattern_t *pattern, int64_t n, void *array);

#endif
