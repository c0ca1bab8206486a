/* A serial model of distributed arrays: shapes and distributions at random, who owns which element, and what the
 * elements are. Indices are dealt one by one, so that nothing here looks like the library's arithmetic. */
#ifndef SFTEST_MODEL_ARRAY_H
#define SFTEST_MODEL_ARRAY_H

#include <sf/sf.h>

#include "tests/system/model/units.h"

#define SFTEST_ARRAY_EXTENT 512 /* the longest dimension */

/* A number: small enough that sums of many are exact in every unit that does not wrap around. */
typedef struct sftest_number {
  int64_t real;
  int64_t imaginary; /* 0 unless the unit is complex */
} sftest_number_t;

typedef struct sftest_dealt {
  int64_t extent;
  int32_t procs;
  int32_t owner[SFTEST_ARRAY_EXTENT]; /* coordinate of each index */
  int64_t local[SFTEST_ARRAY_EXTENT]; /* how many indices before it the coordinate has */
} sftest_dealt_t;

typedef struct sftest_array {
  sf_array_t *real;
  sftest_base_t base;
  const sf_type_t *type;
  size_t unit_bytes;
  int32_t ndims;
  int32_t size; /* ranks */
  int64_t extent[SF_ARRAY_MAX_DIMS];
  bool has_distribution;
  sf_array_distribution_t distribution; /* for sf_array_create */
  int64_t bounds[SF_ARRAY_MAX_DIMS][SFTEST_ARRAY_EXTENT + 1];
  sftest_dealt_t dims[SF_ARRAY_MAX_DIMS]; /* filled in once the real array says its grid */
  int64_t count;
  sftest_number_t *numbers;
} sftest_array_t;

/* A shape and a distribution for that many ranks, with at most so many elements. */
void sftest_array_choose(sftest_array_t *array, int32_t size, int64_t most, uint64_t *random);

/* The same shape, or that with two dimensions exchanged, and another distribution. */
void sftest_array_choose_like(sftest_array_t *array, const sftest_array_t *other, bool transposed, uint64_t *random);
void sftest_array_free(sftest_array_t *array);

/* Creates the real one, and deals the indices. */
sf_status_t sftest_array_create(sftest_array_t *array, sf_group_t *group);

/* A patch that may be empty, of the whole array, or only of the indices of dimension d that are dealt to share i of
 * nshares: patches of different shares do not meet. */
typedef struct sftest_patch {
  int64_t lo[SF_ARRAY_MAX_DIMS];
  int64_t extent[SF_ARRAY_MAX_DIMS];
  int64_t ld[SF_ARRAY_MAX_DIMS];
  bool is_dense; /* ld is not given */
  int64_t room;  /* units of the buffer */
} sftest_patch_t;

void sftest_patch_choose(const sftest_array_t *array, int32_t share, int32_t nshares, sftest_patch_t *patch,
                         uint64_t *random);

/* Number of an element in the model, by its index; and where element i of the patch is in the array, in the buffer. */
int64_t sftest_array_number(const sftest_array_t *array, const int64_t index[]);
bool sftest_patch_next(const sftest_array_t *array, const sftest_patch_t *patch, int64_t at[]);
int64_t sftest_patch_number(const sftest_array_t *array, const sftest_patch_t *patch, const int64_t at[]);
int64_t sftest_patch_place(const sftest_array_t *array, const sftest_patch_t *patch, const int64_t at[]);

/* Owner of an element, and its number in the owner's part. */
int32_t sftest_array_owner(const sftest_array_t *array, const int64_t index[], int64_t *element_p);

/* A number of the seed; to and from the unit; alpha * a, a + b, in the unit. */
sftest_number_t sftest_number_make(const sftest_array_t *array, uint64_t seed);
void sftest_number_store(const sftest_array_t *array, sftest_number_t number, void *value);
sftest_number_t sftest_number_times(sftest_number_t a, sftest_number_t b);
sftest_number_t sftest_number_plus(sftest_number_t a, sftest_number_t b);

/* Whether the value is that number in the unit. */
bool sftest_number_is(const sftest_array_t *array, const void *value, sftest_number_t number);

#endif
