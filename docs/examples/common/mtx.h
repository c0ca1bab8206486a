/* Reads Matrix Market files [R. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats", NISTIR 5935,
 * 1996] that can be a symmetric positive definite matrix. */
#ifndef EXAMPLES_MTX_H
#define EXAMPLES_MTX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/csr.h"

/* Reads the whole matrix, both triangles. Accepted: coordinate files, real or integer, symmetric, or general with
 * entries that are symmetric in fact; at least one row, all diagonal entries positive, none beside them as large as the
 * geometric mean of those in its row and column, no entry given twice. Whether a matrix with all that is positive
 * definite only a solve can tell. Entries 0 off the diagonal are left out.
 * Refused is everything else: returns false with a text "file:line: what is wrong" in message. */
bool mtx_read(const char *path, csr_t *matrix_p, char message[], size_t message_bytes);

#endif
