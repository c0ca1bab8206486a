/* The device's loops over elements: to op= from, by patterns. One kernel for each type of element, for one set of
 * places and for several. Compiled by nvcc; the subset of C++ that is C, so that a C compiler can make host functions of
 * it, given SF_KERNEL, SF_ARGUMENT, SF_GLOBAL, SF_INLINE, SF_FIRST, SF_STEP, SF_LOAD, SF_STORE, SF_PAUSE, SF_IS_LAST, SF_RESULT and
 * SF_ATOMIC_*: tests without a device run these. Plain stores: no vertex occurs twice among the targets, or one thread
 * has all contributions to a vertex and combines them in their order (atomic operations are for callers that ask for
 * them). So results are those of the host's kernels bit by bit (compiled without contraction to fused multiply-add), but
 * for the bits of a NaN. */
#ifdef __cplusplus
#define _Static_assert static_assert
#endif
#include "shm/cuda/kernels.h"
#include "shm/kernels/unit.h"

#ifndef SF_KERNEL
#define SF_KERNEL extern "C" __global__ void
#define SF_ARGUMENT const __grid_constant__
#define SF_GLOBAL static __device__
#define SF_INLINE static __device__ __forceinline__
#define SF_FIRST ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SF_STEP ((int64_t)gridDim.x * blockDim.x)
#define SF_LOAD(address) (*(const volatile uint32_t *)(address))
#define SF_STORE(address, value) (*(volatile uint32_t *)(address) = (value))
#define SF_PAUSE() __nanosleep(200)
#define SF_IS_LAST(arrived) is_last_block(arrived)
#define SF_RESULT(real) (real)
#define SF_ATOMIC_SUM(at, in) atomicAdd(at, in)
#define SF_ATOMIC_MAX(at, in) atomicMax(at, in)
#define SF_ATOMIC_MIN(at, in) atomicMin(at, in)

/* Whether this is the one thread that knows that all stores of all blocks can be seen everywhere, also by other devices
 * and the host. The barrier orders the stores of a block before the fence of its first thread, and that fence is
 * cumulative; the counter wraps to 0. */
SF_INLINE int is_last_block(uint32_t *arrived)
{
  int last = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
    __threadfence_system();
  }
  return last;
}
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

/* The set that number i is in. */
SF_INLINE const sfshm_cuda_set_t *set_at(const sfshm_cuda_set_t *sets, int32_t nsets, int64_t i)
{
  int32_t low = 0, high = nsets - 1;
  while (low < high) {
    int32_t middle = (low + high + 1) / 2;
    if (sets[middle].begin <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return &sets[low];
}

/* Blocks of each queue's kernel that are done; 0 before and after each kernel. */
SF_GLOBAL uint32_t sf_arrived[SFSHM_CUDA_QUEUES_MAX];

SF_INLINE void set_words(const sfshm_cuda_work_t *work)
{
  if (work->nwords > 0 && SF_IS_LAST(&sf_arrived[work->queue]))
    for (int32_t i = 0; i < work->nwords; i++)
      SF_STORE(work->words[i].at, work->words[i].value);
}

/* Both kernels of an element, from functions that combine one with another, also by atomic operations. */
#define DEFINE_KERNELS(suffix, type, combine, combine_atomically)                                                      \
  SF_INLINE void apply_##suffix(const sfshm_cuda_work_t *work, const sfshm_cuda_set_t *sets, int64_t i, int64_t k)     \
  {                                                                                                                    \
    const sfshm_cuda_set_t *set = set_at(sets, work->nsets, i);                                                        \
    int64_t from_at = vertex_at(&set->from_pattern, i - set->begin) - set->from_bias;                                  \
    type *from = (type *)(uintptr_t)set->from + from_at * work->count + k;                                             \
    type *to = (type *)set->to + vertex_at(&set->to_pattern, i - set->begin) * work->count + k;                        \
    if (work->flags & SFSHM_CUDA_FETCHES) {                                                                            \
      type before = *to;                                                                                               \
      combine(to, from, work->op);                                                                                     \
      *from = before;                                                                                                  \
    } else if (work->flags & SFSHM_CUDA_ATOMIC) {                                                                      \
      combine_atomically(to, from, work->op);                                                                          \
    } else {                                                                                                           \
      combine(to, from, work->op);                                                                                     \
    }                                                                                                                  \
  }                                                                                                                    \
  SF_INLINE void run_##suffix(const sfshm_cuda_work_t *work, const sfshm_cuda_set_t *sets)                             \
  {                                                                                                                    \
    int64_t nunits = work->order != NULL ? work->nvertices : work->n;                                                  \
    for (int64_t e = SF_FIRST; e < nunits * work->count; e += SF_STEP) {                                               \
      int64_t v = unit_of(e, work->count), k = e - v * work->count;                                                    \
      if (work->order == NULL) {                                                                                       \
        apply_##suffix(work, sets, v, k);                                                                              \
        continue;                                                                                                      \
      }                                                                                                                \
      for (int64_t j = work->begin[v]; j < work->begin[v + 1]; j++) {                                                  \
        int64_t i = work->order[j] - work->first;                                                                      \
        if (i >= 0 && i < work->n)                                                                                     \
          apply_##suffix(work, sets, i, k);                                                                            \
      }                                                                                                                \
    }                                                                                                                  \
    set_words(work);                                                                                                   \
  }                                                                                                                    \
  SF_KERNEL sf_one_##suffix(SF_ARGUMENT sfshm_cuda_one_t args)                                                         \
  {                                                                                                                    \
    run_##suffix(&args.work, args.sets);                                                                               \
  }                                                                                                                    \
  SF_KERNEL sf_several_##suffix(SF_ARGUMENT sfshm_cuda_several_t args)                                                 \
  {                                                                                                                    \
    run_##suffix(&args.work, args.sets);                                                                               \
  }

#define DEFINE_MOVE(suffix, type)                                                                                      \
  SF_INLINE void combine_##suffix(type *to, const type *from, int32_t op)                                              \
  {                                                                                                                    \
    (void)op;                                                                                                          \
    *to = *from;                                                                                                       \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, type, combine_##suffix, combine_##suffix)
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
#define DEFINE_COMBINE_INTEGER(suffix, type, compared)                                                                 \
  SF_INLINE void combine_##suffix(type *to, const type *from, int32_t op)                                              \
  {                                                                                                                    \
    type present = *to, in = *from;                                                                                    \
    if (op == SFSHM_OP_MAX)                                                                                            \
      *to = (compared)in > (compared)present ? in : present;                                                           \
    else if (op == SFSHM_OP_MIN)                                                                                       \
      *to = (compared)in < (compared)present ? in : present;                                                           \
    else                                                                                                               \
      *to = (type)combined_bits(present, in, op);                                                                      \
  }
#define DEFINE_NARROW(suffix, type, compared)                                                                          \
  DEFINE_COMBINE_INTEGER(suffix, type, compared)                                                                       \
  DEFINE_KERNELS(suffix, type, combine_##suffix, combine_##suffix)
SFSHM_CUDA_NARROW_INTEGERS(DEFINE_NARROW)

#define DEFINE_WIDE(suffix, type, compared, summed)                                                                    \
  DEFINE_COMBINE_INTEGER(suffix, type, compared)                                                                       \
  SF_INLINE void combine_atomically_##suffix(type *to, const type *from, int32_t op)                                   \
  {                                                                                                                    \
    if (op == SFSHM_OP_SUM)                                                                                            \
      SF_ATOMIC_SUM((summed *)to, (summed)*from);                                                                      \
    else if (op == SFSHM_OP_MAX)                                                                                       \
      SF_ATOMIC_MAX((compared *)to, (compared)*from);                                                                  \
    else if (op == SFSHM_OP_MIN)                                                                                       \
      SF_ATOMIC_MIN((compared *)to, (compared)*from);                                                                  \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, type, combine_##suffix, combine_atomically_##suffix)
SFSHM_CUDA_WIDE_INTEGERS(DEFINE_WIDE)

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
  SF_INLINE void combine_atomically_##suffix(type *to, const type *from, int32_t op)                                   \
  {                                                                                                                    \
    if (op == SFSHM_OP_SUM)                                                                                            \
      SF_ATOMIC_SUM(to, *from);                                                                                        \
  }                                                                                                                    \
  DEFINE_KERNELS(suffix, type, combine_##suffix, combine_atomically_##suffix)
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
  DEFINE_KERNELS(suffix, element_##suffix##_t, combine_##suffix, combine_##suffix)
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
  DEFINE_KERNELS(suffix, sfshm_##suffix##_t, combine_##suffix, combine_##suffix)
SFSHM_PAIR_TABLE(DEFINE_PAIR)

/* Ends when all words have come to their values, or gone beyond: for streams that can't wait by themselves. */
SF_KERNEL sf_await(SF_ARGUMENT sfshm_cuda_one_t args)
{
  for (int64_t i = SF_FIRST; i < args.work.nwords; i += SF_STEP)
    while ((int32_t)(SF_LOAD(args.work.words[i].at) - args.work.words[i].value) < 0)
      SF_PAUSE();
}
