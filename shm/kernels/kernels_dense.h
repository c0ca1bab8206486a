/* Dense kernels: copy a range, or combine two ranges: to[i] = to[i] op from[i]. Part of the kernels; see kernels.h. The
 * ranges do not overlap and need no alignment; size_bytes is a multiple of the element's size. */
#ifndef SFSHM_KERNELS_KERNELS_DENSE_H
#define SFSHM_KERNELS_KERNELS_DENSE_H

#include "shm/kernels/kernels_elements.h"

#define SFSHM_DENSE_DECLARATION(op, suffix, type, expression)                                                          \
  void sfshm_dense_##op##_##suffix(char *restrict to, const char *restrict from, size_t size_bytes);
SFSHM_ELEMENT_TABLE(SFSHM_DENSE_DECLARATION)
#undef SFSHM_DENSE_DECLARATION

typedef void (*sfshm_dense_t)(char *restrict to, const char *restrict from, size_t size_bytes);

/* The op is not replace and applies to the base. */
sfshm_dense_t sfshm_dense_find(sfshm_op_t op, sfshm_base_t base);

/* Copies at the same speed for any alignment. memcpy of common C libraries uses string instructions for large sizes,
 * which on some processors are up to ten times slower if the ranges start at different offsets within a page, as memory
 * from malloc and page-aligned memory do. */
void sfshm_dense_copy(char *restrict to, const char *restrict from, size_t size_bytes);

/* Copies past the caches, into memory that another core has in its cache and reads next: a usual store there first
 * fetches the line back. Later stores of this thread are visible after the copy. Without such stores, or for ranges of
 * less than a few lines, a usual copy. */
void sfshm_dense_copy_nontemporal(char *restrict to, const char *restrict from, size_t size_bytes);

#endif
