/* Numbers and matrices without any regularity that are nevertheless the same for any number of ranks: every rank can
 * compute every part of them. */
#ifndef EXAMPLES_SCATTERED_H
#define EXAMPLES_SCATTERED_H

#include <stdint.h>

#include "common/csr.h"

/* 64 random bits that depend on i and seed alone. */
uint64_t scattered_bits(uint64_t i, uint64_t seed);

/* A number in [-1, 1) that depends on i and seed alone. */
double scattered(uint64_t i, uint64_t seed);

/* Rows first .. end-1 of a matrix with ncolumns columns. A row has about per_row entries: most in columns near to where
 * the diagonal would be, some anywhere. It is not symmetric, and need not be square. */
csr_t csr_scattered(int32_t nrows, int32_t ncolumns, int32_t per_row, int32_t first, int32_t end, uint64_t seed);

#endif
