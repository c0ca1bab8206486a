/* Kernels without arithmetic: replace, and pack for all ops. They depend on the unit's size only. Part of the kernels;
 * see kernels.h. */
#ifndef SFSHM_KERNELS_KERNELS_MOVE_H
#define SFSHM_KERNELS_KERNELS_MOVE_H

#include "shm/kernels/kernels.h"

/* Kernels of replace for units of size_bytes. */
const sfshm_kernels_t *sfshm_kernels_move(size_t size_bytes);

/* Pack of units of a fixed size, and of any size. */
#define SFSHM_PACK_DECLARATION(name)                                                                                   \
  void sfshm_pack_##name(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,                  \
                         const void *array, void *packed);
SFSHM_PACK_DECLARATION(1)
SFSHM_PACK_DECLARATION(2)
SFSHM_PACK_DECLARATION(4)
SFSHM_PACK_DECLARATION(8)
SFSHM_PACK_DECLARATION(12)
SFSHM_PACK_DECLARATION(16)
SFSHM_PACK_DECLARATION(24)
SFSHM_PACK_DECLARATION(32)
SFSHM_PACK_DECLARATION(any)
#undef SFSHM_PACK_DECLARATION

#endif
