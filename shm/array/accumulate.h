/* Atomic updates of elements, without locks: a process that dies in the middle leaves none behind. Elements that are
 * shorter than a word, and the two parts of complex numbers, are updated one by one. Any thread of any process. */
#ifndef SFSHM_ARRAY_ACCUMULATE_H
#define SFSHM_ARRAY_ACCUMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/kernels/unit.h"

/* Moves n elements between consecutive ones of a part and every stride-th one of a buffer, which need not be aligned.
 */
typedef void sfshm_array_row_t(char *part, char *buffer, int64_t n, int64_t stride, const void *alpha);

/* part[i] += buffer[i * stride], or alpha times that: alpha is one element, and NULL for the first of the two. NULL for
 * a base without arithmetic. */
sfshm_array_row_t *sfshm_array_accumulate(sfshm_base_t base, const void *alpha);

/* element[i] *= alpha, for n consecutive elements; not atomic. */
void sfshm_array_scale(sfshm_base_t base, void *elements, int64_t n, const void *alpha);

/* c[i] = alpha * a[i] + beta * b[i]; c may be a or b. */
void sfshm_array_combine(sfshm_base_t base, void *c, const void *a, const void *b, int64_t n, const void *alpha,
                         const void *beta);

/* *sum += a[0] * b[0] + a[1] * b[1] + ... */
void sfshm_array_dot(sfshm_base_t base, const void *a, const void *b, int64_t n, void *sum);

/* Whether fetch_op with the op is defined: integers of 4 and 8 bytes; sum, replace, max, min, band, bor, bxor. */
bool sfshm_array_fetch_applies(sfshm_op_t op, sfshm_base_t base);

/* Exchanges the element for (element op operand) and returns what it was. Values are bits in the low bytes. */
uint64_t sfshm_array_fetch_op(sfshm_op_t op, sfshm_base_t base, void *element, uint64_t operand);

/* Stores value if the element equals compare. Returns what it was. */
uint64_t sfshm_array_compare_swap(sfshm_base_t base, void *element, uint64_t compare, uint64_t value);

#endif
