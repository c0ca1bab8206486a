/* Layout: ownership of ranges of global numbers. */
#ifndef SFC_ALGEBRA_LAYOUT_H
#define SFC_ALGEBRA_LAYOUT_H

#include "client/algebra/derive.h"

/* Rank r owns the numbers first[r] .. first[r + 1] - 1. */
typedef struct sfc_layout {
  int32_t size;
  const int64_t *first; /* size + 1 numbers; NULL: making the layout failed */
} sfc_layout_t;

/* Makes a layout: rank owns the sum of the n values from counts[rank * stride] on. counts NULL: making them failed. The
 * derivation owns the memory. Notes an overflow. */
void sfc_layout_make(sfc_derive_t *derive, const int64_t counts[], int64_t stride, int64_t n, sfc_layout_t *layout);

static inline int64_t sfc_layout_total(const sfc_layout_t *layout)
{
  return layout->first[layout->size];
}

/* Finds the owner of a number in 0..total-1, and the index there. *hint: rank to try first; becomes the owner. */
sfc_vertex_t sfc_layout_find(const sfc_layout_t *layout, int64_t number, int32_t *hint);

#endif
