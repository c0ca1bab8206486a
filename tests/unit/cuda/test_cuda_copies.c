/* Which copies the CUDA plugin has the driver make in place of kernels, as the stand-in for the driver counts them. */
#include "tests/unit/cuda_plugin.h"

/* Whether the driver copies n bytes from one device to another; if not, how many kernels move them. */
static bool is_copied(int from_device, int to_device, sfshm_op_t op, int64_t stride, int64_t n, int64_t *nkernels_p)
{
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t from_pattern = sfshm_pattern_contiguous(4, n + 2), to_pattern = sfshm_pattern_contiguous(1, n + 2);
  if (stride != 1)
    from_pattern = (sfshm_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = n + 2, .start = 1, .stride = stride};
  sftest_array_t from = sftest_array_make((size_t)(stride * (n + 5)), from_device),
                 to = sftest_array_make((size_t)n + 5, to_device);
  int64_t copied = cuda.copied(), launched = cuda.launched();
  sfshm_kernels_find(unit, op)->scatter(unit, &from_pattern, 1, from.host, &to_pattern, to.host, 2, n);
  device->kernels(unit, op)->scatter(unit, &from_pattern, 1, from.actual, &to_pattern, to.actual, 2, n);
  ck_assert_int_eq(device->check(0), SF_OK);
  *nkernels_p = cuda.launched() - launched;
  copied = cuda.copied() - copied;
  sftest_array_check_and_free(&from);
  sftest_array_check_and_free(&to);
  ck_assert(copied == 0 || (copied == 1 && *nkernels_p == 0));
  return copied != 0;
}

/* The third one is not reached by kernels of the others. */
static void open_three(void)
{
  setenv("SFTEST_CUDA_DEVICES", "3", 1);
  sftest_cuda_open();
}

SFTEST_FIXTURE(open_three, NULL);

/* Much that only changes its place is copied by the driver; what kernels don't reach, however little. */
SFTEST(test_copies)
{
  enum { MUCH = 64 << 10, DEVICES = 3 };
  int64_t nkernels;
  for (int from = 0; from < DEVICES; from++)
    for (int to = 0; to < DEVICES; to++) {
      bool far = from != to && (from == 2 || to == 2);
      ck_assert(is_copied(from, to, SFSHM_OP_REPLACE, 1, MUCH, &nkernels));
      ck_assert(is_copied(from, to, SFSHM_OP_REPLACE, 1, MUCH - 1, &nkernels) == far);
      ck_assert(far || nkernels == 1);
      ck_assert(!is_copied(from, to, SFSHM_OP_REPLACE, 2, MUCH, &nkernels));
      ck_assert_int_eq(nkernels, far ? 2 : 1); /* one to pinned memory, one from there */
      ck_assert(!is_copied(from, to, SFSHM_OP_SUM, 1, MUCH, &nkernels));
    }
}

SFTEST_FIXTURE(sftest_cuda_open_switched_off, NULL);

/* As if kernels reached no other device. */
SFTEST(test_copies_without_peers)
{
  int64_t nkernels;
  ck_assert(is_copied(0, 1, SFSHM_OP_REPLACE, 1, 1, &nkernels));
  ck_assert(!is_copied(0, 1, SFSHM_OP_REPLACE, 2, 100000, &nkernels) && nkernels == 2);
  ck_assert(!is_copied(0, 0, SFSHM_OP_REPLACE, 2, 100000, &nkernels) && nkernels == 1);
}

SFTEST_FIXTURE(sftest_cuda_open, NULL);

/* Where source and target overlap a kernel may do what a copy must not. */
SFTEST(test_no_copies_within_themselves)
{
  enum { N = 100000 };
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, N);
  sftest_array_t array = sftest_array_make(2 * N, 0);
  int64_t copied = cuda.copied();
  device->kernels(unit, SFSHM_OP_REPLACE)->scatter(unit, &all, 0, array.actual, &all, array.actual, 0, N);
  ck_assert_int_eq(cuda.copied(), copied);
  device->kernels(unit, SFSHM_OP_REPLACE)->scatter(unit, &all, 0, array.actual, &all, array.actual + N, 0, N);
  ck_assert_int_eq(cuda.copied(), copied + 1);
  memcpy(array.host + N, array.host, N);
  ck_assert_int_eq(device->check(0), SF_OK);
  sftest_array_check_and_free(&array);
}

int main(void)
{
  if (sftest_cuda_is_real())
    printf("skipped: a real driver does not count copies\n");
  return !sftest_cuda_is_real() && sftest_cuda_load() ? sftest_main() : 77;
}
