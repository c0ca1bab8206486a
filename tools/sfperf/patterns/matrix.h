/* Ghost values of a distributed sparse matrix-vector product. */
#ifndef SFPERF_PATTERNS_MATRIX_H
#define SFPERF_PATTERNS_MATRIX_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfperf/patterns/pattern.h"

/* Reads a square Matrix Market coordinate file and partitions its rows into equal consecutive blocks. Roots: the vector
 * entries of this rank's block. Leaves: the columns of other blocks in which its rows have entries, ascending. Values
 * are ignored. Every rank reads the file itself.
 * SF_ERR_ARG: not such a file; the detail names the line. */
sf_status_t sfperf_pattern_matrix(int rank, int size, FILE *file, sfperf_pattern_t *pattern_p);

#endif
