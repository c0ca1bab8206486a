/* The CUDA plugin on a driver that fails, as the stand-in does when it is told to: the error says what failed,
 * stays if it is the driver's, and nothing crashes. */
#include "tests/unit/cuda_plugin.h"

static void open_to_fail(void)
{
  setenv("SFTEST_CUDA_FAIL", "cuLaunchKernel:3", 1);
  sftest_cuda_open();
}

static void open_without_memory(void)
{
  setenv("SFTEST_CUDA_FAIL", "cuMemAlloc:1", 1);
  sftest_cuda_open();
}

/* The first time is for what streams can do, the second one for the copy of the indices. */
static void open_to_wait_in_vain(void)
{
  setenv("SFTEST_CUDA_FAIL", "cuStreamSynchronize:3", 1);
  sftest_cuda_open();
}

SFTEST_FIXTURE(open_to_fail, NULL);

/* A failure of the driver stays, and nothing crashes. */
SFTEST(test_launch_fails)
{
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, 8);
  int32_t packed[8] = {0};
  sftest_array_t array = sftest_array_make(sizeof packed, 0);
  for (int i = 0; i < 5; i++)
    device->kernels(unit, SFSHM_OP_SUM)->unpack(unit, &all, 0, 8, packed, array.actual);
  ck_assert_int_eq(device->check(0), SF_ERR_SYS);
  ck_assert_ptr_nonnull(strstr(device->detail(), "CUDA_ERROR_LAUNCH_FAILED"));
  sftest_array_free(&array);
}

SFTEST_FIXTURE(open_to_wait_in_vain, NULL);

/* An array is freed while it is not known what kernels do with its copy, and another one of the same length comes to
 * lie there: the copy is not taken for one of that. */
SFTEST(test_waiting_fails)
{
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  uint32_t index[4] = {1, 5, 2, 7};
  sfshm_pattern_t pattern = {.kind = SFSHM_PATTERN_INDEX32, .n = 4, .index32 = index};
  const int32_t packed[4] = {10, 20, 30, 40};
  sftest_array_t array = sftest_array_make(8 * sizeof packed[0], 0);
  device->kernels(unit, SFSHM_OP_REPLACE)->unpack(unit, &pattern, 0, 4, packed, array.actual);
  device->forget(index, sizeof index);
  memcpy(index, (uint32_t[]){6, 0, 4, 3}, sizeof index);
  device->kernels(unit, SFSHM_OP_REPLACE)->unpack(unit, &pattern, 0, 4, packed, array.actual);
  ck_assert_int_eq(device->check(0), SF_ERR_SYS);
  ck_assert_ptr_nonnull(strstr(device->detail(), "waiting for a kernel"));
  sftest_array_free(&array);
}

SFTEST_FIXTURE(open_without_memory, NULL);

/* What can't be done fails, and what comes behind it does not: memory that is short, and a buffer that kernels can't
 * use. */
SFTEST(test_goes_on)
{
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  const uint32_t index[4] = {1, 5, 2, 7};
  sfshm_pattern_t pattern = {.kind = SFSHM_PATTERN_INDEX32, .n = 4, .index32 = index};
  const int32_t packed[4] = {10, 20, 30, 40};
  int32_t found[4];
  sftest_array_t array = sftest_array_make(9 * sizeof packed[0], 0);
  device->kernels(unit, SFSHM_OP_REPLACE)->unpack(unit, &pattern, 0, 4, packed, array.actual);
  uint64_t failures = device->failures();
  ck_assert_uint_eq(failures, 1);
  ck_assert_int_eq(device->check(0), SF_ERR_NOMEM);
  ck_assert_ptr_nonnull(strstr(device->detail(), "cuMemAlloc"));
  ck_assert_int_eq(device->check(0), SF_ERR_NOMEM); /* another operation of that time */
  ck_assert_int_eq(device->check(failures), SF_OK);
  device->kernels(unit, SFSHM_OP_SUM)->unpack(unit, &pattern, 0, 4, packed, array.actual + 1);
  ck_assert_int_eq(device->check(failures), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(device->detail(), "not aligned"));
  failures = device->failures();
  device->kernels(unit, SFSHM_OP_REPLACE)->unpack(unit, &pattern, 0, 4, packed, array.actual);
  device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &pattern, 0, 4, array.actual, found);
  ck_assert_int_eq(device->check(failures), SF_OK);
  ck_assert_mem_eq(found, packed, sizeof packed);
  device->forget(index, sizeof index);
  sftest_array_free(&array);
}

SFTEST_FIXTURE(NULL, NULL);

SFTEST(test_no_device)
{
  setenv("SFTEST_CUDA_FAIL", "cuInit:1", 1);
  ck_assert_int_eq(device->open(), SF_ERR_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(device->detail(), "no CUDA-capable device"));
}

/* An older driver compiles the kernels; a still older one is refused. */
SFTEST(test_older_drivers)
{
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, 4);
  const int32_t packed[4] = {10, 20, 30, 40};
  setenv("SFTEST_CUDA_VERSION", "12020", 1);
  ck_assert_int_eq(device->open(), SF_ERR_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(device->detail(), "for CUDA 12.2; CUDA 12.3 (driver 545) is the least"));
  setenv("SFTEST_CUDA_VERSION", "12030", 1);
  ck_assert_int_eq(device->open(), SF_OK);
  sftest_array_t array = sftest_array_make(sizeof packed, 0);
  device->kernels(unit, SFSHM_OP_REPLACE)->unpack(unit, &all, 0, 4, packed, array.actual);
  ck_assert_int_eq(device->check(0), SF_OK);
  memcpy(array.host, packed, sizeof packed);
  sftest_array_check_and_free(&array);
}

int main(void)
{
  if (sftest_cuda_is_real())
    printf("skipped: a real driver does not fail when it is told to\n");
  return !sftest_cuda_is_real() && sftest_cuda_load() ? sftest_main() : 77;
}
