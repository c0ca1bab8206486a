/* Atomic updates of elements: see accumulate.h. */
#include "shm/array/accumulate.h"

#include <complex.h>
#include <string.h>

#include "shm/kernels/kernels_dense.h"

/* Words of the size of an element; the application accesses the same memory with its own types. */
#define WORD(bits) uint##bits##_t __attribute__((may_alias))
typedef WORD(8) word8_t;
typedef WORD(16) word16_t;
typedef WORD(32) word32_t;
typedef WORD(64) word64_t;

/* Reads a value of the application's, which need not be aligned. */
#define LOAD(type, from)                                                                                               \
  ({                                                                                                                   \
    type value_;                                                                                                       \
    memcpy(&value_, from, sizeof value_);                                                                              \
    value_;                                                                                                            \
  })

/* ---- Accumulation ------------------------------------------------------------------------------------------------ */

#define ADD_REAL(type, bits)                                                                                           \
  static inline void add_##type(char *element, type value)                                                             \
  {                                                                                                                    \
    word##bits##_t *word = (word##bits##_t *)(void *)element, sum;                                                     \
    word##bits##_t present = __atomic_load_n(word, __ATOMIC_RELAXED);                                                  \
    do {                                                                                                               \
      type result = LOAD(type, &present) + value;                                                                      \
      memcpy(&sum, &result, sizeof sum);                                                                               \
    } while (!__atomic_compare_exchange_n(word, &present, sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));             \
  }
ADD_REAL(float, 32)
ADD_REAL(double, 64)

#define ADD_INTEGER(bits)                                                                                              \
  static inline void add_##bits(char *element, uint##bits##_t value)                                                   \
  {                                                                                                                    \
    (void)__atomic_fetch_add((word##bits##_t *)(void *)element, value, __ATOMIC_RELAXED);                              \
  }
ADD_INTEGER(8)
ADD_INTEGER(16)
ADD_INTEGER(32)
ADD_INTEGER(64)

#define ADD_COMPLEX(name, type, real, imaginary)                                                                       \
  static inline void add_##name(char *element, type _Complex value)                                                    \
  {                                                                                                                    \
    add_##type(element, real(value));                                                                                  \
    add_##type(element + sizeof(type), imaginary(value));                                                              \
  }
ADD_COMPLEX(c32, float, crealf, cimagf)
ADD_COMPLEX(c64, double, creal, cimag)

/* A locked instruction takes less than twice as long for 16 bytes as for one element. Therefore real and complex
 * numbers and integers of 4 bytes are added by aligned words of 16 bytes; single elements remain at both ends of a row.
 */
#define WORD_BYTES 16

#ifdef __x86_64__
typedef uint64_t halves_t __attribute__((vector_size(WORD_BYTES), may_alias));

/* Stores sum if the word is *present, else loads *present. Not __sync_val_compare_and_swap: thread sanitizer replaces
 * it by a lock that other processes do not take. All x86-64 processors since 2006 have the instruction. */
static inline bool exchange_word(char *word, halves_t *present, halves_t sum)
{
  uint64_t low = (*present)[0], high = (*present)[1];
  bool exchanged;
  __asm__ volatile("lock cmpxchg16b %1"
                   : "=@ccz"(exchanged), "+m"(*(halves_t *)(void *)word), "+a"(low), "+d"(high)
                   : "b"(sum[0]), "c"(sum[1]));
  *present = (halves_t){low, high};
  return exchanged;
}

/* If another process stores the word between the two loads, the exchange fails and loads both halves at once. */
#define ADD_WORD(name, lane)                                                                                           \
  typedef lane word_##name##_t __attribute__((vector_size(WORD_BYTES)));                                               \
  static inline void add_word_##name(char *word, word_##name##_t values)                                               \
  {                                                                                                                    \
    const word64_t *halves = (const word64_t *)(const void *)word;                                                     \
    halves_t present = {__atomic_load_n(halves, __ATOMIC_RELAXED), __atomic_load_n(halves + 1, __ATOMIC_RELAXED)};     \
    while (!exchange_word(word, &present, (halves_t)((word_##name##_t)present + values)))                              \
      ;                                                                                                                \
  }
#else
#define ADD_WORD(name, lane)                                                                                           \
  typedef lane word_##name##_t __attribute__((vector_size(WORD_BYTES)));                                               \
  static inline void add_word_##name(char *word, word_##name##_t values)                                               \
  {                                                                                                                    \
    for (size_t i = 0; i < WORD_BYTES / sizeof(lane); i++)                                                             \
      add_##name(word + i * sizeof(lane), values[i]);                                                                  \
  }
#endif
ADD_WORD(32, uint32_t)
ADD_WORD(float, float)
ADD_WORD(double, double)

/* Element k of those that a row adds next. */
#define NEXT(name, k) scaled_##name(buffer + (k)*step, alpha)

/* Add the next element, or the elements of the next word, which are composed in registers. */
#define ADD_ONE(name) add_##name(part, NEXT(name, 0))
#define ADD_TWO(name) add_word_##name(part, (word_##name##_t){NEXT(name, 0), NEXT(name, 1)})
#define ADD_FOUR(name)                                                                                                 \
  add_word_##name(part, (word_##name##_t){NEXT(name, 0), NEXT(name, 1), NEXT(name, 2), NEXT(name, 3)})
#define ADD_ONE_C64(name) add_word_double(part, (word_double_t){creal(NEXT(name, 0)), cimag(NEXT(name, 0))})
#define ADD_TWO_C32(name)                                                                                              \
  add_word_float(part, (word_float_t){crealf(NEXT(name, 0)), cimagf(NEXT(name, 0)), crealf(NEXT(name, 1)),             \
                                      cimagf(NEXT(name, 1))})

/* 1u: short integers are multiplied as unsigned numbers. */
#define TIMES_INTEGER(type, a, b) ((type)(1u * (a) * (b)))
#define TIMES_REAL(type, a, b) ((a) * (b))

/* add_word(name): adds count elements at an aligned address. */
#define DEFINE_ARITHMETIC(name, type, times, count, add_word)                                                          \
  static inline type scaled_##name(const char *value, const void *alpha)                                               \
  {                                                                                                                    \
    return alpha != NULL ? times(type, LOAD(type, alpha), LOAD(type, value)) : LOAD(type, value);                      \
  }                                                                                                                    \
  static void accumulate_##name(char *part, char *buffer, int64_t n, int64_t stride, const void *alpha)                \
  {                                                                                                                    \
    const ptrdiff_t step = (ptrdiff_t)stride * (ptrdiff_t)sizeof(type);                                                \
    for (int64_t added; n > 0; n -= added) {                                                                           \
      bool whole = (uintptr_t)part % WORD_BYTES == 0 && n >= (count);                                                  \
      added = whole ? (count) : 1;                                                                                     \
      if (whole)                                                                                                       \
        add_word(name);                                                                                                \
      else                                                                                                             \
        ADD_ONE(name);                                                                                                 \
      part += (size_t)added * sizeof(type);                                                                            \
      buffer += added * step;                                                                                          \
    }                                                                                                                  \
  }                                                                                                                    \
  static void scale_##name(void *elements, int64_t n, const void *alpha)                                               \
  {                                                                                                                    \
    type factor = LOAD(type, alpha);                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      type product = times(type, factor, LOAD(type, elements + (size_t)i * sizeof(type)));                             \
      memcpy(elements + (size_t)i * sizeof(type), &product, sizeof product);                                           \
    }                                                                                                                  \
  }                                                                                                                    \
  static void combine_##name(void *c, const void *a, const void *b, int64_t n, const void *alpha, const void *beta)    \
  {                                                                                                                    \
    type first = LOAD(type, alpha), second = LOAD(type, beta);                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      size_t at = (size_t)i * sizeof(type);                                                                            \
      type sum = (type)(times(type, first, LOAD(type, a + at)) + times(type, second, LOAD(type, b + at)));             \
      memcpy(c + at, &sum, sizeof sum);                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  static void dot_##name(const void *a, const void *b, int64_t n, void *total)                                         \
  {                                                                                                                    \
    type sum = LOAD(type, total);                                                                                      \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      size_t at = (size_t)i * sizeof(type);                                                                            \
      sum = (type)(sum + times(type, LOAD(type, a + at), LOAD(type, b + at)));                                         \
    }                                                                                                                  \
    memcpy(total, &sum, sizeof sum);                                                                                   \
  }
DEFINE_ARITHMETIC(8, uint8_t, TIMES_INTEGER, 1, ADD_ONE)
DEFINE_ARITHMETIC(16, uint16_t, TIMES_INTEGER, 1, ADD_ONE)
DEFINE_ARITHMETIC(32, uint32_t, TIMES_INTEGER, 4, ADD_FOUR)
DEFINE_ARITHMETIC(64, uint64_t, TIMES_INTEGER, 1, ADD_ONE)
DEFINE_ARITHMETIC(float, float, TIMES_REAL, 4, ADD_FOUR)
DEFINE_ARITHMETIC(double, double, TIMES_REAL, 2, ADD_TWO)
DEFINE_ARITHMETIC(c32, float _Complex, TIMES_REAL, 2, ADD_TWO_C32)
DEFINE_ARITHMETIC(c64, double _Complex, TIMES_REAL, 1, ADD_ONE_C64)

/* Ordinary instructions, the same results. dense: without factor and stride. */
#define DEFINE_ADD(name, type, dense)                                                                                  \
  static void plain_##name(char *part, char *buffer, int64_t n, int64_t stride, const void *alpha)                     \
  {                                                                                                                    \
    const ptrdiff_t step = (ptrdiff_t)stride * (ptrdiff_t)sizeof(type);                                                \
    if (alpha == NULL && stride == 1) {                                                                                \
      dense(part, buffer, (size_t)n * sizeof(type));                                                                   \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t i = 0; i < n; i++, part += sizeof(type), buffer += step) {                                            \
      type sum = LOAD(type, part) + scaled_##name(buffer, alpha);                                                      \
      memcpy(part, &sum, sizeof sum);                                                                                  \
    }                                                                                                                  \
  }
DEFINE_ADD(float, float, sfshm_dense_sum_f32)
DEFINE_ADD(double, double, sfshm_dense_sum_f64)
DEFINE_ADD(c32, float _Complex, sfshm_dense_sum_c32)
DEFINE_ADD(c64, double _Complex, sfshm_dense_sum_c64)

#define LOOPS(name, add)                                                                                               \
  {                                                                                                                    \
    accumulate_##name, add, scale_##name, combine_##name, dot_##name                                                   \
  }

const sfshm_array_arithmetic_t sfshm_array_arithmetic[SFSHM_BASE_COUNT] = {
    [SFSHM_BASE_INT8] = LOOPS(8, NULL),
    [SFSHM_BASE_UINT8] = LOOPS(8, NULL),
    [SFSHM_BASE_INT16] = LOOPS(16, NULL),
    [SFSHM_BASE_UINT16] = LOOPS(16, NULL),
    [SFSHM_BASE_INT32] = LOOPS(32, NULL),
    [SFSHM_BASE_UINT32] = LOOPS(32, NULL),
    [SFSHM_BASE_INT64] = LOOPS(64, NULL),
    [SFSHM_BASE_UINT64] = LOOPS(64, NULL),
    [SFSHM_BASE_FLOAT] = LOOPS(float, plain_float),
    [SFSHM_BASE_DOUBLE] = LOOPS(double, plain_double),
    [SFSHM_BASE_FLOAT_COMPLEX] = LOOPS(c32, plain_c32),
    [SFSHM_BASE_DOUBLE_COMPLEX] = LOOPS(c64, plain_c64),
};

/* ---- Fetching ---------------------------------------------------------------------------------------------------- */

bool sfshm_array_fetch_applies(sfshm_op_t op, sfshm_base_t base)
{
  bool integer =
      base == SFSHM_BASE_INT32 || base == SFSHM_BASE_UINT32 || base == SFSHM_BASE_INT64 || base == SFSHM_BASE_UINT64;
  return integer && (op == SFSHM_OP_SUM || op == SFSHM_OP_REPLACE || op == SFSHM_OP_MAX || op == SFSHM_OP_MIN ||
                     op == SFSHM_OP_BAND || op == SFSHM_OP_BOR || op == SFSHM_OP_BXOR);
}

/* Acquire and release: applications build locks and counters of these operations. */
#define FETCH_IF(better, operand)                                                                                      \
  present = __atomic_load_n(word, __ATOMIC_ACQUIRE);                                                                   \
  while ((better) &&                                                                                                   \
         !__atomic_compare_exchange_n(word, &present, (operand), true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))            \
    ;                                                                                                                  \
  return present

#define DEFINE_FETCH(bits)                                                                                             \
  static uint64_t fetch_##bits(sfshm_op_t op, bool is_signed, void *element, uint##bits##_t operand)                   \
  {                                                                                                                    \
    word##bits##_t *word = element, present;                                                                           \
    switch (op) {                                                                                                      \
    case SFSHM_OP_SUM:                                                                                                 \
      return __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);                                                      \
    case SFSHM_OP_BAND:                                                                                                \
      return __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);                                                      \
    case SFSHM_OP_BOR:                                                                                                 \
      return __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);                                                       \
    case SFSHM_OP_BXOR:                                                                                                \
      return __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);                                                      \
    case SFSHM_OP_MAX:                                                                                                 \
      FETCH_IF(is_signed ? (int##bits##_t)operand > (int##bits##_t)present : operand > present, operand);              \
    case SFSHM_OP_MIN:                                                                                                 \
      FETCH_IF(is_signed ? (int##bits##_t)operand < (int##bits##_t)present : operand < present, operand);              \
    default:                                                                                                           \
      return __atomic_exchange_n(word, operand, __ATOMIC_ACQ_REL);                                                     \
    }                                                                                                                  \
  }
DEFINE_FETCH(32)
DEFINE_FETCH(64)

uint64_t sfshm_array_fetch_op(sfshm_op_t op, sfshm_base_t base, void *element, uint64_t operand)
{
  bool is_signed = base == SFSHM_BASE_INT32 || base == SFSHM_BASE_INT64;
  return sfshm_base_size(base) == 4 ? fetch_32(op, is_signed, element, (uint32_t)operand)
                                    : fetch_64(op, is_signed, element, operand);
}

uint64_t sfshm_array_compare_swap(sfshm_base_t base, void *element, uint64_t compare, uint64_t value)
{
  if (sfshm_base_size(base) == 4) {
    uint32_t present = (uint32_t)compare;
    (void)__atomic_compare_exchange_n((word32_t *)element, &present, (uint32_t)value, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE);
    return present;
  }
  (void)__atomic_compare_exchange_n((word64_t *)element, &compare, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return compare;
}
