/* The device's loops over elements, one kernel for each type of element: to op= from, by patterns. Compiled by nvcc;
 * the subset of C++ that is C, so that a C compiler can make host functions of it, given SF_KERNEL, SF_INLINE,
 * SF_FIRST, SF_STEP, SF_LOAD, SF_PAUSE, SF_RESULT and SF_ATOMIC_*: tests without a device run these.  Plain stores: in
 * the plain form no vertex occurs twice among the targets, and in the ordered form one thread has all contributions to
 * a vertex and combines them in their order (the atomic form is for who asks for it). So results are those of the
 * host's kernels bit by bit (compiled without contraction to fused multiply-add), except for the bits of a NaN. */
#ifdef __cplusplus
#define _Static_assert static_assert
#endif
#include "shm/cuda/kernels.h"
#include "shm/kernels/unit.h"

#ifndef SF_KERNEL
#define SF_KERNEL extern "C" __global__ void
#define SF_INLINE static __device__ __forceinline__
#define SF_FIRST ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SF_STEP ((int64_t)gridDim.x * blockDim.x)
#define SF_LOAD(address) (*(const volatile uint32_t *)(address))
#define SF_PAUSE() __nanosleep(200)
#define SF_RESULT(real) (real)
#define SF_ATOMIC_SUM(at, in) atomicAdd(at, in)
#define SF_ATOMIC_MAX(at, in) atomicMax(at, in)
#define SF_ATOMIC_MIN(at, in) atomicMin(at, in)
#endif

/* Divisions of small numbers are much faster. */
SF_INLINE int64_t quotient(int64_t a, int64_t b)
{
  return a <= UINT32_MAX && b <= UINT32_MAX ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
}

/* The unit that element e of all is in. */
SF_INLINE int64_t unit_of(int64_t e, int64_t count)
{
  return count == 1 ? e : quotient(e, count);
}

SF_INLINE int64_t box_at(const sfshm_cuda_pattern_t *box, int64_t i)
{
  int64_t row = quotient(i, box->row), plane = quotient(row, box->rows);
  return box->start + plane * box->plane_stride + (row - plane * box->rows) * box->row_stride +
         (i - row * box->row) * box->stride;
}

SF_INLINE int64_t vertex_at(const sfshm_cuda_pattern_t *pattern, int64_t i)
{
  if (pattern->kind == SFSHM_CUDA_INDEX32)
    return ((const uint32_t *)pattern->index)[i];
  if (pattern->kind == SFSHM_CUDA_INDEX64)
    return ((const int64_t *)pattern->index)[i];
  if (pattern->kind == SFSHM_CUDA_BOX)
    return box_at(pattern, i + pattern->skipped);
  return pattern->start + i * pattern->stride;
}

/* Position of element k of unit number i, in elements. */
SF_INLINE int64_t from_at(const sfshm_cuda_scatter_t *args, int64_t i, int64_t k)
{
  return (vertex_at(&args->from_pattern, i) - args->from_bias) * args->count + k;
}

SF_INLINE int64_t to_at(const sfshm_cuda_scatter_t *args, int64_t i, int64_t k)
{
  return vertex_at(&args->to_pattern, i) * args->count + k;
}

/* The vertex that number i of all sets is. */
SF_INLINE int64_t gathered_at(const sfshm_cuda_gathers_t *args, int64_t i)
{
  int32_t low = 0, high = args->nsets - 1;
  while (low < high) {
    int32_t middle = (low + high + 1) / 2;
    if (args->begin[middle] <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return vertex_at(&args->sets[low], i - args->begin[low]);
}

/* The set that number i is in. */
SF_INLINE const sfshm_cuda_set_t *set_at(const sfshm_cuda_several_t *args, int64_t i)
{
  int32_t low = 0, high = args->nsets - 1;
  while (low < high) {
    int32_t middle = (low + high + 1) / 2;
    if (args->sets[middle].begin <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return &args->sets[low];
}

/* One move, in any order or in that of contributions. */
#define DEFINE_SCATTERS(suffix, type)                                                                                  \
  SF_KERNEL sf_scatter_##suffix(sfshm_cuda_scatter_t args)                                                             \
  {                                                                                                                    \
    const type *from = (const type *)args.from;                                                                        \
    type *to = (type *)args.to;                                                                                        \
    for (int64_t e = SF_FIRST; e < args.n * args.count; e += SF_STEP) {                                                \
      int64_t unit = unit_of(e, args.count), i = args.first + unit, k = e - unit * args.count;                         \
      combine_##suffix(&to[to_at(&args, i, k)], &from[from_at(&args, i, k)], args.op);                                 \
    }                                                                                                                  \
  }                                                                                                                    \
  SF_KERNEL sf_ordered_##suffix(sfshm_cuda_scatter_t args)                                                             \
  {                                                                                                                    \
    const type *from = (const type *)args.from;                                                                        \
    type *to = (type *)args.to;                                                                                        \
    for (int64_t e = SF_FIRST; e < args.nvertices * args.count; e += SF_STEP) {                                        \
      int64_t v = unit_of(e, args.count), k = e - v * args.count;                                                      \
      for (int64_t j = args.begin[v]; j < args.begin[v + 1]; j++) {                                                    \
        int64_t i = args.order[j];                                                                                     \
        if (i >= args.first && i < args.first + args.n)                                                                \
          combine_##suffix(&to[to_at(&args, i, k)], &from[from_at(&args, i, k)], args.op);                             \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* Several moves at once. */
#define DEFINE_SEVERAL(suffix, type)                                                                                   \
  SF_INLINE void combine_one_of_several_##suffix(const sfshm_cuda_several_t *args, int64_t i, int64_t k)               \
  {                                                                                                                    \
    const sfshm_cuda_set_t *set = set_at(args, i);                                                                     \
    const type *from = (const type *)set->from + vertex_at(&set->from_pattern, i - set->begin) * args->count;          \
    type *to = (type *)set->to + vertex_at(&set->to_pattern, i - set->begin) * args->count;                            \
    combine_##suffix(&to[k], &from[k], args->op);                                                                      \
  }                                                                                                                    \
  SF_KERNEL sf_several_##suffix(sfshm_cuda_several_t args)                                                             \
  {                                                                                                                    \
    if (args.order == NULL) {                                                                                          \
      for (int64_t e = SF_FIRST; e < args.n * args.count; e += SF_STEP) {                                              \
        int64_t i = unit_of(e, args.count);                                                                            \
        combine_one_of_several_##suffix(&args, i, e - i * args.count);                                                 \
      }                                                                                                                \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t e = SF_FIRST; e < args.nvertices * args.count; e += SF_STEP) {                                        \
      int64_t v = unit_of(e, args.count);                                                                              \
      for (int64_t j = args.begin[v]; j < args.begin[v + 1]; j++)                                                      \
        combine_one_of_several_##suffix(&args, args.order[j], e - v * args.count);                                     \
    }                                                                                                                  \
  }

/* Contributions that wait in slots meet roots. */
#define DEFINE_FETCHES(suffix, type)                                                                                   \
  SF_KERNEL sf_fetches_##suffix(sfshm_cuda_fetch_t args)                                                               \
  {                                                                                                                    \
    for (int64_t e = SF_FIRST; e < args.nvertices * args.count; e += SF_STEP) {                                        \
      int64_t v = unit_of(e, args.count), k = e - v * args.count;                                                      \
      type *root = (type *)args.roots + vertex_at(&args.slot_root, args.begin[v]) * args.count + k;                    \
      for (int64_t j = args.begin[v]; j < args.begin[v + 1]; j++) {                                                    \
        type *slot = (type *)args.slots + j * args.count + k;                                                          \
        type in = *slot;                                                                                               \
        *slot = *root;                                                                                                 \
        combine_##suffix(root, &in, args.op);                                                                          \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* All forms of a kernel, from a function that combines one element. */
#define DEFINE_KERNELS(suffix, type)                                                                                   \
  DEFINE_SCATTERS(suffix, type) DEFINE_SEVERAL(suffix, type) DEFINE_FETCHES(suffix, type)

#define DEFINE_MOVE(suffix, type)                                                                                      \
  SF_INLINE void combine_##suffix(type *to, const type *from, int32_t op)                                              \
  {                                                                                                                    \
    (void)op;                                                                                                          \
    *to = *from;                                                                                                       \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, type)                                                                                         \
  SF_KERNEL sf_gathers_##suffix(sfshm_cuda_gathers_t args)                                                             \
  {                                                                                                                    \
    const type *from = (const type *)args.from;                                                                        \
    type *to = (type *)args.to;                                                                                        \
    for (int64_t e = SF_FIRST; e < args.n * args.count; e += SF_STEP) {                                                \
      int64_t i = unit_of(e, args.count);                                                                              \
      to[e] = from[gathered_at(&args, args.first + i) * args.count + e - i * args.count];                              \
    }                                                                                                                  \
  }
SFSHM_CUDA_MOVES(DEFINE_MOVE)

/* Ops of integers of which the lowest bits are the same in any width: all but max and min. */
SF_INLINE uint64_t combined_bits(uint64_t present, uint64_t in, int32_t op)
{
  switch (op) {
  case SFSHM_OP_SUM:
    return present + in;
  case SFSHM_OP_PROD:
    return present * in;
  case SFSHM_OP_LAND:
    return present != 0 && in != 0;
  case SFSHM_OP_LOR:
    return present != 0 || in != 0;
  case SFSHM_OP_LXOR:
    return (present != 0) != (in != 0);
  case SFSHM_OP_BAND:
    return present & in;
  case SFSHM_OP_BOR:
    return present | in;
  case SFSHM_OP_BXOR:
    return present ^ in;
  default:
    return present;
  }
}

/* Integers are combined as unsigned numbers, and wrap. */
#define DEFINE_INTEGER(suffix, type, compared)                                                                         \
  SF_INLINE void combine_##suffix(type *to, const type *from, int32_t op)                                              \
  {                                                                                                                    \
    type present = *to, in = *from;                                                                                    \
    if (op == SFSHM_OP_MAX)                                                                                            \
      *to = (compared)in > (compared)present ? in : present;                                                           \
    else if (op == SFSHM_OP_MIN)                                                                                       \
      *to = (compared)in < (compared)present ? in : present;                                                           \
    else                                                                                                               \
      *to = (type)combined_bits(present, in, op);                                                                      \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, type)
SFSHM_CUDA_INTEGERS(DEFINE_INTEGER)

/* In max and min a NaN that is present stays, and one that comes in is ignored. */
#define DEFINE_REAL(suffix, type)                                                                                      \
  SF_INLINE void combine_##suffix(type *to, const type *from, int32_t op)                                              \
  {                                                                                                                    \
    type present = *to, in = *from;                                                                                    \
    switch (op) {                                                                                                      \
    case SFSHM_OP_SUM:                                                                                                 \
      *to = SF_RESULT(present + in);                                                                                   \
      break;                                                                                                           \
    case SFSHM_OP_PROD:                                                                                                \
      *to = SF_RESULT(present * in);                                                                                   \
      break;                                                                                                           \
    case SFSHM_OP_MAX:                                                                                                 \
      *to = in > present ? in : present;                                                                               \
      break;                                                                                                           \
    case SFSHM_OP_MIN:                                                                                                 \
      *to = in < present ? in : present;                                                                               \
      break;                                                                                                           \
    default:                                                                                                           \
      break;                                                                                                           \
    }                                                                                                                  \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, type)
SFSHM_CUDA_REALS(DEFINE_REAL)

/* The product is the textbook one, as on the host. */
#define DEFINE_COMPLEX(suffix, type)                                                                                   \
  typedef struct element_##suffix {                                                                                    \
    type re, im;                                                                                                       \
  } element_##suffix##_t;                                                                                              \
  SF_INLINE void combine_##suffix(element_##suffix##_t *to, const element_##suffix##_t *from, int32_t op)              \
  {                                                                                                                    \
    element_##suffix##_t present = *to, in = *from;                                                                    \
    if (op == SFSHM_OP_SUM) {                                                                                          \
      to->re = SF_RESULT(present.re + in.re);                                                                          \
      to->im = SF_RESULT(present.im + in.im);                                                                          \
    } else if (op == SFSHM_OP_PROD) {                                                                                  \
      to->re = SF_RESULT(present.re * in.re - present.im * in.im);                                                     \
      to->im = SF_RESULT(present.re * in.im + present.im * in.re);                                                     \
    }                                                                                                                  \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, element_##suffix##_t)
SFSHM_CUDA_COMPLEXES(DEFINE_COMPLEX)

/* What lies between value and index, or behind them, stays as it is. */
#define DEFINE_PAIR(suffix, value_type, index_type, text)                                                              \
  SF_INLINE void combine_##suffix(sfshm_##suffix##_t *to, const sfshm_##suffix##_t *from, int32_t op)                  \
  {                                                                                                                    \
    value_type value = from->value;                                                                                    \
    index_type index = from->index;                                                                                    \
    bool wins = op == SFSHM_OP_MAXLOC ? value > to->value : value < to->value;                                         \
    if (wins || (value == to->value && index < to->index)) {                                                           \
      to->value = value;                                                                                               \
      to->index = index;                                                                                               \
    }                                                                                                                  \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, sfshm_##suffix##_t)
SFSHM_PAIR_TABLE(DEFINE_PAIR)

/* For who does not care for the order: no vertex has a thread of its own. */
#define DEFINE_ATOMICS(suffix, type, combine)                                                                          \
  SF_KERNEL sf_atomics_##suffix(sfshm_cuda_scatter_t args)                                                             \
  {                                                                                                                    \
    const type *from = (const type *)args.from;                                                                        \
    type *to = (type *)args.to;                                                                                        \
    for (int64_t e = SF_FIRST; e < args.n * args.count; e += SF_STEP) {                                                \
      int64_t unit = unit_of(e, args.count), i = args.first + unit, k = e - unit * args.count;                         \
      combine(&to[to_at(&args, i, k)], from[from_at(&args, i, k)], args.op);                                           \
    }                                                                                                                  \
  }

#define DEFINE_ATOMIC_INTEGER(suffix, type, summed, compared)                                                          \
  SF_INLINE void atomic_##suffix(type *to, type in, int32_t op)                                                        \
  {                                                                                                                    \
    if (op == SFSHM_OP_SUM)                                                                                            \
      SF_ATOMIC_SUM((summed *)to, (summed)in);                                                                         \
    else if (op == SFSHM_OP_MAX)                                                                                       \
      SF_ATOMIC_MAX((compared *)to, (compared)in);                                                                     \
    else if (op == SFSHM_OP_MIN)                                                                                       \
      SF_ATOMIC_MIN((compared *)to, (compared)in);                                                                     \
  }                                                                                                                    \
  DEFINE_ATOMICS(suffix, type, atomic_##suffix)
SFSHM_CUDA_ATOMIC_INTEGERS(DEFINE_ATOMIC_INTEGER)

#define DEFINE_ATOMIC_REAL(suffix, type)                                                                               \
  SF_INLINE void atomic_##suffix(type *to, type in, int32_t op)                                                        \
  {                                                                                                                    \
    if (op == SFSHM_OP_SUM)                                                                                            \
      SF_ATOMIC_SUM(to, in);                                                                                           \
  }                                                                                                                    \
  DEFINE_ATOMICS(suffix, type, atomic_##suffix)
SFSHM_CUDA_REALS(DEFINE_ATOMIC_REAL)

/* Ends when the word at `from` has come to n, or gone beyond: for streams that can't wait by themselves. */
SF_KERNEL sf_await(sfshm_cuda_scatter_t args)
{
  for (int64_t e = SF_FIRST; e < 1; e += SF_STEP)
    while ((int32_t)(SF_LOAD((const uint32_t *)args.from) - (uint32_t)args.n) < 0)
      SF_PAUSE();
}
