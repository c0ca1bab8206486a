/* Arguments of the device kernels: by value, the same on both sides of a launch. C and CUDA. */
#ifndef SFSHM_CUDA_KERNELS_H
#define SFSHM_CUDA_KERNELS_H

#include <stdint.h>

enum { SFSHM_CUDA_STRIDED, SFSHM_CUDA_INDEX32, SFSHM_CUDA_INDEX64, SFSHM_CUDA_BOX };

typedef struct sfshm_cuda_pattern {
  int32_t kind;
  union {
    int64_t start;     /* STRIDED: start + i * stride; BOX: see sfshm_pattern_t */
    const void *index; /* INDEX32, INDEX64: device memory */
  };
  int64_t stride;
  int64_t row;
  int64_t rows;
  int64_t row_stride;
  int64_t plane_stride;
  int64_t skipped;
} sfshm_cuda_pattern_t;

/* One scatter of those that a kernel does: to[to_pattern(i - begin)] op= from[from_pattern(i - begin) - from_bias], for
 * each number i from begin on that is before the next set. */
typedef struct sfshm_cuda_set {
  int64_t begin;
  const char *from;
  char *to;
  int64_t from_bias;
  sfshm_cuda_pattern_t from_pattern;
  sfshm_cuda_pattern_t to_pattern;
} sfshm_cuda_set_t;

/* A word that the kernel sets when all the rest is done. */
typedef struct sfshm_cuda_word {
  uint32_t *at;
  uint32_t value;
} sfshm_cuda_word_t;
#define SFSHM_CUDA_WORDS_MAX 8
#define SFSHM_CUDA_QUEUES_MAX 4096

enum {
  SFSHM_CUDA_FETCHES = 1, /* what is combined becomes what was there before: fetch_op */
  SFSHM_CUDA_ATOMIC = 2   /* contributions to a vertex in any order, by atomic operations */
};

/* What a kernel does with all its sets. Numbers go from 0 to n. If the same vertex occurs several times among the
 * targets, one thread has all contributions to it: `order` has numbers sorted by vertex and ascending for each vertex,
 * and `begin` says where in it each vertex begins, and behind the last. Of these numbers, those from `first` on are
 * done, as far as there are n. */
typedef struct sfshm_cuda_work {
  int64_t n;
  int64_t count; /* elements of a unit */
  int32_t op;    /* sfshm_op_t */
  int32_t flags;
  const int64_t *order; /* NULL: each number by itself */
  const int64_t *begin;
  int64_t nvertices;
  int64_t first;
  int32_t queue; /* of kernels that run one after the other; only with words */
  int32_t nwords;
  int32_t nsets;
  sfshm_cuda_word_t words[SFSHM_CUDA_WORDS_MAX];
} sfshm_cuda_work_t;

/* The argument of kernels with one set; and of those with several, which begins like it: launches take 4 KiB. */
#define SFSHM_CUDA_SETS_MAX 24
typedef struct sfshm_cuda_one {
  sfshm_cuda_work_t work;
  sfshm_cuda_set_t sets[1];
} sfshm_cuda_one_t;

typedef struct sfshm_cuda_several {
  sfshm_cuda_work_t work;
  sfshm_cuda_set_t sets[SFSHM_CUDA_SETS_MAX];
} sfshm_cuda_several_t;
_Static_assert(sizeof(sfshm_cuda_several_t) <= 4096, "what a launch takes");

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

/* X(suffix, unsigned type, type that max and min compare), and for those that a device combines in one step X(suffix,
 * unsigned type, type of max and min, type of sums). */
#define SFSHM_CUDA_NARROW_INTEGERS(X)                                                                                  \
  X(i8, uint8_t, int8_t)                                                                                               \
  X(u8, uint8_t, uint8_t)                                                                                              \
  X(i16, uint16_t, int16_t)                                                                                            \
  X(u16, uint16_t, uint16_t)
#define SFSHM_CUDA_WIDE_INTEGERS(X)                                                                                    \
  X(i32, uint32_t, int, unsigned)                                                                                      \
  X(u32, uint32_t, unsigned, unsigned)                                                                                 \
  X(i64, uint64_t, long long, unsigned long long)                                                                      \
  X(u64, uint64_t, unsigned long long, unsigned long long)
#define SFSHM_CUDA_INTEGERS(X) SFSHM_CUDA_NARROW_INTEGERS(X) SFSHM_CUDA_WIDE_INTEGERS(X)

/* Sums of these are combined in one step, too. */
#define SFSHM_CUDA_REALS(X)                                                                                            \
  X(f32, float)                                                                                                        \
  X(f64, double)

#define SFSHM_CUDA_COMPLEXES(X)                                                                                        \
  X(c32, float)                                                                                                        \
  X(c64, double)

#endif
