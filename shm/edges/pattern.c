/* Index patterns: shortest form of an index list, boxes, surveys. Used in graph set-up, never in operations. Any
 * thread. */
#include "shm/edges/pattern.h"

#include <stddef.h>

#include "shm/base/clones.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Options that -O2 lacks: vectorise loops of unknown length. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

/* Vertices processed between two checks whether to continue. */
#define PIECE 1024

#define FEW 8 /* of 64 */

static int64_t piece_end(int64_t i, int64_t n)
{
  return n - i > PIECE ? i + PIECE : n;
}

/* ---- Shortest form ---- */

static sfshm_pattern_t arithmetic(int64_t start, int64_t stride, int64_t n)
{
  sfshm_pattern_t pattern = sfshm_pattern_contiguous(start, n);
  if (stride != 1) {
    pattern.kind = SFSHM_PATTERN_STRIDED;
    pattern.stride = stride;
  }
  return pattern;
}

SFSHM_CLONES static bool steps_equal32(const uint32_t index[], int64_t n, uint32_t step)
{
  uint32_t differences = 0;
  for (int64_t i = 1; i < n && differences == 0;)
    for (int64_t end = piece_end(i, n); i < end; i++)
      differences |= (index[i] - index[i - 1]) ^ step;
  return differences == 0;
}

SFSHM_CLONES static bool steps_equal64(const int64_t index[], int64_t n, uint64_t step)
{
  uint64_t differences = 0;
  for (int64_t i = 1; i < n && differences == 0;)
    for (int64_t end = piece_end(i, n); i < end; i++)
      differences |= ((uint64_t)index[i] - (uint64_t)index[i - 1]) ^ step;
  return differences == 0;
}

/* If all steps are equal modulo overflow and the last index is where they lead, all steps are equal. */
static bool is_line(int64_t first, int64_t stride, int64_t n, int64_t last)
{
  int64_t span, end;
  return !__builtin_mul_overflow(stride, n - 1, &span) && !__builtin_add_overflow(first, span, &end) && end == last;
}

/* In both: a repeated single vertex (stride 0) remains a general pattern, so that strided patterns never visit a vertex
 * twice. */

sfshm_pattern_t sfshm_pattern_from_index32(const uint32_t index[], int64_t n)
{
  if (n < 2)
    return sfshm_pattern_contiguous(n == 1 ? index[0] : 0, n);
  int64_t stride = (int64_t)index[1] - (int64_t)index[0];
  if (stride != 0 && is_line(index[0], stride, n, index[n - 1]) && steps_equal32(index, n, (uint32_t)stride))
    return arithmetic(index[0], stride, n);
  return (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = index};
}

sfshm_pattern_t sfshm_pattern_from_index64(const int64_t index[], int64_t n)
{
  if (n < 2)
    return sfshm_pattern_contiguous(n == 1 ? index[0] : 0, n);
  int64_t stride = index[1] - index[0];
  if (stride != 0 && is_line(index[0], stride, n, index[n - 1]) && steps_equal64(index, n, (uint64_t)stride))
    return arithmetic(index[0], stride, n);
  return (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = n, .index64 = index};
}

sfshm_pattern_t sfshm_pattern_shorten(const sfshm_pattern_t *pattern)
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    return sfshm_pattern_from_index32(pattern->index32, pattern->n);
  if (pattern->kind == SFSHM_PATTERN_INDEX64)
    return sfshm_pattern_from_index64(pattern->index64, pattern->n);
  sfshm_pattern_t arithmetic = sfshm_pattern_contiguous(pattern->start, pattern->n);
  if (pattern->n > 1 && pattern->stride != 1) {
    arithmetic.kind = SFSHM_PATTERN_STRIDED;
    arithmetic.stride = pattern->stride;
  }
  return arithmetic;
}

/* ---- Boxes ---- */

#define MIN_BOX 64 /* vertices */
#define MIN_ROW 16 /* shorter ones cost as much as reading indices */

static bool row_is_line(const sfshm_pattern_t *pattern, int64_t first, int64_t start)
{
  int64_t n = pattern->row, stride = pattern->stride;
  if (sfshm_pattern_at(pattern, first) != start || !is_line(start, stride, n, sfshm_pattern_at(pattern, first + n - 1)))
    return false;
  return pattern->kind == SFSHM_PATTERN_INDEX32 ? steps_equal32(pattern->index32 + first, n, (uint32_t)stride)
                                                : steps_equal64(pattern->index64 + first, n, (uint64_t)stride);
}

static bool all_rows_are_lines(const sfshm_pattern_t *pattern)
{
  int64_t plane = pattern->row * pattern->rows, offset, start;
  for (int64_t first = 0; first < pattern->n; first += pattern->row) {
    int64_t y = first % plane / pattern->row, z = first / plane;
    if (__builtin_mul_overflow(z, pattern->plane_stride, &offset) ||
        __builtin_add_overflow(pattern->start + y * pattern->row_stride, offset, &start) ||
        !row_is_line(pattern, first, start))
      return false;
  }
  return true;
}

/* Number of vertices 0, step, 2 step, ... with the same distance as the first two. */
static int64_t count_line(const sfshm_pattern_t *pattern, int64_t step)
{
  int64_t distance = sfshm_pattern_at(pattern, step) - sfshm_pattern_at(pattern, 0), count = 2;
  while (count * step < pattern->n &&
         sfshm_pattern_at(pattern, count * step) - sfshm_pattern_at(pattern, (count - 1) * step) == distance)
    count++;
  return count;
}

void sfshm_pattern_find_box(sfshm_pattern_t *pattern)
{
  sfshm_pattern_t box = *pattern;
  if (sfshm_pattern_walks(pattern) || pattern->n < MIN_BOX)
    return;
  box.start = sfshm_pattern_at(&box, 0);
  box.stride = sfshm_pattern_at(&box, 1) - box.start;
  box.row = count_line(&box, 1);
  if (box.stride == 0 || box.row < MIN_ROW || box.row == box.n || box.n % box.row != 0)
    return;
  box.row_stride = sfshm_pattern_at(&box, box.row) - box.start;
  box.rows = count_line(&box, box.row);
  int64_t plane = box.row * box.rows;
  if (box.n % plane != 0)
    return;
  box.plane_stride = plane < box.n ? sfshm_pattern_at(&box, plane) - box.start : 0;
  if (all_rows_are_lines(&box))
    *pattern = box;
}

sfshm_walk_t sfshm_walk_begin(const sfshm_pattern_t *pattern, int64_t first, int64_t bias)
{
  if (pattern->row == 0)
    return (sfshm_walk_t){
        .at = pattern->start + first * pattern->stride - bias, .stride = pattern->stride, .left = INT64_MAX};
  int64_t place = first + pattern->skipped, x = place % pattern->row, line = place / pattern->row;
  int64_t y = line % pattern->rows, z = line / pattern->rows;
  sfshm_walk_t walk = {.stride = pattern->stride, .left = pattern->row - x, .rows_left = pattern->rows - y};
  walk.plane_at = pattern->start + z * pattern->plane_stride - bias;
  walk.row_at = walk.plane_at + y * pattern->row_stride;
  walk.at = walk.row_at + x * walk.stride;
  return walk;
}

/* ---- Survey ---- */

SFSHM_CLONES static sfshm_pattern_survey_t survey_index32(const uint32_t index[], int64_t n)
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

SFSHM_CLONES static sfshm_pattern_survey_t survey_index64(const int64_t index[], int64_t n)
{
  sfshm_pattern_survey_t survey = {index[0], index[0], 1};
  for (int64_t i = 1; i < n; i++) {
    survey.min = index[i] < survey.min ? index[i] : survey.min;
    survey.max = index[i] > survey.max ? index[i] : survey.max;
    /* unsigned subtraction: lists of other processes are surveyed before they are checked */
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

/* ---- Order ---- */

SFSHM_CLONES static bool ascends32(const uint32_t index[], int64_t n)
{
  uint32_t falls = 0;
  for (int64_t i = 1; i < n && falls == 0;)
    for (int64_t end = piece_end(i, n); i < end; i++)
      falls |= index[i - 1] >= index[i];
  return falls == 0;
}

SFSHM_CLONES static bool ascends64(const int64_t index[], int64_t n)
{
  uint64_t falls = 0;
  for (int64_t i = 1; i < n && falls == 0;)
    for (int64_t end = piece_end(i, n); i < end; i++)
      falls |= index[i - 1] >= index[i];
  return falls == 0;
}

bool sfshm_pattern_ascends(const sfshm_pattern_t *pattern)
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    return ascends32(pattern->index32, pattern->n);
  if (pattern->kind == SFSHM_PATTERN_INDEX64)
    return ascends64(pattern->index64, pattern->n);
  return pattern->n < 2 || pattern->stride > 0;
}

int64_t sfshm_pattern_find(const sfshm_pattern_t *pattern, int64_t vertex)
{
  int64_t low = 0, high = pattern->n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sfshm_pattern_at(pattern, middle) < vertex)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ---- Copying ---- */

/* Always inlined, for each combination of kind and width, so that no loop decides per vertex. */
static inline __attribute__((always_inline)) void copy_piece(sfshm_pattern_t from, sfshm_pattern_kind_t kind,
                                                             int64_t first, int64_t n, bool wide, void *to, int64_t at)
{
  from.kind = kind;
  for (int64_t i = 0; i < n; i++) {
    if (wide)
      ((int64_t *)to)[at + i] = sfshm_pattern_at(&from, first + i);
    else
      ((uint32_t *)to)[at + i] = (uint32_t)sfshm_pattern_at(&from, first + i);
  }
}

/* Both copy up to 64 vertices except those left out, and return the number of copied ones. With few left out: copies
 * the ranges between them. */
static inline __attribute__((always_inline)) int64_t copy_most(sfshm_pattern_t from, sfshm_pattern_kind_t kind,
                                                               int64_t first, int64_t n, uint64_t left_out, bool wide,
                                                               void *to, int64_t at)
{
  int64_t i = 0, copied = 0;
  while (left_out != 0) {
    int64_t out = __builtin_ctzll(left_out);
    copy_piece(from, kind, first + i, out - i, wide, to, at + copied);
    copied += out - i;
    i = out + 1;
    left_out &= left_out - 1;
  }
  copy_piece(from, kind, first + i, n - i, wide, to, at + copied);
  return copied + n - i;
}

/* With many left out: writes each vertex, and overwrites it with the next one if it is left out. */
static inline __attribute__((always_inline)) int64_t copy_few(sfshm_pattern_t from, sfshm_pattern_kind_t kind,
                                                              int64_t first, int64_t n, uint64_t left_out, bool wide,
                                                              void *to, int64_t at)
{
  int64_t copied = 0;
  for (int64_t i = 0; i < n; i++, left_out >>= 1) {
    copy_piece(from, kind, first + i, 1, wide, to, at + copied);
    copied += (left_out & 1) == 0;
  }
  return copied;
}

static inline __attribute__((always_inline)) void copy_as(sfshm_pattern_t from, sfshm_pattern_kind_t kind,
                                                          const uint64_t left_out[], bool wide, void *to)
{
  int64_t at = 0;
  if (left_out == NULL) {
    copy_piece(from, kind, 0, from.n, wide, to, 0);
    return;
  }
  for (int64_t i = 0; i < from.n; i += 64) {
    int64_t n = from.n - i < 64 ? from.n - i : 64;
    if (__builtin_popcountll(left_out[i / 64]) <= FEW)
      at += copy_most(from, kind, i, n, left_out[i / 64], wide, to, at);
    else
      at += copy_few(from, kind, i, n, left_out[i / 64], wide, to, at);
  }
}

SFSHM_CLONES static void copy_narrow(const sfshm_pattern_t *pattern, const uint64_t left_out[], uint32_t to[])
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    copy_as(*pattern, SFSHM_PATTERN_INDEX32, left_out, false, to);
  else if (pattern->kind == SFSHM_PATTERN_INDEX64)
    copy_as(*pattern, SFSHM_PATTERN_INDEX64, left_out, false, to);
  else
    copy_as(*pattern, SFSHM_PATTERN_STRIDED, left_out, false, to);
}

static void copy_wide(const sfshm_pattern_t *pattern, const uint64_t left_out[], int64_t to[])
{
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    copy_as(*pattern, SFSHM_PATTERN_INDEX32, left_out, true, to);
  else if (pattern->kind == SFSHM_PATTERN_INDEX64)
    copy_as(*pattern, SFSHM_PATTERN_INDEX64, left_out, true, to);
  else
    copy_as(*pattern, SFSHM_PATTERN_STRIDED, left_out, true, to);
}

void sfshm_pattern_copy(const sfshm_pattern_t *pattern, const uint64_t left_out[], bool wide, void *to)
{
  if (wide)
    copy_wide(pattern, left_out, to);
  else
    copy_narrow(pattern, left_out, to);
}
