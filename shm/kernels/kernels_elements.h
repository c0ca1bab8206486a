/* Arithmetic of one element: to = to op from, for every base type and op. Part of the kernels; see kernels.h.
 *
 * Elements are loaded and stored by memcpy, which compiles to a plain move: neither packed data nor arrays need be
 * aligned, and arrays may have any declared type. Integers are combined as unsigned numbers of their size, except in
 * max and min: the result is the same in two's complement, and wraps around without undefined behaviour. */
#ifndef SFSHM_KERNELS_KERNELS_ELEMENTS_H
#define SFSHM_KERNELS_KERNELS_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shm/kernels/unit.h"

#define SFSHM_INLINE static inline __attribute__((always_inline, unused))

/* Expressions of the present and the arriving value. 1u: small types are promoted to unsigned int, not int. */
#define SFSHM_EXPR_SUM(present, in) ((present) + (in))
#define SFSHM_EXPR_PROD(present, in) (1u * (present) * (in))
#define SFSHM_EXPR_REAL_PROD(present, in) ((present) * (in))
#define SFSHM_EXPR_MAX(present, in) ((in) > (present) ? (in) : (present)) /* NaN: present stays, in is ignored */
#define SFSHM_EXPR_MIN(present, in) ((in) < (present) ? (in) : (present))
#define SFSHM_EXPR_ABOVE(present, in) ((in) > (present))
#define SFSHM_EXPR_BELOW(present, in) ((in) < (present))
#define SFSHM_EXPR_LAND(present, in) (((present) != 0) & ((in) != 0))
#define SFSHM_EXPR_LOR(present, in) (((present) != 0) | ((in) != 0))
#define SFSHM_EXPR_LXOR(present, in) (((present) != 0) ^ ((in) != 0))
#define SFSHM_EXPR_BAND(present, in) ((present) & (in))
#define SFSHM_EXPR_BOR(present, in) ((present) | (in))
#define SFSHM_EXPR_BXOR(present, in) ((present) ^ (in))

/* X(op, base suffix, C type, expression): all elements with one component. */
#define SFSHM_SCALARS_OF_BITS(X, bits)                                                                                 \
  X(sum, u##bits, uint##bits##_t, SFSHM_EXPR_SUM)                                                                      \
  X(prod, u##bits, uint##bits##_t, SFSHM_EXPR_PROD)                                                                    \
  X(max, u##bits, uint##bits##_t, SFSHM_EXPR_MAX)                                                                      \
  X(min, u##bits, uint##bits##_t, SFSHM_EXPR_MIN)                                                                      \
  X(max, i##bits, int##bits##_t, SFSHM_EXPR_MAX)                                                                       \
  X(min, i##bits, int##bits##_t, SFSHM_EXPR_MIN)                                                                       \
  X(land, u##bits, uint##bits##_t, SFSHM_EXPR_LAND)                                                                    \
  X(lor, u##bits, uint##bits##_t, SFSHM_EXPR_LOR)                                                                      \
  X(lxor, u##bits, uint##bits##_t, SFSHM_EXPR_LXOR)                                                                    \
  X(band, u##bits, uint##bits##_t, SFSHM_EXPR_BAND)                                                                    \
  X(bor, u##bits, uint##bits##_t, SFSHM_EXPR_BOR)                                                                      \
  X(bxor, u##bits, uint##bits##_t, SFSHM_EXPR_BXOR)

#define SFSHM_SCALARS_REAL(X, suffix, type)                                                                            \
  X(sum, suffix, type, SFSHM_EXPR_SUM)                                                                                 \
  X(prod, suffix, type, SFSHM_EXPR_REAL_PROD)                                                                          \
  X(max, suffix, type, SFSHM_EXPR_MAX)                                                                                 \
  X(min, suffix, type, SFSHM_EXPR_MIN)

#define SFSHM_SCALAR_TABLE(X)                                                                                          \
  SFSHM_SCALARS_OF_BITS(X, 8)                                                                                          \
  SFSHM_SCALARS_OF_BITS(X, 16)                                                                                         \
  SFSHM_SCALARS_OF_BITS(X, 32)                                                                                         \
  SFSHM_SCALARS_OF_BITS(X, 64)                                                                                         \
  SFSHM_SCALARS_REAL(X, f32, float)                                                                                    \
  SFSHM_SCALARS_REAL(X, f64, double)

/* X(op, base suffix, C type, unused): complex elements. */
#define SFSHM_COMPLEX_TABLE(X)                                                                                         \
  X(sum, c32, sfshm_c32_t, )                                                                                           \
  X(prod, c32, sfshm_c32_t, )                                                                                          \
  X(sum, c64, sfshm_c64_t, )                                                                                           \
  X(prod, c64, sfshm_c64_t, )

/* X(op, base suffix, C type, comparison that decides): pairs of value and index. */
#define SFSHM_PAIR_OPS(X, name)                                                                                        \
  X(maxloc, name, sfshm_##name##_t, SFSHM_EXPR_ABOVE)                                                                  \
  X(minloc, name, sfshm_##name##_t, SFSHM_EXPR_BELOW)
#define SFSHM_PAIR_OPS_TABLE(X)                                                                                        \
  SFSHM_PAIR_OPS(X, INT16_INT32)                                                                                       \
  SFSHM_PAIR_OPS(X, INT32_INT32)                                                                                       \
  SFSHM_PAIR_OPS(X, INT64_INT32)                                                                                       \
  SFSHM_PAIR_OPS(X, INT64_INT64)                                                                                       \
  SFSHM_PAIR_OPS(X, FLOAT_INT32)                                                                                       \
  SFSHM_PAIR_OPS(X, DOUBLE_INT32)                                                                                      \
  SFSHM_PAIR_OPS(X, DOUBLE_INT64)

#define SFSHM_ELEMENT_TABLE(X) SFSHM_SCALAR_TABLE(X) SFSHM_COMPLEX_TABLE(X) SFSHM_PAIR_OPS_TABLE(X)

#define SFSHM_SCALAR_ELEMENT(op, suffix, type, expression)                                                             \
  SFSHM_INLINE void sfshm_##op##_##suffix(char *to, const char *from, size_t size_bytes)                               \
  {                                                                                                                    \
    (void)size_bytes;                                                                                                  \
    type present, in;                                                                                                  \
    memcpy(&present, to, sizeof present);                                                                              \
    memcpy(&in, from, sizeof in);                                                                                      \
    present = (type)expression(present, in);                                                                           \
    memcpy(to, &present, sizeof present);                                                                              \
  }
SFSHM_SCALAR_TABLE(SFSHM_SCALAR_ELEMENT)
#undef SFSHM_SCALAR_ELEMENT

typedef struct sfshm_c32 {
  float re, im;
} sfshm_c32_t;

typedef struct sfshm_c64 {
  double re, im;
} sfshm_c64_t;

/* The textbook product. C's operator calls a function that repairs infinities if the textbook product is NaN (annex G
 * of the standard); here such results stay NaN. Components are moved one by one, because GCC 12 keeps a struct filled
 * by memcpy in an integer register. */
#define SFSHM_COMPLEX_ELEMENTS(suffix, component_suffix, type)                                                         \
  SFSHM_INLINE void sfshm_sum_##suffix(char *to, const char *from, size_t size_bytes)                                  \
  {                                                                                                                    \
    (void)size_bytes;                                                                                                  \
    sfshm_sum_##component_suffix(to, from, sizeof(type));                                                              \
    sfshm_sum_##component_suffix(to + sizeof(type), from + sizeof(type), sizeof(type));                                \
  }                                                                                                                    \
  SFSHM_INLINE void sfshm_prod_##suffix(char *to, const char *from, size_t size_bytes)                                 \
  {                                                                                                                    \
    (void)size_bytes;                                                                                                  \
    type a, b, c, d;                                                                                                   \
    memcpy(&a, to, sizeof a);                                                                                          \
    memcpy(&b, to + sizeof a, sizeof b);                                                                               \
    memcpy(&c, from, sizeof c);                                                                                        \
    memcpy(&d, from + sizeof c, sizeof d);                                                                             \
    type re = a * c - b * d;                                                                                           \
    type im = a * d + b * c;                                                                                           \
    memcpy(to, &re, sizeof re);                                                                                        \
    memcpy(to + sizeof re, &im, sizeof im);                                                                            \
  }
SFSHM_COMPLEX_ELEMENTS(c32, f32, float)
SFSHM_COMPLEX_ELEMENTS(c64, f64, double)
#undef SFSHM_COMPLEX_ELEMENTS

/* The higher (lower) value wins; of equal values the one with the lower index. Padding keeps its contents, so for
 * integers the result does not depend on the order. */
#define SFSHM_PAIR_ELEMENT(op, suffix, type, decides)                                                                  \
  SFSHM_INLINE void sfshm_##op##_##suffix(char *to, const char *from, size_t size_bytes)                               \
  {                                                                                                                    \
    (void)size_bytes;                                                                                                  \
    type present, in;                                                                                                  \
    memcpy(&present, to, sizeof present);                                                                              \
    memcpy(&in, from, sizeof in);                                                                                      \
    if (!decides(present.value, in.value) && !(in.value == present.value && in.index < present.index))                 \
      return;                                                                                                          \
    memcpy(to + offsetof(type, value), &in.value, sizeof in.value);                                                    \
    memcpy(to + offsetof(type, index), &in.index, sizeof in.index);                                                    \
  }
SFSHM_PAIR_OPS_TABLE(SFSHM_PAIR_ELEMENT)
#undef SFSHM_PAIR_ELEMENT

#endif
