/* Index patterns: which vertices of an array take part, in which order, in the shortest form. */
#ifndef SFSHM_PATTERN_H
#define SFSHM_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sfshm_pattern_kind {
  SFSHM_PATTERN_CONTIGUOUS, /* start, start + 1, ... */
  SFSHM_PATTERN_STRIDED,    /* start, start + stride, ...; stride not 0 or 1, may be negative */
  SFSHM_PATTERN_INDEX32,    /* index32[i] */
  SFSHM_PATTERN_INDEX64,    /* index64[i] */
} sfshm_pattern_kind_t;

/* Does not own the index array. A general pattern whose indices are those of a box in an array of up to three
 * dimensions may say so: whoever knows how need not look at the indices then, and others need not care. */
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

/* The shortest form of n indices (all >= 0). For a general result the pattern refers to the array given. */
sfshm_pattern_t sfshm_pattern_from_index32(const uint32_t index[], int64_t n);
sfshm_pattern_t sfshm_pattern_from_index64(const int64_t index[], int64_t n);

static inline sfshm_pattern_t sfshm_pattern_from_indices(const void *index, int64_t n, bool wide)
{
  return wide ? sfshm_pattern_from_index64(index, n) : sfshm_pattern_from_index32(index, n);
}

/* The shortest form of the vertices of a pattern. */
sfshm_pattern_t sfshm_pattern_shorten(const sfshm_pattern_t *pattern);

/* Finds out whether a general pattern is a box worth knowing of: the faces of a grid's part are. Looks at few indices
 * as a rule, and at all of them only if it is one. */
void sfshm_pattern_find_box(sfshm_pattern_t *pattern);

/* Vertex number i of the pattern, 0 <= i < n. */
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

/* Vertices first .. first + n - 1 of the pattern, as a pattern. */
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

/* A way through a pattern without looking at indices: line by line. */
typedef struct sfshm_walk {
  int64_t at;     /* vertex where the walk is */
  int64_t stride; /* to the next one, left - 1 times */
  int64_t left;   /* in this line */
  int64_t row_at;
  int64_t plane_at;
  int64_t rows_left; /* in this plane, with this one */
} sfshm_walk_t;

/* Whether there is one. */
static inline bool sfshm_pattern_walks(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED || pattern->row > 0;
}

/* Begins at vertex number first, which need not exist; bias is subtracted from all vertices. */
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

/* Where in a pattern that does not descend the vertex or a higher one stands for the first time; n: nowhere. */
int64_t sfshm_pattern_find(const sfshm_pattern_t *pattern, int64_t vertex);

/* Whether each vertex is higher than the one before: then they are distinct. */
bool sfshm_pattern_ascends(const sfshm_pattern_t *pattern);

/* Copies the vertices whose numbers are not in the set (one bit each, lowest first, none beyond n; NULL: the empty
 * set), in their order, to int64_t or, not wide, to uint32_t, in which they must fit. */
void sfshm_pattern_copy(const sfshm_pattern_t *pattern, const uint64_t left_out[], bool wide, void *to);

/* Highest and lowest vertex; -1 and 0 when n is 0. */
int64_t sfshm_pattern_max(const sfshm_pattern_t *pattern);
int64_t sfshm_pattern_min(const sfshm_pattern_t *pattern);

#endif
