/* Arithmetic on elements of arrays: accumulation, fetch-and-op, compare-and-swap, and operations on whole parts. Atomic
 * updates take no lock: a process that dies in one leaves none behind. The two parts of a complex number are updated
 * one after the other. Any thread of any process. */
#ifndef SFSHM_ARRAY_ACCUMULATE_H
#define SFSHM_ARRAY_ACCUMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/kernels/unit.h"

/* Moves n elements between consecutive ones of a part and every stride-th one of a buffer, which need not be aligned.
 */
typedef void sfshm_array_row_t(char *part, char *buffer, int64_t n, int64_t stride, const void *alpha);

/* Loops over n consecutive elements of one base; alpha and beta are one element each. */
typedef struct sfshm_array_arithmetic {
  sfshm_array_row_t *accumulate; /* part[i] += alpha * buffer[i * stride], atomically; alpha NULL: 1 */
  sfshm_array_row_t *add;        /* the same, not atomically, bitwise; NULL: base is an integer */
  void (*scale)(void *elements, int64_t n, const void *alpha); /* elements[i] *= alpha; not atomic */
  /* c[i] = alpha * a[i] + beta * b[i]; c may be a or b. */
  void (*combine)(void *c, const void *a, const void *b, int64_t n, const void *alpha, const void *beta);
  void (*dot)(const void *a, const void *b, int64_t n, void *sum); /* *sum += a[0] * b[0] + a[1] * b[1] + ... */
} sfshm_array_arithmetic_t;

/* NULL for bases without arithmetic. */
extern const sfshm_array_arithmetic_t sfshm_array_arithmetic[SFSHM_BASE_COUNT];

/* Whether fetch_op with the op is defined: integers of 4 and 8 bytes; sum, replace, max, min, band, bor, bxor. */
bool sfshm_array_fetch_applies(sfshm_op_t op, sfshm_base_t base);

/* Exchanges the element for (element op operand) and returns what it was. Values are bits in the low bytes. */
uint64_t sfshm_array_fetch_op(sfshm_op_t op, sfshm_base_t base, void *element, uint64_t operand);

/* Stores value if the element equals compare. Returns what it was. */
uint64_t sfshm_array_compare_swap(sfshm_base_t base, void *element, uint64_t compare, uint64_t value);

#endif
