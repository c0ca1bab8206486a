/* What a device needs before it is given anything: kernels, a stream of the plugin's own, pinned memory. All of it is
 * made at once, as later streams of the application may be waiting for what a driver would have wait for them. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

#pragma weak cuFuncLoad /* older drivers do without */

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* The kernels for all architectures, made by nvcc; and as text that older drivers compile. */
extern const char sfshm_cuda_fatbin[];
extern const char sfshm_cuda_ptx[];
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden sfshm_cuda_fatbin\n"
        ".global sfshm_cuda_fatbin\n"
        "sfshm_cuda_fatbin:\n"
        ".incbin " TEXT(SFSHM_CUDA_FATBIN) "\n"
                                           ".hidden sfshm_cuda_ptx\n"
                                           ".global sfshm_cuda_ptx\n"
                                           "sfshm_cuda_ptx:\n"
                                           ".incbin " TEXT(SFSHM_CUDA_PTX) "\n"
                                                                           ".byte 0\n"
                                                                           ".previous\n");

static const char *const element_names[] = {
#define NAME(suffix, ...) #suffix,
    SFSHM_CUDA_MOVES(NAME) SFSHM_CUDA_INTEGERS(NAME) SFSHM_CUDA_REALS(NAME) SFSHM_CUDA_COMPLEXES(NAME)
        SFSHM_PAIR_TABLE(NAME)
#undef NAME
};

/* Ready to be launched: what a driver puts off until the first launch it may do only when all streams are done, of
 * which one may be waiting for what this process is about to give. */
static sf_status_t find_function(CUmodule module, const char *form, const char *element, CUfunction *function_p)
{
  char name[32];
  snprintf(name, sizeof name, "%s%s", form, element);
  sf_status_t status = sfshm_cuda_status(cuModuleGetFunction(function_p, module, name), name);
#if CUDA_VERSION >= 12040
  if (status == SF_OK && cuFuncLoad != NULL)
    status = sfshm_cuda_status(cuFuncLoad(*function_p), name);
#endif
  return status;
}

static sf_status_t find_functions(sfshm_cuda_device_t *device)
{
  sf_status_t status = find_function(device->module, "sf_await", "", &device->await);
  for (int i = 0; i < SFSHM_CUDA_ELEMENT_COUNT && status == SF_OK; i++) {
    status = find_function(device->module, "sf_one_", element_names[i], &device->one[i]);
    if (status == SF_OK)
      status = find_function(device->module, "sf_several_", element_names[i], &device->several[i]);
  }
  return status;
}

/* Memory operations are tried: what says whether they are there differs between drivers. */
static bool try_memops(sfshm_cuda_device_t *device)
{
  const sfshm_stream_word_t word = {device->done, (char *)(uintptr_t)device->seen_done, 1, false};
  device->has_memops = true;
  bool works = sfshm_cuda_words_raise(device, NULL, &word, 1) == SF_OK &&
               sfshm_cuda_words_await(device, &word, 1) == SF_OK &&
               cuStreamSynchronize(device->stream) == CUDA_SUCCESS && atomic_load(word.word) == word.value;
  atomic_store(word.word, 0);
  return works;
}

/* A device has few queues, and streams that share one wait for each other. Those of other priorities have others: what
 * the plugin is told on the host's behalf is not to come behind what a stream of the application waits for. */
static sf_status_t make_stream(sfshm_cuda_device_t *device)
{
  int least = 0, greatest = 0;
  sf_status_t status = sfshm_cuda_status(cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuStreamCreateWithPriority(&device->stream, CU_STREAM_NON_BLOCKING, greatest),
                               "cuStreamCreateWithPriority");
  device->own_stream = device->stream;
  return status;
}

static sf_status_t make_bounce(sfshm_cuda_device_t *device)
{
  sf_status_t status = SF_OK;
  for (int half = 0; half < SFSHM_CUDA_HALVES && status == SF_OK; half++) {
    status = sfshm_cuda_status(cuEventCreate(&device->bounced[half], CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (status == SF_OK)
      status = sfshm_cuda_status(cuEventCreate(&device->fetched[half], CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (status == SF_OK)
      status = sfshm_cuda_status(cuMemHostAlloc((void **)&device->bounce[half], SFSHM_CUDA_BOUNCE_BYTES,
                                                CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                                 "cuMemHostAlloc");
  }
  return status;
}

/* Those that queues of streams raise, as none could be made while streams wait. */
static sf_status_t make_words(sfshm_cuda_device_t *device)
{
  size_t bytes = SFSHM_CUDA_QUEUES_MAX * sizeof(uint32_t);
  sf_status_t status = sfshm_cuda_status(
      cuMemHostAlloc((void **)&device->done, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
      "cuMemHostAlloc");
  if (status != SF_OK)
    return status;
  memset((void *)device->done, 0, bytes);
  return sfshm_cuda_status(cuMemHostGetDevicePointer(&device->seen_done, (void *)device->done, 0),
                           "cuMemHostGetDevicePointer");
}

static void close_device(sfshm_cuda_device_t *device)
{
  if (device->done != NULL)
    cuMemFreeHost((void *)device->done);
  for (int half = 0; half < SFSHM_CUDA_HALVES; half++) {
    if (device->bounce[half] != NULL)
      cuMemFreeHost(device->bounce[half]);
    if (device->bounced[half] != NULL)
      cuEventDestroy(device->bounced[half]);
    if (device->fetched[half] != NULL)
      cuEventDestroy(device->fetched[half]);
  }
  if (device->module != NULL)
    cuModuleUnload(device->module);
  if (device->stream != NULL)
    cuStreamDestroy(device->stream);
  *device = (sfshm_cuda_device_t){.context = device->context, .number = device->number};
}

/* Drivers that are older than what compiled the kernels take the text only. */
static sf_status_t load_kernels(CUmodule *module_p)
{
  CUresult result = cuModuleLoadData(module_p, sfshm_cuda_fatbin);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY ||
      cuModuleLoadData(module_p, sfshm_cuda_ptx) == CUDA_SUCCESS)
    return result == CUDA_ERROR_OUT_OF_MEMORY ? sfshm_cuda_status(result, "loading kernels") : SF_OK;
  *module_p = NULL;
  return sfshm_cuda_status(result, "loading kernels, also by compiling them");
}

sf_status_t sfshm_cuda_make_ready(sfshm_cuda_device_t *device)
{
  sf_status_t status = make_stream(device);
  if (status == SF_OK)
    status = load_kernels(&device->module);
  if (status == SF_OK)
    status = find_functions(device);
  if (status == SF_OK)
    status = make_bounce(device);
  if (status == SF_OK)
    status = make_words(device);
  if (status != SF_OK) {
    close_device(device);
    return status;
  }
  device->has_memops = try_memops(device);
  device->is_open = true;
  return SF_OK;
}
