/* Recursive coordinate bisection of cells of a cube that are spread over processes anyhow. */
#ifndef EXAMPLES_BISECT_H
#define EXAMPLES_BISECT_H

#include <mpi.h>
#include <stdint.h>

/* Cells are numbered x + side * (y + side * z). target[i] becomes the part, 0 .. nparts-1, to which cell number[i]
 * belongs. The cells of all processes of comm together are cut in two across their longest extent, so that both sides
 * have as many as parts that are to come from them, and so on. Collective over comm. */
void bisect(MPI_Comm comm, int32_t side, int32_t n, const int64_t number[], int32_t nparts, int32_t target[]);

#endif
