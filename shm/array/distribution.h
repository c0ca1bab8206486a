/* Distribution of an array over ranks: owner of an element, position of the element in the owner's part, intersection
 * of a patch with a part. Everything is closed-form: nothing loops over elements or blocks.
 *
 * The ranks form a grid, in row-major order of their coordinates. Along each dimension the indices are dealt to the
 * coordinates in blocks: block k goes to coordinate k % procs. One block for each coordinate is the regular
 * distribution, blocks of one index are the element-cyclic one. With bounds, coordinate c has the indices bounds[c] ..
 * bounds[c + 1] - 1. A rank stores its elements, its part, in row-major order of their indices and without gaps. The
 * intersection of a patch and a part is a box of the part. */
#ifndef SFSHM_ARRAY_DISTRIBUTION_H
#define SFSHM_ARRAY_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/kernels/unit.h"

#define SFSHM_ARRAY_DIMS 4
#define SFSHM_ARRAY_MAX_BYTES (INT64_C(1) << 56) /* of all elements */

typedef struct sfshm_array_dim {
  int64_t extent;         /* indices, > 0 */
  int64_t block;          /* indices in a block, > 0; unused with bounds */
  int32_t procs;          /* coordinates of the grid, > 0 */
  const int64_t *bounds;  /* procs + 1 ascending indices from 0 to extent; NULL: by blocks */
  uint64_t block_inverse; /* of block and of procs, by which indices are divided; sfshm_array_check sets them */
  uint64_t procs_inverse;
} sfshm_array_dim_t;

/* Shape and distribution of an array. Private memory: the same on all ranks and daemons. */
typedef struct sfshm_array {
  int32_t ndims;  /* 1 .. SFSHM_ARRAY_DIMS */
  int32_t nranks; /* product of procs */
  sfshm_base_t base;
  uint32_t unit_bytes;
  sfshm_array_dim_t dims[SFSHM_ARRAY_DIMS];
} sfshm_array_t;

/* Where one index of a dimension lies. */
typedef struct sfshm_array_place {
  int32_t coordinate;
  int64_t local; /* index in the part */
  int64_t run;   /* indices from this one on that are consecutive in the part and in the array */
} sfshm_array_place_t;

/* Intersection of a patch and the part of one rank. Along dimension d the box has the indices first[d] .. first[d] +
 * extent[d] - 1 of the part. Index first[d] + j is index patch[d] + j + (in_block[d] + j) / block[d] * skip[d] of the
 * patch. */
typedef struct sfshm_array_box {
  int64_t first[SFSHM_ARRAY_DIMS];
  int64_t extent[SFSHM_ARRAY_DIMS];
  int64_t part[SFSHM_ARRAY_DIMS]; /* extents of the whole part */
  int64_t patch[SFSHM_ARRAY_DIMS];
  int64_t in_block[SFSHM_ARRAY_DIMS];
  int64_t block[SFSHM_ARRAY_DIMS];
  int64_t skip[SFSHM_ARRAY_DIMS];
} sfshm_array_box_t;

/* Checks shape and distribution from an untrusted source, and sets nranks, unit_bytes and the inverses. SF_ERR_ARG. The
 * bounds, if any, are valid memory. */
sf_status_t sfshm_array_check(sfshm_array_t *array);

/* Block size of a regular distribution: as even as blocks of one size can be. */
static inline int64_t sfshm_array_even_block(int64_t extent, int32_t procs)
{
  return extent / procs + (extent % procs != 0);
}

void sfshm_array_find_bounded(const sfshm_array_dim_t *dim, int64_t index, sfshm_array_place_t *place_p);

/* For sfshm_array_quotient. */
static inline uint64_t sfshm_array_inverse(int64_t divisor)
{
  return UINT64_MAX / (uint64_t)divisor;
}

/* Quotient of numbers >= 0. Numbers below 2^32 are multiplied by the inverse i of the divisor b, which takes fewer
 * cycles than a division. The result is exact: b * i = 2^64 - 1 - r with r < b, so (a + 1) * i / 2^64 is (a + 1) / b,
 * reduced by (a + 1) * (1 + r) / (b * 2^64), which is positive and at most 1 / b. */
static inline int64_t sfshm_array_quotient(int64_t a, int64_t b, uint64_t inverse)
{
  if (__builtin_expect(((uint64_t)a | (uint64_t)b) >> 32 != 0, false))
    return a / b;
  return (int64_t)((unsigned __int128)((uint64_t)a + 1) * inverse >> 64);
}

/* Place of an index within the dimension's extent. */
static inline void sfshm_array_find(const sfshm_array_dim_t *dim, int64_t index, sfshm_array_place_t *place_p)
{
  if (dim->bounds != NULL) {
    sfshm_array_place_t place; /* only this one must be in memory */
    sfshm_array_find_bounded(dim, index, &place);
    *place_p = place;
    return;
  }
  int64_t block = sfshm_array_quotient(index, dim->block, dim->block_inverse), in_block = index - block * dim->block;
  int64_t round = block < dim->procs ? 0 : sfshm_array_quotient(block, dim->procs, dim->procs_inverse);
  place_p->coordinate = (int32_t)(block - round * dim->procs);
  place_p->local = round * dim->block + in_block;
  int64_t run = dim->block - in_block, rest = dim->extent - index;
  place_p->run = run < rest && dim->procs > 1 ? run : rest;
}

/* Owner of an element, and the number of the element in the owner's part. The index is within the array. */
int32_t sfshm_array_owner(const sfshm_array_t *array, const int64_t index[], int64_t *element_p);

/* Number of indices of a dimension that a coordinate has. */
int64_t sfshm_array_local_extent(const sfshm_array_dim_t *dim, int32_t coordinate);

/* Extents of a rank's part; and the number of its elements, which may be 0. */
int64_t sfshm_array_part(const sfshm_array_t *array, int32_t rank, int64_t extents[]);

/* Intersection of the patch, which is within the array, and the rank's part. false: it is empty. */
bool sfshm_array_box(const sfshm_array_t *array, int32_t rank, const int64_t lo[], const int64_t extent[],
                     sfshm_array_box_t *box_p);

/* Number of elements. */
int64_t sfshm_array_count(int32_t ndims, const int64_t extent[]);

/* Iterator over the ranks that may own elements of a patch: n coordinates from the first one along each dimension,
 * modulo procs. */
typedef struct sfshm_array_ranks {
  int32_t first[SFSHM_ARRAY_DIMS];
  int32_t n[SFSHM_ARRAY_DIMS];
  int32_t at[SFSHM_ARRAY_DIMS]; /* of the next rank, relative to first */
  bool over;
} sfshm_array_ranks_t;

void sfshm_array_ranks_start(const sfshm_array_t *array, const int64_t lo[], const int64_t extent[],
                             sfshm_array_ranks_t *ranks);

/* The next rank; -1: none. With bounds, a rank may own no element. */
int32_t sfshm_array_ranks_next(const sfshm_array_t *array, sfshm_array_ranks_t *ranks);

#endif
