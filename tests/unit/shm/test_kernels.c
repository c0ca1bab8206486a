/* Kernels against a naive model, one element at a time, over patterns of all kinds. Long ranges without gaps:
 * test_kernels_dense.c. */
#include "shm/kernels/kernels.h"
#include "tests/unit/kernel_model.h"
#include "tests/unit/seed.h"

#define MAX_N 90
#define SPACE (8 * MAX_N) /* vertices of an array */

SFTEST_SEED(20240607);

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

#define KINDS 4

typedef struct indices {
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
} indices_t;

/* n vertices in [shift, shift + SPACE), general ones with many duplicates every other time. */
static sfshm_pattern_t random_pattern(sfshm_pattern_kind_t kind, int64_t n, int64_t shift, indices_t *indices)
{
  int64_t distinct = sftest_kernel_below(2) ? SPACE : 1 + sftest_kernel_below(5);
  for (int64_t i = 0; i < n; i++) {
    indices->index64[i] = shift + sftest_kernel_below(distinct);
    indices->index32[i] = (uint32_t)indices->index64[i];
  }
  sfshm_pattern_t pattern = {.kind = kind, .n = n, .start = shift + sftest_kernel_below(SPACE - MAX_N), .stride = 1};
  if (kind == SFSHM_PATTERN_INDEX32)
    pattern.index32 = indices->index32;
  if (kind == SFSHM_PATTERN_INDEX64)
    pattern.index64 = indices->index64;
  if (kind == SFSHM_PATTERN_STRIDED) {
    int64_t stride = 2 + sftest_kernel_below(5);
    bool down = sftest_kernel_below(2);
    pattern.start = shift + sftest_kernel_below(SPACE - MAX_N * stride) + (down ? (MAX_N - 1) * stride : 0);
    pattern.stride = down ? -stride : stride;
  }
  return pattern;
}

/* Some of the general ones are boxes, beginning anywhere, that may go through a vertex several times. */
static sfshm_pattern_t random_form(sfshm_pattern_kind_t kind, int64_t n, int64_t shift, indices_t *indices)
{
  sfshm_pattern_t pattern = random_pattern(kind, n, shift, indices);
  bool general = kind == SFSHM_PATTERN_INDEX32 || kind == SFSHM_PATTERN_INDEX64, up = sftest_kernel_below(2);
  if (!general || sftest_kernel_below(2))
    return pattern;
  pattern.row = 1 + sftest_kernel_below(9);
  pattern.rows = 1 + sftest_kernel_below(4);
  pattern.stride = up ? 1 + sftest_kernel_below(2) : -1;
  pattern.row_stride = sftest_kernel_below(21);
  pattern.plane_stride = sftest_kernel_below(4);
  pattern.skipped = sftest_kernel_below(10);
  pattern.start = shift + 10 + sftest_kernel_below(100);
  for (int64_t i = 0; i < n; i++) {
    int64_t place = i + pattern.skipped, line = place / pattern.row;
    indices->index64[i] = pattern.start + place % pattern.row * pattern.stride +
                          line % pattern.rows * pattern.row_stride + line / pattern.rows * pattern.plane_stride;
    indices->index32[i] = (uint32_t)indices->index64[i];
  }
  return pattern;
}

/* Loops of their own: elements, blocks, and blocks of 64 bytes and more. */
static const int64_t counts[] = {1, 1, 3, 25};

/* One way to call a kernel, all drawn at random but for the kinds. */
typedef struct trial {
  sfshm_unit_t unit;
  sfshm_op_t op;
  const sfshm_kernels_t *kernels;
  int64_t total; /* length of the patterns */
  int64_t first;
  int64_t n;
} trial_t;

static trial_t trial_new(sfshm_base_t base, sfshm_op_t op, int64_t count)
{
  trial_t trial = {.unit = {base, count}, .op = op, .total = sftest_kernel_below(MAX_N + 1)};
  trial.first = sftest_kernel_below(trial.total + 1);
  trial.n = sftest_kernel_below(trial.total - trial.first + 1);
  trial.kernels = sfshm_kernels_find(trial.unit, op);
  ck_assert_ptr_nonnull(trial.kernels);
  return trial;
}

/* ---- Kernels against the model ----------------------------------------------------------------------------------- */

static void check_pack(const trial_t *trial, sfshm_pattern_kind_t kind)
{
  indices_t indices;
  sfshm_pattern_t pattern = random_form(kind, trial->total, 0, &indices);
  sftest_data_t array = sftest_data_new(trial->unit, SPACE), packed = sftest_data_new(trial->unit, trial->n);
  unsigned char *expected = sftest_data_copy(&packed);
  for (int64_t i = 0; i < trial->n; i++)
    memcpy(sftest_vertex(expected, trial->unit, i),
           sftest_vertex(array.start, trial->unit, sfshm_pattern_at(&pattern, trial->first + i)),
           sfshm_unit_size(trial->unit));
  trial->kernels->pack(trial->unit, &pattern, trial->first, trial->n, array.start, packed.start);
  ck_assert(memcmp(packed.start, expected, packed.len_bytes) == 0);
  free(expected);
  free(packed.memory);
  free(array.memory);
}

static void check_unpack(const trial_t *trial, sfshm_pattern_kind_t kind)
{
  indices_t indices;
  sfshm_pattern_t pattern = random_form(kind, trial->total, 0, &indices);
  sftest_data_t array = sftest_data_new(trial->unit, SPACE), packed = sftest_data_new(trial->unit, trial->n);
  unsigned char *expected = sftest_data_copy(&array);
  for (int64_t i = 0; i < trial->n; i++)
    sftest_kernel_model(trial->unit, trial->op,
                        sftest_vertex(expected, trial->unit, sfshm_pattern_at(&pattern, trial->first + i)),
                        sftest_vertex(packed.start, trial->unit, i));
  trial->kernels->unpack(trial->unit, &pattern, trial->first, trial->n, packed.start, array.start);
  sftest_expect_data(&array, expected, trial->unit, trial->op);
  free(expected);
  free(packed.memory);
  free(array.memory);
}

static void check_fetch(const trial_t *trial, sfshm_pattern_kind_t kind)
{
  indices_t indices;
  sfshm_pattern_t pattern = random_form(kind, trial->total, 0, &indices);
  sftest_data_t array = sftest_data_new(trial->unit, SPACE), packed = sftest_data_new(trial->unit, trial->n);
  unsigned char *expected = sftest_data_copy(&array), *fetched = sftest_data_copy(&packed);
  for (int64_t i = 0; i < trial->n; i++) {
    unsigned char *present = sftest_vertex(expected, trial->unit, sfshm_pattern_at(&pattern, trial->first + i));
    memcpy(sftest_vertex(fetched, trial->unit, i), present, sfshm_unit_size(trial->unit));
    sftest_kernel_model(trial->unit, trial->op, present, sftest_vertex(packed.start, trial->unit, i));
  }
  trial->kernels->fetch(trial->unit, &pattern, trial->first, trial->n, packed.start, array.start);
  sftest_expect_data(&array, expected, trial->unit, trial->op);
  sftest_expect_data(&packed, fetched, trial->unit, trial->op);
  free(fetched);
  free(expected);
  free(packed.memory);
  free(array.memory);
}

/* From an array of which only vertices bias and above are there. */
static void check_scatter(const trial_t *trial, sfshm_pattern_kind_t from_kind, sfshm_pattern_kind_t to_kind)
{
  indices_t from_indices, to_indices;
  sfshm_pattern_t from_pattern = random_form(from_kind, trial->total, 1000, &from_indices);
  sfshm_pattern_t to_pattern = random_form(to_kind, trial->total, 0, &to_indices);
  int64_t bias = trial->total > 0 ? sfshm_pattern_min(&from_pattern) - sftest_kernel_below(2) : 0;
  sftest_data_t from = sftest_data_new(trial->unit, trial->total > 0 ? sfshm_pattern_max(&from_pattern) - bias + 1 : 0);
  sftest_data_t to = sftest_data_new(trial->unit, SPACE);
  unsigned char *expected = sftest_data_copy(&to);
  for (int64_t i = 0; i < trial->n; i++)
    sftest_kernel_model(
        trial->unit, trial->op, sftest_vertex(expected, trial->unit, sfshm_pattern_at(&to_pattern, trial->first + i)),
        sftest_vertex(from.start, trial->unit, sfshm_pattern_at(&from_pattern, trial->first + i) - bias));
  trial->kernels->scatter(trial->unit, &from_pattern, bias, from.start, &to_pattern, to.start, trial->first, trial->n);
  sftest_expect_data(&to, expected, trial->unit, trial->op);
  free(expected);
  free(to.memory);
  free(from.memory);
}

/* Within one array, read in one half and written in the other. */
static void check_scatter_within(const trial_t *trial, sfshm_pattern_kind_t from_kind, sfshm_pattern_kind_t to_kind)
{
  indices_t from_indices, to_indices;
  bool upwards = sftest_kernel_below(2);
  sfshm_pattern_t from_pattern = random_form(from_kind, trial->total, upwards ? 0 : SPACE, &from_indices);
  sfshm_pattern_t to_pattern = random_form(to_kind, trial->total, upwards ? SPACE : 0, &to_indices);
  sftest_data_t array = sftest_data_new(trial->unit, 2 * SPACE);
  unsigned char *expected = sftest_data_copy(&array);
  for (int64_t i = 0; i < trial->n; i++)
    sftest_kernel_model(trial->unit, trial->op,
                        sftest_vertex(expected, trial->unit, sfshm_pattern_at(&to_pattern, trial->first + i)),
                        sftest_vertex(array.start, trial->unit, sfshm_pattern_at(&from_pattern, trial->first + i)));
  trial->kernels->scatter(trial->unit, &from_pattern, 0, array.start, &to_pattern, array.start, trial->first, trial->n);
  sftest_expect_data(&array, expected, trial->unit, trial->op);
  free(expected);
  free(array.memory);
}

static void check_all_kinds(sfshm_base_t base, sfshm_op_t op, int64_t count)
{
  for (int from = 0; from < KINDS; from++) {
    trial_t trial = trial_new(base, op, count);
    check_pack(&trial, (sfshm_pattern_kind_t)from);
    check_unpack(&trial, (sfshm_pattern_kind_t)from);
    check_fetch(&trial, (sfshm_pattern_kind_t)from);
    for (int to = 0; to < KINDS; to++) {
      trial = trial_new(base, op, count);
      check_scatter(&trial, (sfshm_pattern_kind_t)from, (sfshm_pattern_kind_t)to);
      check_scatter_within(&trial, (sfshm_pattern_kind_t)from, (sfshm_pattern_kind_t)to);
    }
  }
}

SFTEST_FOR(agree_with_the_model, SFSHM_BASE_COUNT)
{
  sftest_kernel_start(seed, _i);
  sfshm_base_t base = (sfshm_base_t)_i;
  for (int op = 0; op < SFSHM_OP_COUNT; op++)
    for (size_t i = 0; sfshm_op_applies((sfshm_op_t)op, base) && i < sizeof counts / sizeof counts[0]; i++)
      check_all_kinds(base, (sfshm_op_t)op, counts[i]);
}

SFTEST_FOR(move_units_of_any_size, 2)
{
  sftest_kernel_start(seed, _i);
  for (int64_t size = 1; size <= 70; size++)
    check_all_kinds(SFSHM_BASE_OPAQUE, SFSHM_OP_REPLACE, size);
}
