/* Index patterns: a sequence of vertices of an array, in its shortest form. */
#ifndef SFSHM_EDGES_PATTERN_H
#define SFSHM_EDGES_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sfshm_pattern_kind {
  SFSHM_PATTERN_CONTIGUOUS, /* start, start + 1, ... */
  SFSHM_PATTERN_STRIDED,    /* start, start + stride, ...; stride not 0 or 1, may be negative */
  SFSHM_PATTERN_INDEX32,    /* index32[i] */
  SFSHM_PATTERN_INDEX64,    /* index64[i] */
} sfshm_pattern_kind_t;

/* A pattern does not own its index array. A general pattern whose indices form a box in an array of up to three
 * dimensions has the box's parameters as well: kernels that know boxes need not read the indices, all others ignore the
 * box. */
typedef struct sfshm_pattern {
  sfshm_pattern_kind_t kind;
  int64_t n;      /* number of vertices */
  int64_t start;  /* CONTIGUOUS, STRIDED; of a box */
  int64_t stride; /* STRIDED; 1 for CONTIGUOUS; between the vertices of a row of a box, 0 excluded */
  union {
    const uint32_t *index32;
    const int64_t *index64;
  };
  int64_t row;          /* of a box: vertices in a row; 0: no box */
  int64_t rows;         /* in a plane */
  int64_t row_stride;   /* between the starts of rows */
  int64_t plane_stride; /* between those of planes */
  int64_t skipped;      /* vertices of the box before the first one of the pattern */
} sfshm_pattern_t;

static inline sfshm_pattern_t sfshm_pattern_contiguous(int64_t start, int64_t n)
{
  return (sfshm_pattern_t){.kind = SFSHM_PATTERN_CONTIGUOUS, .n = n, .start = start, .stride = 1};
}

/* The shortest form of n indices, all >= 0. A general pattern refers to the given array. */
sfshm_pattern_t sfshm_pattern_from_index32(const uint32_t index[], int64_t n);
sfshm_pattern_t sfshm_pattern_from_index64(const int64_t index[], int64_t n);

static inline sfshm_pattern_t sfshm_pattern_from_indices(const void *index, int64_t n, bool wide)
{
  return wide ? sfshm_pattern_from_index64(index, n) : sfshm_pattern_from_index32(index, n);
}

/* The shortest form of a pattern. */
sfshm_pattern_t sfshm_pattern_shorten(const sfshm_pattern_t *pattern);

/* Detects whether a general pattern is a box with rows long enough to be useful, like the faces of a part of a grid.
 * Usually reads few indices; reads all only if the pattern is a box. */
void sfshm_pattern_find_box(sfshm_pattern_t *pattern);

/* Returns vertex number i of the pattern, 0 <= i < n. */
static inline int64_t sfshm_pattern_at(const sfshm_pattern_t *pattern, int64_t i)
{
  switch (pattern->kind) {
  case SFSHM_PATTERN_INDEX32:
    return pattern->index32[i];
  case SFSHM_PATTERN_INDEX64:
    return pattern->index64[i];
  default:
    return pattern->start + i * pattern->stride;
  }
}

/* Returns vertices first .. first + n - 1 of the pattern as a pattern. */
static inline sfshm_pattern_t sfshm_pattern_slice(const sfshm_pattern_t *pattern, int64_t first, int64_t n)
{
  sfshm_pattern_t slice = *pattern;
  slice.n = n;
  slice.skipped += first;
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    slice.index32 += first;
  else if (pattern->kind == SFSHM_PATTERN_INDEX64)
    slice.index64 += first;
  else
    slice.start += first * pattern->stride;
  return slice;
}

/* Iterator over a pattern without its indices, line by line. */
typedef struct sfshm_walk {
  int64_t at;     /* current vertex */
  int64_t stride; /* to the next vertex, left - 1 times */
  int64_t left;   /* vertices left in this line */
  int64_t row_at;
  int64_t plane_at;
  int64_t rows_left; /* rows left in this plane, this one included */
} sfshm_walk_t;

/* Whether the pattern can be iterated without its indices. */
static inline bool sfshm_pattern_walks(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED || pattern->row > 0;
}

/* Starts at vertex number first, which need not exist. bias is subtracted from all vertices. */
sfshm_walk_t sfshm_walk_begin(const sfshm_pattern_t *pattern, int64_t first, int64_t bias);

/* Goes on by n <= left vertices. */
static inline void sfshm_walk_on(sfshm_walk_t *walk, const sfshm_pattern_t *pattern, int64_t n)
{
  walk->at += n * walk->stride;
  walk->left -= n;
  if (walk->left > 0)
    return;
  walk->left = pattern->row;
  walk->row_at += pattern->row_stride;
  if (--walk->rows_left == 0) {
    walk->rows_left = pattern->rows;
    walk->plane_at += pattern->plane_stride;
    walk->row_at = walk->plane_at;
  }
  walk->at = walk->row_at;
}

/* What one pass over a pattern finds. */
typedef struct sfshm_pattern_survey {
  int64_t min;  /* 0 if there are no vertices */
  int64_t max;  /* -1 if there are none */
  int64_t runs; /* maximal pieces of consecutive ascending vertices */
} sfshm_pattern_survey_t;

sfshm_pattern_survey_t sfshm_pattern_survey(const sfshm_pattern_t *pattern);

/* Returns the position of the first vertex >= vertex in an ascending (not strictly) pattern; n if there is none. */
int64_t sfshm_pattern_find(const sfshm_pattern_t *pattern, int64_t vertex);

/* Whether the vertices ascend strictly, and so are distinct. */
bool sfshm_pattern_ascends(const sfshm_pattern_t *pattern);

/* Copies vertices in order, except those whose numbers are in the set left_out (one bit each, lowest first, none beyond
 * n; NULL: the empty set). Writes int64_t if wide, else uint32_t, in which the vertices must fit. */
void sfshm_pattern_copy(const sfshm_pattern_t *pattern, const uint64_t left_out[], bool wide, void *to);

/* Highest and lowest vertex; -1 and 0 if n is 0. */
int64_t sfshm_pattern_max(const sfshm_pattern_t *pattern);
int64_t sfshm_pattern_min(const sfshm_pattern_t *pattern);

#endif
