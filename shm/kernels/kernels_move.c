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

/* ---- Runs in lists -------------------------------------------------------------------------------------------------
 *
 * Lists of several boxes, such as the halos of a grid between two ranks, are no pattern that is known, but mostly runs
 * of consecutive vertices. Indices are looked at in groups: of those that are no run a single comparison tells most. */

#define GROUP 8

typedef uint32_t four_indices_t __attribute__((vector_size(16)));
typedef uint64_t two_words_t __attribute__((vector_size(16)));

SFSHM_INLINE bool is_run(const uint32_t index[GROUP])
{
  four_indices_t low, high;
  memcpy(&low, index, sizeof low);
  memcpy(&high, index + 4, sizeof high);
  two_words_t wrong = (two_words_t)((low - (index[0] + (four_indices_t){0, 1, 2, 3})) |
                                    (high - (index[0] + (four_indices_t){4, 5, 6, 7})));
  return (wrong[0] | wrong[1]) == 0;
}

/* Between a list and units without gaps. */
SFSHM_INLINE void move_runs(const uint32_t index[], int64_t n, bool pack, char *list, char *packed, size_t size_bytes)
{
  int64_t i = 0;
  while (n - i >= GROUP) {
    const uint32_t *group = index + i;
    char *at = packed + i * (int64_t)size_bytes, *line = list + group[0] * (int64_t)size_bytes;
    if (__builtin_expect(group[GROUP - 1] - group[0] == GROUP - 1, false) && is_run(group)) {
      int64_t length = GROUP;
      while (n - i - length >= GROUP && group[length] == group[0] + (uint32_t)length && is_run(group + length))
        length += GROUP;
      sfshm_dense_copy(pack ? at : line, pack ? line : at, (size_t)length * size_bytes);
      i += length;
      continue;
    }
#pragma GCC unroll 8
    for (int k = 0; k < GROUP; k++) {
      char *unit = list + group[k] * (int64_t)size_bytes;
      copy_unit(pack ? at + k * (int64_t)size_bytes : unit, pack ? unit : at + k * (int64_t)size_bytes, size_bytes);
    }
    i += GROUP;
  }
  for (; i < n; i++) {
    char *unit = list + index[i] * (int64_t)size_bytes, *at = packed + i * (int64_t)size_bytes;
    copy_unit(pack ? at : unit, pack ? unit : at, size_bytes);
  }
}

/* As sfshm_visit_small. */
SFSHM_INLINE void visit_moved(sfshm_visit_t visit, sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part,
                              const void *from, sfshm_part_t to_part, void *to, int64_t n)
{
  const sfshm_pattern_t *source = from_part.pattern, *target = to_part.pattern;
  if (source->kind == SFSHM_PATTERN_INDEX32 && source->row == 0 && target == &sfshm_packed_pattern)
    move_runs(source->index32 + from_part.first, n, true, (char *)(uintptr_t)from, to, size_bytes);
  else if (target->kind == SFSHM_PATTERN_INDEX32 && target->row == 0 && source == &sfshm_packed_pattern)
    move_runs(target->index32 + to_part.first, n, false, to, (char *)(uintptr_t)from, size_bytes);
  else
    sfshm_visit_small(visit, dense, size_bytes, from_part, from, to_part, to, n);
}
#define sfshm_visit_small_moved visit_moved
#define sfshm_visit_large_moved sfshm_visit_large

SFSHM_INLINE void swap_dense(char *restrict to, const char *restrict from, size_t size_bytes)
{
  swap_unit(to, from, size_bytes);
}

#define DEFINE_MOVE(name, flavour, size_bytes)                                                                         \
  SFSHM_DEFINE_PACK(name, flavour##_moved, copy_unit, sfshm_dense_copy, size_bytes)                                    \
  SFSHM_DEFINE_UNPACK(name, flavour##_moved, copy_unit, sfshm_dense_copy, size_bytes)                                  \
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
