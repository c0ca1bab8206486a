/* The stand-in for the CUDA driver in a rank: see fake_device.h. */
#include "tests/system/fake_device.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>

#include "tests/cuda/fake_driver.h"

static struct {
  bool tried;
  sftest_cuda_alloc_fn_t *alloc;
  sftest_cuda_alloc_elsewhere_fn_t *alloc_elsewhere; /* NULL: a real driver */
  sftest_cuda_free_fn_t *free;
  sftest_cuda_alloc_virtual_fn_t *alloc_virtual;
  sftest_cuda_alloc_virtual_fn_t *alloc_pooled;
  sftest_cuda_free_fn_t *free_virtual;
  sftest_cuda_copy_fn_t *copy;
  sftest_cuda_count_fn_t *count;
  sftest_cuda_length_fn_t *length;
  sftest_cuda_live_fn_t *live;
  sftest_cuda_launched_fn_t *launched; /* NULL: a real driver */
  sftest_cuda_stream_create_fn_t *stream_create;
  sftest_cuda_stream_fn_t *stream_destroy;
  sftest_cuda_stream_fn_t *stream_finish;
  sftest_cuda_stream_copy_fn_t *stream_copy;
} fake;

bool sftest_device_can_fail(void)
{
  const char *which = getenv("SFTEST_CUDA");
  return which == NULL || strcmp(which, "real") != 0;
}

static bool find_both(char driver[PATH_MAX], char plugin[PATH_MAX])
{
  const char *build = getenv("BUILD");
  snprintf(driver, PATH_MAX, "%s/%s", build != NULL ? build : "build",
           sftest_device_can_fail() ? SFTEST_CUDA_FAKE : SFTEST_CUDA_REAL);
  snprintf(plugin, PATH_MAX, "%s/libsf_cuda.so", build != NULL ? build : "build");
  return access(driver, R_OK) == 0 && access(plugin, R_OK) == 0;
}

bool sftest_device_for_programs(void)
{
  char driver[PATH_MAX], plugin[PATH_MAX], dir[PATH_MAX];
  if (!find_both(driver, plugin) || realpath(driver, dir) == NULL)
    return false;
  *strrchr(dir, '/') = '\0';
  setenv("SF_CUDA_PLUGIN", plugin, 1);
  if (sftest_device_can_fail())
    setenv("LD_LIBRARY_PATH", dir, 1);
  return true;
}

/* Before the plugin, which finds it by its name then. */
static void *load_driver(void)
{
  char driver[PATH_MAX], plugin[PATH_MAX];
  if (!find_both(driver, plugin))
    return NULL;
  setenv("SF_CUDA_PLUGIN", plugin, 1);
  return dlopen(driver, RTLD_NOW | RTLD_GLOBAL);
}

bool sftest_device_is_there(void)
{
  if (!fake.tried) {
    void *driver = load_driver();
    fake.tried = true;
    if (driver != NULL) {
      fake.alloc = (sftest_cuda_alloc_fn_t *)dlsym(driver, "sftest_cuda_alloc");
      fake.alloc_elsewhere = (sftest_cuda_alloc_elsewhere_fn_t *)dlsym(driver, "sftest_cuda_alloc_elsewhere");
      fake.alloc_virtual = (sftest_cuda_alloc_virtual_fn_t *)dlsym(driver, "sftest_cuda_alloc_virtual");
      fake.alloc_pooled = (sftest_cuda_alloc_virtual_fn_t *)dlsym(driver, "sftest_cuda_alloc_pooled");
      fake.free_virtual = (sftest_cuda_free_fn_t *)dlsym(driver, "sftest_cuda_free_virtual");
      fake.free = (sftest_cuda_free_fn_t *)dlsym(driver, "sftest_cuda_free");
      fake.count = (sftest_cuda_count_fn_t *)dlsym(driver, "sftest_cuda_count");
      fake.length = (sftest_cuda_length_fn_t *)dlsym(driver, "sftest_cuda_length");
      fake.live = (sftest_cuda_live_fn_t *)dlsym(driver, "sftest_cuda_live");
      fake.launched = (sftest_cuda_launched_fn_t *)dlsym(driver, "sftest_cuda_launched");
      fake.copy = (sftest_cuda_copy_fn_t *)dlsym(driver, "sftest_cuda_copy");
      fake.stream_create = (sftest_cuda_stream_create_fn_t *)dlsym(driver, "sftest_cuda_stream_create");
      fake.stream_destroy = (sftest_cuda_stream_fn_t *)dlsym(driver, "sftest_cuda_stream_destroy");
      fake.stream_finish = (sftest_cuda_stream_fn_t *)dlsym(driver, "sftest_cuda_stream_finish");
      fake.stream_copy = (sftest_cuda_stream_copy_fn_t *)dlsym(driver, "sftest_cuda_stream_copy");
    }
  }
  return fake.alloc != NULL;
}

int sftest_device_main(bool all)
{
  if (!sftest_device_is_there())
    printf(all ? "skipped: the CUDA plugin was not built\n"
               : "note: the CUDA plugin was not built: part is not tested\n");
  return all && !sftest_device_is_there() ? 77 : sftest_main();
}

int sftest_device_count(void)
{
  return sftest_device_is_there() ? fake.count() : 0;
}

int sftest_device_instead(int device)
{
  int count = sftest_device_count();
  return count > 0 ? device % count : device;
}

void *sftest_device_alloc(int device, size_t len_bytes)
{
  return fake.alloc(sftest_device_instead(device), len_bytes);
}

void *sftest_device_alloc_virtual(int device, size_t len_bytes, bool shareable)
{
  return fake.alloc_virtual(sftest_device_instead(device), len_bytes, shareable);
}

void *sftest_device_alloc_pooled(int device, size_t len_bytes, bool shareable)
{
  return fake.alloc_pooled(sftest_device_instead(device), len_bytes, shareable);
}

void sftest_device_free_virtual(void *address)
{
  fake.free_virtual(address);
}

void *sftest_device_alloc_elsewhere(int device, size_t len_bytes)
{
  return fake.alloc_elsewhere(device, len_bytes);
}

void sftest_device_free(void *address)
{
  fake.free(address);
}

size_t sftest_device_length(const void *address)
{
  return fake.length(address);
}

int64_t sftest_device_live(void)
{
  return fake.live();
}

int sftest_device_held(pid_t pid)
{
  char path[300], target[100];
  int n = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
  DIR *directory = opendir(path);
  const struct dirent *entry;
  while (directory != NULL && (entry = readdir(directory)) != NULL) {
    snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, entry->d_name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    n += strstr(target, "fake-cuda") != NULL;
  }
  if (directory != NULL)
    closedir(directory);
  return n;
}

int64_t sftest_device_launched(void)
{
  return fake.launched();
}

void sftest_device_copy(void *to, const void *from, size_t len_bytes)
{
  fake.copy(to, from, len_bytes);
}

void *sftest_device_stream(int device)
{
  return fake.stream_create(device);
}

void sftest_device_stream_free(void *stream)
{
  fake.stream_destroy(stream);
}

void sftest_device_stream_finish(void *stream)
{
  fake.stream_finish(stream);
}

void sftest_device_stream_copy(void *to, const void *from, size_t len_bytes, void *stream)
{
  fake.stream_copy(to, from, len_bytes, stream);
}
