/* Unpack, scatter and fetch for every op: one loop per base type, which decides for each element what to do. Part of
 * the kernels; see kernels.h. */
#ifndef SFSHM_KERNELS_KERNELS_GENERIC_H
#define SFSHM_KERNELS_KERNELS_GENERIC_H

#include "shm/kernels/kernels.h"

/* Kernels for units of any base that the op applies to. The op is not replace. */
const sfshm_kernels_t *sfshm_kernels_generic(sfshm_op_t op);

/* Packing does not depend on the op. */
void sfshm_kernels_pack(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, const void *array,
                        void *packed);

/* The part of them that fetches, by name of the op. */
#define SFSHM_FETCH_DECLARATION(OP, text)                                                                              \
  void sfshm_fetch_##OP(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, void *packed,     \
                        void *array);
SFSHM_OP_TABLE(SFSHM_FETCH_DECLARATION)
#undef SFSHM_FETCH_DECLARATION

#endif
