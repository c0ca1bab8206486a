/* Arguments of the device kernels: by value, the same on both sides of a launch. C and CUDA. */
#ifndef SFSHM_CUDA_KERNELS_H
#define SFSHM_CUDA_KERNELS_H

#include <stdint.h>

enum { SFSHM_CUDA_STRIDED, SFSHM_CUDA_INDEX32, SFSHM_CUDA_INDEX64, SFSHM_CUDA_BOX };

typedef struct sfshm_cuda_pattern {
  int32_t kind;
  int64_t start; /* STRIDED: start + i * stride; BOX: see sfshm_pattern_t */
  int64_t stride;
  const void *index; /* INDEX32, INDEX64: device memory */
  int64_t row;
  int64_t rows;
  int64_t row_stride;
  int64_t plane_stride;
  int64_t skipped;
} sfshm_cuda_pattern_t;

/* to[to_pattern(i)] op= from[from_pattern(i) - from_bias] for first <= i < first + n. */
typedef struct sfshm_cuda_scatter {
  const char *from;
  char *to;
  sfshm_cuda_pattern_t from_pattern;
  sfshm_cuda_pattern_t to_pattern;
  int64_t from_bias;
  int64_t first;
  int64_t n;
  int64_t count; /* elements of a unit */
  int32_t op;    /* sfshm_op_t */

  /* Ordered form, where vertices of to_pattern occur several times: numbers i sorted by vertex and ascending for each
   * vertex, and where in them each vertex begins, and behind the last. */
  const int64_t *order;
  const int64_t *begin;
  int64_t nvertices;
} sfshm_cuda_scatter_t;

/* to[i] = from[sets(first + i)] for 0 <= i < n, where sets are patterns one behind the other: set s begins at number
 * begin[s]. By value, too: launches take 4 KiB. */
#define SFSHM_CUDA_SETS_MAX 40
typedef struct sfshm_cuda_gathers {
  const char *from;
  char *to;
  int64_t first;
  int64_t n;
  int64_t count; /* elements of a unit */
  int32_t nsets;
  int64_t begin[SFSHM_CUDA_SETS_MAX];
  sfshm_cuda_pattern_t sets[SFSHM_CUDA_SETS_MAX];
} sfshm_cuda_gathers_t;

/* Several scatters, one behind the other: number i is in the last set that begins at i or before. Where the same vertex
 * is met several times, the ordered form, as above. */
#define SFSHM_CUDA_SEVERAL_MAX 24
typedef struct sfshm_cuda_set {
  int64_t begin;
  const char *from;
  char *to;
  sfshm_cuda_pattern_t from_pattern;
  sfshm_cuda_pattern_t to_pattern;
} sfshm_cuda_set_t;

typedef struct sfshm_cuda_several {
  int64_t n;
  int64_t count; /* elements of a unit */
  int32_t op;    /* sfshm_op_t */
  int32_t nsets;
  const int64_t *order; /* NULL: the plain form */
  const int64_t *begin;
  int64_t nvertices;
  sfshm_cuda_set_t sets[SFSHM_CUDA_SEVERAL_MAX];
} sfshm_cuda_several_t;
_Static_assert(sizeof(sfshm_cuda_several_t) <= 4096, "what a launch takes");

/* Each root meets its contributions, which lie one behind the other in slots, in their order; they become what was
 * there before each. */
typedef struct sfshm_cuda_fetch {
  char *slots;
  char *roots;
  sfshm_cuda_pattern_t slot_root; /* the root of each slot, ascending */
  const int64_t *begin;           /* the first slot of each root, and behind the last */
  int64_t nvertices;              /* roots with contributions */
  int64_t count;                  /* elements of a unit */
  int32_t op;                     /* sfshm_op_t */
} sfshm_cuda_fetch_t;

/* As much as a thread can move at once. */
typedef struct sfshm_cuda_wide {
  uint64_t low;
  uint64_t high;
} __attribute__((aligned(16))) sfshm_cuda_wide_t;

/* X(suffix, element type): elements that are moved, by size. */
#define SFSHM_CUDA_MOVES(X)                                                                                            \
  X(1, uint8_t)                                                                                                        \
  X(2, uint16_t)                                                                                                       \
  X(4, uint32_t)                                                                                                       \
  X(8, uint64_t)                                                                                                       \
  X(16, sfshm_cuda_wide_t)
#define SFSHM_CUDA_MOVE_FORMS 5

/* X(suffix, unsigned type, type that max and min compare). */
#define SFSHM_CUDA_INTEGERS(X)                                                                                         \
  X(i8, uint8_t, int8_t)                                                                                               \
  X(u8, uint8_t, uint8_t)                                                                                              \
  X(i16, uint16_t, int16_t)                                                                                            \
  X(u16, uint16_t, uint16_t)                                                                                           \
  X(i32, uint32_t, int32_t)                                                                                            \
  X(u32, uint32_t, uint32_t)                                                                                           \
  X(i64, uint64_t, int64_t)                                                                                            \
  X(u64, uint64_t, uint64_t)

#define SFSHM_CUDA_REALS(X)                                                                                            \
  X(f32, float)                                                                                                        \
  X(f64, double)

#define SFSHM_CUDA_COMPLEXES(X)                                                                                        \
  X(c32, float)                                                                                                        \
  X(c64, double)

/* X(suffix, element type, type of atomic sums, type of atomic max and min): what a device combines in one step. Of
 * SFSHM_CUDA_REALS these are sums. */
#define SFSHM_CUDA_ATOMIC_INTEGERS(X)                                                                                  \
  X(i32, uint32_t, unsigned, int)                                                                                      \
  X(u32, uint32_t, unsigned, unsigned)                                                                                 \
  X(i64, uint64_t, unsigned long long, long long)                                                                      \
  X(u64, uint64_t, unsigned long long, unsigned long long)

#endif
