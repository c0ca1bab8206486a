/* Moving boxes of elements: see transfer.h. Rows without gaps between them, in the part and in the buffer, are merged.
 */
#include "shm/array/transfer.h"

#include <stdbool.h>
#include <string.h>

#include "shm/base/clones.h"

/* ---- Rows of elements -------------------------------------------------------------------------------------------- */

#define PUT(part, buffer, bytes) memcpy(part, buffer, bytes)
#define GET(part, buffer, bytes) memcpy(buffer, part, bytes)

#define DEFINE_ROW(name, copy, bytes)                                                                                  \
  static void name##_##bytes(char *part, char *buffer, int64_t n, int64_t stride, const void *alpha)                   \
  {                                                                                                                    \
    (void)alpha;                                                                                                       \
    if (stride == 1)                                                                                                   \
      copy(part, buffer, (size_t)n *(bytes));                                                                          \
    else                                                                                                               \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        copy(part + i * (bytes), buffer + i * stride * (bytes), (bytes));                                              \
  }
#define DEFINE_ROWS(bytes) DEFINE_ROW(put, PUT, bytes) DEFINE_ROW(get, GET, bytes)
DEFINE_ROWS(1)
DEFINE_ROWS(2)
DEFINE_ROWS(4)
DEFINE_ROWS(8)
DEFINE_ROWS(16)

/* By the binary logarithm of the size. */
static sfshm_array_row_t *const put_rows[] = {put_1, put_2, put_4, put_8, put_16};
static sfshm_array_row_t *const get_rows[] = {get_1, get_2, get_4, get_8, get_16};

sfshm_array_row_t *sfshm_array_put_row(uint32_t unit_bytes)
{
  return put_rows[__builtin_ctz(unit_bytes)];
}

sfshm_array_row_t *sfshm_array_get_row(uint32_t unit_bytes)
{
  return get_rows[__builtin_ctz(unit_bytes)];
}

/* ---- Short rows -------------------------------------------------------------------------------------------------- */

/* memcpy is faster for longer rows: it has instructions of the processor for them. */
#define LONG_ROW 4096

#define CHUNK(type) type __attribute__((aligned(1), may_alias))
typedef CHUNK(uint8_t __attribute__((vector_size(32)))) chunk32_t;
typedef CHUNK(uint8_t __attribute__((vector_size(16)))) chunk16_t;
typedef CHUNK(uint64_t) chunk8_t;
typedef CHUNK(uint32_t) chunk4_t;
typedef CHUNK(uint16_t) chunk2_t;

/* Copies as many bytes as a chunk has, up to twice as many: the first and the last ones, which may overlap. Chunks
 * consist of whole elements, because elements are not longer than a row and lengths are powers of two: each element is
 * stored by one instruction, as sf_array.h promises to concurrent readers. */
#define COPY_ENDS(chunk)                                                                                               \
  do {                                                                                                                 \
    chunk first_ = *(const chunk *)from, last_ = *(const chunk *)(from + bytes - sizeof(chunk));                       \
    *(chunk *)to = first_;                                                                                             \
    *(chunk *)(to + bytes - sizeof(chunk)) = last_;                                                                    \
  } while (0)

/* More than a chunk: whole chunks, and the last bytes. */
static inline void copy_chunks(char *to, const char *from, size_t bytes)
{
  const char *end = from + bytes;
  chunk32_t last = *(const chunk32_t *)(end - sizeof last);
  char *to_last = to + bytes - sizeof last;
  for (; (size_t)(end - from) >= 4 * sizeof last; from += 4 * sizeof last, to += 4 * sizeof last) {
    const chunk32_t *source = (const chunk32_t *)from;
    chunk32_t *target = (chunk32_t *)to, a = source[0], b = source[1], c = source[2], d = source[3];
    target[0] = a;
    target[1] = b;
    target[2] = c;
    target[3] = d;
  }
  for (; (size_t)(end - from) > sizeof last; from += sizeof last, to += sizeof last)
    *(chunk32_t *)to = *(const chunk32_t *)from;
  if (from < end)
    *(chunk32_t *)to_last = last;
}

/* Rows of one call have the same length: the way to copy them is chosen once. */
#define COPY_ROWS(copy)                                                                                                \
  for (; nrows > 0; nrows--, to += to_step, from += from_step)                                                         \
  copy

SFSHM_CLONES void sfshm_array_copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t nrows,
                                        size_t bytes)
{
  if (bytes > LONG_ROW)
    COPY_ROWS(memcpy(to, from, bytes));
  else if (bytes > 2 * sizeof(chunk32_t))
    COPY_ROWS(copy_chunks(to, from, bytes));
  else if (bytes >= sizeof(chunk32_t))
    COPY_ROWS(COPY_ENDS(chunk32_t));
  else if (bytes >= sizeof(chunk16_t))
    COPY_ROWS(COPY_ENDS(chunk16_t));
  else if (bytes >= sizeof(chunk8_t))
    COPY_ROWS(COPY_ENDS(chunk8_t));
  else if (bytes >= sizeof(chunk4_t))
    COPY_ROWS(COPY_ENDS(chunk4_t));
  else if (bytes >= sizeof(chunk2_t))
    COPY_ROWS(COPY_ENDS(chunk2_t));
  else if (bytes > 0)
    COPY_ROWS(*to = *from);
}

/* ---- Boxes of rows ----------------------------------------------------------------------------------------------- */

typedef struct walk {
  int32_t last; /* the dimension of the rows */
  int64_t unit_bytes;
  sfshm_array_row_t *row;
  const void *alpha;
  sfshm_array_box_t box;
  int64_t part_step[SFSHM_ARRAY_DIMS];
  int64_t step[SFSHM_ARRAY_DIMS];
} walk_t;

/* Moves one row of the part, which may be several runs in the buffer. */
static void move_row(const walk_t *walk, char *part, char *buffer)
{
  int32_t d = walk->last;
  int64_t unit = walk->unit_bytes, left = walk->box.extent[d], block = walk->box.block[d], skip = walk->box.skip[d];
  buffer += walk->box.patch[d] * unit;
  if (block == 1) {
    walk->row(part, buffer, left, 1 + skip, walk->alpha);
    return;
  }
  for (int64_t run = block - walk->box.in_block[d]; left > 0; run = block) {
    if (run > left)
      run = left;
    walk->row(part, buffer, run, 1, walk->alpha);
    part += run * unit;
    buffer += (run + skip) * unit;
    left -= run;
  }
}

static void move_from(const walk_t *walk, int32_t d, char *part, char *buffer)
{
  if (d == walk->last) {
    move_row(walk, part, buffer);
    return;
  }
  const sfshm_array_box_t *box = &walk->box;
  int64_t part_bytes = walk->part_step[d] * walk->unit_bytes, buffer_bytes = walk->step[d] * walk->unit_bytes;
  int64_t at = box->patch[d], in_block = box->in_block[d];
  for (int64_t i = 0; i < box->extent[d]; i++) {
    move_from(walk, d + 1, part + i * part_bytes, buffer + at * buffer_bytes);
    at++;
    if (++in_block == box->block[d]) {
      in_block = 0;
      at += box->skip[d];
    }
  }
}

/* Merges the last two dimensions if there are no gaps between rows. */
static bool merge(walk_t *walk)
{
  sfshm_array_box_t *box = &walk->box;
  int32_t d = walk->last, outer = d - 1;
  int64_t n = box->extent[d];
  if (d == 0 || walk->part_step[outer] != n || walk->step[outer] != n || box->patch[d] != 0 ||
      n > box->block[d] - box->in_block[d])
    return false;
  box->extent[outer] *= n;
  box->patch[outer] *= n;
  box->in_block[outer] *= n;
  box->block[outer] = box->block[outer] > INT64_MAX / n ? INT64_MAX : box->block[outer] * n;
  box->skip[outer] *= n;
  walk->last = outer;
  return true;
}

void sfshm_array_move(const sfshm_array_t *array, const sfshm_array_box_t *box, void *part, const void *buffer,
                      const int64_t step[], sfshm_array_row_t *row, const void *alpha)
{
  walk_t walk = {.last = array->ndims - 1, .unit_bytes = array->unit_bytes, .row = row, .alpha = alpha, .box = *box};
  int64_t part_step = 1, dense_step = 1, first = 0;
  for (int32_t d = walk.last; d >= 0; d--) {
    walk.part_step[d] = part_step;
    first += box->first[d] * part_step;
    part_step *= box->part[d];
    walk.step[d] = step != NULL ? step[d] : dense_step;
    dense_step *= box->extent[d];
    if (step == NULL) {
      walk.box.patch[d] = walk.box.in_block[d] = walk.box.skip[d] = 0;
      walk.box.block[d] = INT64_MAX;
    }
  }
  while (merge(&walk))
    ;
  move_from(&walk, 0, (char *)part + first * walk.unit_bytes, (char *)(uintptr_t)buffer);
}

void sfshm_array_box_alone(const sfshm_array_t *array, const sfshm_array_box_t *box, sfshm_array_box_t *alone_p)
{
  *alone_p = *box;
  for (int32_t d = 0; d < array->ndims; d++) {
    alone_p->first[d] = 0;
    alone_p->part[d] = box->extent[d];
  }
}
