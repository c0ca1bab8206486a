/* Global numbers: who owns which range of them. */
#ifndef SFC_ALGEBRA_LAYOUT_H
#define SFC_ALGEBRA_LAYOUT_H

#include "client/algebra/derive.h"

/* Rank r owns the numbers first[r] .. first[r + 1] - 1. */
typedef struct sfc_layout {
  int32_t size;
  const int64_t *first; /* size + 1 of them; NULL: it could not be made */
} sfc_layout_t;

/* From how many numbers each rank owns: the sum of the n values from counts[rank * stride] on. counts may be NULL: what
 * made them failed. The layout's memory is the derivation's. A sum that does not fit is noted. */
void sfc_layout_make(sfc_derive_t *derive, const int64_t counts[], int64_t stride, int64_t n, sfc_layout_t *layout);

/* How many numbers there are. */
static inline int64_t sfc_layout_total(const sfc_layout_t *layout)
{
  return layout->first[layout->size];
}

/* The owner of a number in 0..total-1 and its place there. *hint is a rank, where to look first; it becomes the owner.
 */
sfc_vertex_t sfc_layout_find(const sfc_layout_t *layout, int64_t number, int32_t *hint);

#endif
