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

/* Does not own the index array. */
typedef struct sfshm_pattern {
  sfshm_pattern_kind_t kind;
  int64_t n;      /* number of vertices */
  int64_t start;  /* CONTIGUOUS, STRIDED */
  int64_t stride; /* STRIDED; 1 for CONTIGUOUS */
  union {
    const uint32_t *index32;
    const int64_t *index64;
  };
} sfshm_pattern_t;

static inline sfshm_pattern_t sfshm_pattern_contiguous(int64_t start, int64_t n)
{
  return (sfshm_pattern_t){.kind = SFSHM_PATTERN_CONTIGUOUS, .n = n, .start = start, .stride = 1};
}

/* The shortest form of n indices (all >= 0). For a general result the pattern refers to the array given. */
sfshm_pattern_t sfshm_pattern_from_index32(const uint32_t index[], int64_t n);
sfshm_pattern_t sfshm_pattern_from_index64(const int64_t index[], int64_t n);

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
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    slice.index32 += first;
  else if (pattern->kind == SFSHM_PATTERN_INDEX64)
    slice.index64 += first;
  else
    slice.start += first * pattern->stride;
  return slice;
}

/* What one pass over a pattern finds. */
typedef struct sfshm_pattern_survey {
  int64_t min;  /* 0 if there are no vertices */
  int64_t max;  /* -1 if there are none */
  int64_t runs; /* maximal pieces of consecutive ascending vertices */
} sfshm_pattern_survey_t;

sfshm_pattern_survey_t sfshm_pattern_survey(const sfshm_pattern_t *pattern);

/* Whether each vertex is higher than the one before: then they are distinct. */
bool sfshm_pattern_ascends(const sfshm_pattern_t *pattern);

/* Copies the vertices whose numbers are not in the set (one bit each, lowest first, none beyond n; NULL: the empty
 * set), in their order, to int64_t or, not wide, to uint32_t, in which they must fit. */
void sfshm_pattern_copy(const sfshm_pattern_t *pattern, const uint64_t left_out[], bool wide, void *to);

/* Highest and lowest vertex; -1 and 0 when n is 0. */
int64_t sfshm_pattern_max(const sfshm_pattern_t *pattern);
int64_t sfshm_pattern_min(const sfshm_pattern_t *pattern);

#endif
