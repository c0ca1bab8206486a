/* Kernels that move units: one set for each common size, one for all others. Any thread. */
#include "shm/kernels/kernels_move.h"

#include "shm/kernels/kernels_dense.h"
#include "shm/kernels/kernels_loops.h"

#define SWAP_BYTES 64u

/* Where size_bytes is constant this is a load and a store. */
SFSHM_INLINE void copy_unit(char *to, const char *from, size_t size_bytes)
{
  memcpy(to, from, size_bytes);
}

/* Fetch: the two units are exchanged. */
SFSHM_INLINE void swap_unit(char *to, const char *from, size_t size_bytes)
{
  char *in = (char *)(uintptr_t)from; /* packed data, which fetch may write */
  char before[SWAP_BYTES];
  for (size_t done = 0, some; done < size_bytes; done += some) {
    some = size_bytes - done < SWAP_BYTES ? size_bytes - done : SWAP_BYTES;
    memcpy(before, to + done, some);
    memcpy(to + done, in + done, some);
    memcpy(in + done, before, some);
  }
}

SFSHM_INLINE void swap_dense(char *restrict to, const char *restrict from, size_t size_bytes)
{
  swap_unit(to, from, size_bytes);
}

#define DEFINE_MOVE(name, flavour, size_bytes)                                                                         \
  SFSHM_DEFINE_PACK(name, flavour, copy_unit, sfshm_dense_copy, size_bytes)                                            \
  SFSHM_DEFINE_UNPACK(name, flavour, copy_unit, sfshm_dense_copy, size_bytes)                                          \
  SFSHM_DEFINE_SCATTER(name, flavour, copy_unit, sfshm_dense_copy, size_bytes)                                         \
  SFSHM_DEFINE_FETCH(name, flavour, swap_unit, swap_dense, size_bytes)                                                 \
  static const sfshm_kernels_t move_##name = {sfshm_pack_##name, unpack_##name, scatter_##name, fetch_##name};

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
