/* The CUDA plugin in a test: see cuda_plugin.h. */
#include "tests/unit/cuda_plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>

#include "tests/unit/edge_lists.h"

const sfshm_device_ops_t *device;
struct sftest_cuda cuda;

static uint64_t state;

int64_t sftest_cuda_random(int64_t bound)
{
  return sftest_below(&state, bound);
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

static void *load(const char *below)
{
  char path[PATH_MAX];
  const char *build = getenv("BUILD");
  snprintf(path, sizeof path, "%s/%s", build != NULL ? build : "build", below);
  return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

bool sftest_cuda_is_real(void)
{
  const char *which = getenv("SFTEST_CUDA");
  return which != NULL && strcmp(which, "real") == 0;
}

bool sftest_cuda_load(void)
{
  bool is_real = sftest_cuda_is_real();
  void *driver = load(is_real ? SFTEST_CUDA_REAL : SFTEST_CUDA_FAKE),
       *plugin = driver != NULL ? load("libsf_cuda.so") : NULL;
  if (plugin == NULL) {
    const char *error = dlerror();
    printf("skipped: the CUDA plugin was not built, or cannot be loaded%s%s\n", error != NULL ? ": " : "",
           error != NULL ? error : "");
    return false;
  }
  cuda.alloc = (sftest_cuda_alloc_fn_t *)dlsym(driver, "sftest_cuda_alloc");
  cuda.free = (sftest_cuda_free_fn_t *)dlsym(driver, "sftest_cuda_free");
  cuda.copy = (sftest_cuda_copy_fn_t *)dlsym(driver, "sftest_cuda_copy");
  cuda.live = (sftest_cuda_live_fn_t *)dlsym(driver, "sftest_cuda_live");
  cuda.stream_create = (sftest_cuda_stream_create_fn_t *)dlsym(driver, "sftest_cuda_stream_create");
  cuda.stream_destroy = (sftest_cuda_stream_fn_t *)dlsym(driver, "sftest_cuda_stream_destroy");
  cuda.stream_finish = (sftest_cuda_stream_fn_t *)dlsym(driver, "sftest_cuda_stream_finish");
  cuda.stream_capture = (sftest_cuda_stream_capture_fn_t *)dlsym(driver, "sftest_cuda_stream_capture");
  cuda.launched = is_real ? NULL : (sftest_cuda_launched_fn_t *)dlsym(driver, "sftest_cuda_launched");
  cuda.copied = is_real ? NULL : (sftest_cuda_copied_fn_t *)dlsym(driver, "sftest_cuda_copied");
  device = ((sfshm_device_plugin_fn_t)dlsym(plugin, SFSHM_DEVICE_PLUGIN_SYMBOL))();
  return true;
}

void sftest_cuda_open(void)
{
  state = 42;
  ck_assert_int_eq(device->open(), SF_OK);
}

void sftest_cuda_open_switched_off(void)
{
  setenv("SF_DEVICE_PEER", "off", 1);
  sftest_cuda_open();
}

/* ---- Arrays, some of them on a device ---------------------------------------------------------------------------- */

sftest_array_t sftest_array_make(size_t length_bytes, int where)
{
  if (where >= 0)
    where %= device->count();
  sftest_array_t array = {.length_bytes = length_bytes, .host = malloc(length_bytes), .where = where};
  for (size_t i = 0; i < length_bytes; i++)
    array.host[i] = (char)sftest_cuda_random(100);
  array.actual = where < 0 ? malloc(length_bytes) : cuda.alloc(where, length_bytes);
  ck_assert_ptr_nonnull(array.actual);
  cuda.copy(array.actual, array.host, length_bytes);
  if (where >= 0) {
    sfshm_device_range_t range = {array.actual, length_bytes, where, 0}, found;
    ck_assert_int_eq(device->find(array.actual + length_bytes / 2, &found), SF_OK);
    ck_assert_ptr_eq(found.base, range.base);
    ck_assert_uint_ge(found.length_bytes, range.length_bytes); /* drivers may round up */
    ck_assert_int_eq(found.device, where);
    ck_assert_int_eq(device->attach(&range), SF_OK);
  }
  return array;
}

void sftest_array_free(sftest_array_t *array)
{
  free(array->host);
  if (array->where >= 0) {
    device->detach(array->actual, 0);
    cuda.free(array->actual);
  } else {
    free(array->actual);
  }
}

/* Makes NaNs the same: processors and devices have different bits for them. */
static void settle_nans(const sftest_array_t *array, char *values)
{
  bool is_float = array->base == SFSHM_BASE_FLOAT || array->base == SFSHM_BASE_FLOAT_COMPLEX;
  bool is_double = array->base == SFSHM_BASE_DOUBLE || array->base == SFSHM_BASE_DOUBLE_COMPLEX;
  size_t step_bytes = is_float ? sizeof(float) : sizeof(double);
  for (size_t at = 0; (is_float || is_double) && at + step_bytes <= array->length_bytes; at += step_bytes) {
    float narrow = 0;
    double wide = 0;
    memcpy(is_float ? (void *)&narrow : &wide, values + at, step_bytes);
    if (isnan(narrow) || isnan(wide))
      memset(values + at, 0xff, step_bytes);
  }
}

void sftest_array_check_and_free(sftest_array_t *array)
{
  char *copy = malloc(array->length_bytes);
  cuda.copy(copy, array->actual, array->length_bytes);
  settle_nans(array, copy);
  settle_nans(array, array->host);
  ck_assert_mem_eq(copy, array->host, array->length_bytes);
  free(copy);
  sftest_array_free(array);
}
