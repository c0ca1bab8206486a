/* Index patterns: finding the shortest form of a list of indices, and what graph set-up wants to know about a pattern.
 * Never on the path of an operation. Any thread. */
#include "shm/pattern.h"

#define LINE_SHIFT 6
#define LINE_BYTES (1 << LINE_SHIFT)

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

static bool is_index(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_INDEX32 || pattern->kind == SFSHM_PATTERN_INDEX64;
}

/* Lowest and highest vertex; 0 and -1 when there is none. */
static void find_limits(const sfshm_pattern_t *pattern, int64_t *min_p, int64_t *max_p)
{
  int64_t min = 0;
  int64_t max = -1;
  if (pattern->n > 0) {
    int64_t last = sfshm_pattern_at(pattern, pattern->n - 1);
    int64_t first = sfshm_pattern_at(pattern, 0);
    min = first < last ? first : last;
    max = first < last ? last : first;
  }
  for (int64_t i = 0; is_index(pattern) && i < pattern->n; i++) {
    int64_t vertex = sfshm_pattern_at(pattern, i);
    min = vertex < min ? vertex : min;
    max = vertex > max ? vertex : max;
  }
  *min_p = min;
  *max_p = max;
}

int64_t sfshm_pattern_max(const sfshm_pattern_t *pattern)
{
  int64_t min, max;
  find_limits(pattern, &min, &max);
  return max;
}

int64_t sfshm_pattern_min(const sfshm_pattern_t *pattern)
{
  int64_t min, max;
  find_limits(pattern, &min, &max);
  return min;
}

/* Lines from the first byte of vertex low to the last one of vertex high. Unsigned: an absurd index may wrap here, it
 * is refused elsewhere. */
static int64_t lines_between(int64_t low, int64_t high, uint64_t size)
{
  uint64_t first = (uint64_t)low * size >> LINE_SHIFT;
  uint64_t last = ((uint64_t)high * size + size - 1) >> LINE_SHIFT;
  return (int64_t)(last - first + 1);
}

/* Lines of vertices first .. first + n - 1 of the pattern, less those that also belong to the vertex before. */
static int64_t lines_visited(const sfshm_pattern_t *pattern, int64_t n, uint64_t size)
{
  int64_t lines = 0;
  uint64_t before_first = 1; /* an empty range: no line is shared with it */
  uint64_t before_last = 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t offset = (uint64_t)sfshm_pattern_at(pattern, i) * size;
    uint64_t first = offset >> LINE_SHIFT;
    uint64_t last = (offset + size - 1) >> LINE_SHIFT;
    uint64_t shared_first = first > before_first ? first : before_first;
    uint64_t shared_last = last < before_last ? last : before_last;
    lines += (int64_t)(last - first + 1);
    if (shared_first <= shared_last)
      lines -= (int64_t)(shared_last - shared_first + 1);
    before_first = first;
    before_last = last;
  }
  return lines;
}

/* A stride so wide that no two vertices share a line: the lines of a vertex depend on its place within the first line,
 * and those places repeat at the latest after 64 vertices. */
static int64_t lines_sparse(const sfshm_pattern_t *pattern, uint64_t size)
{
  int64_t rest = pattern->n % LINE_BYTES;
  int64_t periods = pattern->n / LINE_BYTES;
  int64_t lines = lines_visited(pattern, rest, size);
  if (periods > 0)
    lines += periods * lines_visited(pattern, LINE_BYTES, size);
  return lines;
}

int64_t sfshm_pattern_lines(const sfshm_pattern_t *pattern, int64_t unit_size_bytes)
{
  if (pattern->n <= 0 || unit_size_bytes <= 0)
    return 0;
  uint64_t size = (uint64_t)unit_size_bytes;
  int64_t min, max;
  find_limits(pattern, &min, &max);
  int64_t span = lines_between(min, max, size);
  if (is_index(pattern)) {
    int64_t visited = lines_visited(pattern, pattern->n, size);
    return visited < span ? visited : span; /* a shuffled dense range touches no more lines than it has */
  }
  uint64_t skipped = (uint64_t)(pattern->stride < 0 ? -pattern->stride : pattern->stride) - 1;
  bool gap_holds_line = skipped >= LINE_BYTES || skipped * size >= LINE_BYTES;
  return gap_holds_line ? lines_sparse(pattern, size) : span;
}
