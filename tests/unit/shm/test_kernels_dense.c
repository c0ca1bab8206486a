/* Kernels on long ranges without gaps: every op against the model, and copies at any alignment. */
#include "shm/kernels/kernels.h"
#include "shm/kernels/kernels_dense.h"
#include "tests/unit/kernel_model.h"
#include "tests/unit/seed.h"

SFTEST_SEED(20240607);

SFTEST_FOR(combine_long_ranges, SFSHM_BASE_COUNT)
{
  sftest_kernel_start(seed, _i);
  sfshm_base_t base = (sfshm_base_t)_i;
  sfshm_pattern_t pattern = sfshm_pattern_contiguous(0, 1000);
  sfshm_unit_t unit = {base, 1};
  for (int op = 0; op < SFSHM_OP_COUNT; op++) {
    if (!sfshm_op_applies((sfshm_op_t)op, base))
      continue;
    sftest_data_t array = sftest_data_new(unit, pattern.n), packed = sftest_data_new(unit, pattern.n);
    unsigned char *expected = sftest_data_copy(&array);
    for (int64_t i = 0; i < pattern.n; i++)
      sftest_kernel_model(unit, (sfshm_op_t)op, sftest_vertex(expected, unit, i), sftest_vertex(packed.start, unit, i));
    sfshm_kernels_find(unit, (sfshm_op_t)op)->unpack(unit, &pattern, 0, pattern.n, packed.start, array.start);
    sftest_expect_data(&array, expected, unit, (sfshm_op_t)op);
    free(expected);
    free(packed.memory);
    free(array.memory);
  }
}

/* By each way, around the sizes at which it changes, from and to any place within a line; nothing beside is touched. */
SFTEST_FOR(copy_dense_ranges_at_any_alignment, 2)
{
  enum { MOST_BYTES = (4 << 20) + 1, BESIDE = 96 };
  static const size_t sizes[] = {
      0, 1, 31, 63, 64, 127, 128, 1023, 1024, 1025, 1056, 1151, 4096, 5000, 65536, MOST_BYTES - 1, MOST_BYTES};
  void (*copy)(char *restrict, const char *restrict, size_t) =
      _i == 0 ? sfshm_dense_copy : sfshm_dense_copy_nontemporal;
  size_t length = MOST_BYTES + 2 * BESIDE;
  unsigned char *from = malloc(length), *to = malloc(length), *expected = malloc(length);
  ck_assert(from != NULL && to != NULL && expected != NULL);
  for (size_t i = 0; i < length; i++)
    from[i] = (unsigned char)(i * 2654435761u >> 13);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (size_t skip = 0; skip < 64; skip += sizes[i] < 8192 ? 1 : 13) {
      size_t bytes = sizes[i], room = bytes + 2 * BESIDE;
      memset(to, 0xa5, room);
      memset(expected, 0xa5, room);
      memcpy(expected + BESIDE - skip, from + skip / 3, bytes);
      copy((char *)to + BESIDE - skip, (const char *)from + skip / 3, bytes);
      ck_assert_msg(memcmp(to, expected, room) == 0, "%zu bytes, %zu before the line's end", bytes, skip);
    }
  free(from);
  free(to);
  free(expected);
}
