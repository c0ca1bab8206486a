/* Kernels that move units: one set for each common size, one for all others. Any thread. */
#include "shm/kernels_move.h"

#include "shm/kernels_loops.h"

SFSHM_INLINE void copy_dense(char *restrict to, const char *restrict from, size_t size_bytes)
{
  memcpy(to, from, size_bytes);
}

/* Where size_bytes is constant this is a load and a store. */
SFSHM_INLINE void copy_unit(char *to, const char *from, size_t size_bytes)
{
  memcpy(to, from, size_bytes);
}

#define DEFINE_MOVE(name, flavour, size_bytes)                                                                         \
  SFSHM_DEFINE_PACK(name, flavour, copy_unit, copy_dense, size_bytes)                                                  \
  SFSHM_DEFINE_UNPACK(name, flavour, copy_unit, copy_dense, size_bytes)                                                \
  SFSHM_DEFINE_SCATTER(name, flavour, copy_unit, copy_dense, size_bytes)                                               \
  static const sfshm_kernels_t move_##name = {sfshm_pack_##name, unpack_##name, scatter_##name};

DEFINE_MOVE(1, small, 1)
DEFINE_MOVE(2, small, 2)
DEFINE_MOVE(4, small, 4)
DEFINE_MOVE(8, small, 8)
DEFINE_MOVE(12, small, 12)
DEFINE_MOVE(16, small, 16)
DEFINE_MOVE(24, small, 24)
DEFINE_MOVE(32, small, 32)
DEFINE_MOVE(any, large, sfshm_unit_size(unit))

const sfshm_kernels_t *sfshm_kernels_move(size_t size_bytes)
{
  switch (size_bytes) {
  case 1:
    return &move_1;
  case 2:
    return &move_2;
  case 4:
    return &move_4;
  case 8:
    return &move_8;
  case 12:
    return &move_12;
  case 16:
    return &move_16;
  case 24:
    return &move_24;
  case 32:
    return &move_32;
  default:
    return &move_any;
  }
}
