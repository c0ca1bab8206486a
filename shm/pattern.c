/* Index patterns: finding the shortest form of a list of indices, and what graph set-up wants to know about a pattern.
 * Never on the path of an operation. Any thread. */
#include "shm/pattern.h"

static sfshm_pattern_t arithmetic(int64_t start, int64_t stride, int64_t n)
{
  sfshm_pattern_t pattern = sfshm_pattern_contiguous(start, n);
  if (stride != 1) {
    pattern.kind = SFSHM_PATTERN_STRIDED;
    pattern.stride = stride;
  }
  return pattern;
}

/* In both: neighbours are compared by their difference, which can't overflow as indices are not negative. The same
 * vertex all over (stride 0) stays a general pattern, so that strided ones never visit a vertex twice. */

sfshm_pattern_t sfshm_pattern_from_index32(const uint32_t index[], int64_t n)
{
  if (n < 2)
    return sfshm_pattern_contiguous(n == 1 ? index[0] : 0, n);
  int64_t stride = (int64_t)index[1] - (int64_t)index[0];
  int64_t i = 2;
  while (i < n && (int64_t)index[i] - (int64_t)index[i - 1] == stride)
    i++;
  if (i == n && stride != 0)
    return arithmetic(index[0], stride, n);
  return (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = index};
}

sfshm_pattern_t sfshm_pattern_from_index64(const int64_t index[], int64_t n)
{
  if (n < 2)
    return sfshm_pattern_contiguous(n == 1 ? index[0] : 0, n);
  int64_t stride = index[1] - index[0];
  int64_t i = 2;
  while (i < n && index[i] - index[i - 1] == stride)
    i++;
  if (i == n && stride != 0)
    return arithmetic(index[0], stride, n);
  return (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = n, .index64 = index};
}

/* Both loops vectorise. */

static sfshm_pattern_survey_t survey_index32(const uint32_t index[], int64_t n)
{
  uint32_t min = index[0], max = index[0], breaks = 0;
  int64_t runs = 1;
  for (int64_t start = 1; start < n; start += INT32_MAX) {
    int64_t end = n - start > INT32_MAX ? start + INT32_MAX : n;
    for (int64_t i = start; i < end; i++) {
      min = index[i] < min ? index[i] : min;
      max = index[i] > max ? index[i] : max;
      breaks += index[i] != index[i - 1] + 1;
    }
    runs += breaks;
    breaks = 0;
  }
  return (sfshm_pattern_survey_t){min, max, runs};
}

static sfshm_pattern_survey_t survey_index64(const int64_t index[], int64_t n)
{
  sfshm_pattern_survey_t survey = {index[0], index[0], 1};
  for (int64_t i = 1; i < n; i++) {
    survey.min = index[i] < survey.min ? index[i] : survey.min;
    survey.max = index[i] > survey.max ? index[i] : survey.max;
    /* subtracted as unsigned: the lists of others are surveyed before they are known to be good */
    survey.runs += (uint64_t)index[i] - (uint64_t)index[i - 1] != 1;
  }
  return survey;
}

sfshm_pattern_survey_t sfshm_pattern_survey(const sfshm_pattern_t *pattern)
{
  if (pattern->n == 0)
    return (sfshm_pattern_survey_t){0, -1, 0};
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    return survey_index32(pattern->index32, pattern->n);
  if (pattern->kind == SFSHM_PATTERN_INDEX64)
    return survey_index64(pattern->index64, pattern->n);
  int64_t first = sfshm_pattern_at(pattern, 0), last = sfshm_pattern_at(pattern, pattern->n - 1);
  return (sfshm_pattern_survey_t){.min = first < last ? first : last,
                                  .max = first < last ? last : first,
                                  .runs = pattern->kind == SFSHM_PATTERN_CONTIGUOUS ? 1 : pattern->n};
}

int64_t sfshm_pattern_max(const sfshm_pattern_t *pattern)
{
  return sfshm_pattern_survey(pattern).max;
}

int64_t sfshm_pattern_min(const sfshm_pattern_t *pattern)
{
  return sfshm_pattern_survey(pattern).min;
}
