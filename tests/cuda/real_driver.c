/* What tests ask of the stand-in for the CUDA driver, done by the real one: make check-gpu. It has no failures to
 * order.
 */
#include "tests/cuda/fake_driver.h"

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/virtual_memory.h"

sftest_cuda_alloc_fn_t sftest_cuda_alloc;
sftest_cuda_free_fn_t sftest_cuda_free;
sftest_cuda_alloc_virtual_fn_t sftest_cuda_alloc_virtual;
sftest_cuda_alloc_virtual_fn_t sftest_cuda_alloc_pooled;
sftest_cuda_free_fn_t sftest_cuda_free_virtual;
sftest_cuda_copy_fn_t sftest_cuda_copy;
sftest_cuda_length_fn_t sftest_cuda_length;
sftest_cuda_count_fn_t sftest_cuda_count;
sftest_cuda_live_fn_t sftest_cuda_live;

static _Atomic int64_t nlive;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ndevices;

static void require(CUresult result, const char *what)
{
  const char *name = "?";
  if (result == CUDA_SUCCESS)
    return;
  cuGetErrorName(result, &name);
  fprintf(stderr, "%s: %s\n", what, name);
  abort();
}

static void start(void)
{
  require(cuInit(0), "cuInit");
  require(cuDeviceGetCount(&ndevices), "cuDeviceGetCount");
}

/* Makes the context of a device current; with fewer devices some numbers mean the same one. */
static void enter(int number)
{
  CUdevice device;
  CUcontext context;
  pthread_once(&once, start);
  require(cuDeviceGet(&device, number % ndevices), "cuDeviceGet");
  require(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  require(cuCtxPushCurrent(context), "cuCtxPushCurrent");
}

static void leave(int number)
{
  CUdevice device;
  CUcontext context;
  require(cuCtxPopCurrent(&context), "cuCtxPopCurrent");
  require(cuDeviceGet(&device, number % ndevices), "cuDeviceGet");
  require(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
}

int sftest_cuda_count(void)
{
  pthread_once(&once, start);
  return ndevices;
}

size_t sftest_cuda_length(const void *address)
{
  CUpointer_attribute size = CU_POINTER_ATTRIBUTE_RANGE_SIZE;
  size_t bytes = 0;
  void *values[] = {&bytes};
  enter(0);
  require(cuPointerGetAttributes(1, &size, values, (CUdeviceptr)(uintptr_t)address), "cuPointerGetAttributes");
  leave(0);
  return bytes;
}

void *sftest_cuda_alloc(int device, size_t len_bytes)
{
  CUdeviceptr address = 0;
  enter(device); /* and never leave it: the memory goes with the context */
  require(cuMemAlloc(&address, len_bytes), "cuMemAlloc");
  CUcontext context;
  require(cuCtxPopCurrent(&context), "cuCtxPopCurrent");
  nlive++;
  return (void *)(uintptr_t)address;
}

void sftest_cuda_free(void *address)
{
  if (address == NULL)
    return;
  enter(0);
  require(cuMemFree((CUdeviceptr)(uintptr_t)address), "cuMemFree");
  leave(0);
  nlive--;
}

void *sftest_cuda_alloc_virtual(int device, size_t len_bytes, int shareable)
{
  enter(device);
  void *address = sftest_virtual_alloc(device % ndevices, len_bytes, shareable != 0);
  leave(device);
  return address;
}

void *sftest_cuda_alloc_pooled(int device, size_t len_bytes, int shareable)
{
  enter(device);
  void *address = sftest_pool_alloc(device % ndevices, len_bytes, shareable != 0);
  leave(device);
  nlive++;
  return address;
}

void sftest_cuda_free_virtual(void *address)
{
  size_t len_bytes = sftest_cuda_length(address);
  enter(0);
  require(cuCtxSynchronize(), "cuCtxSynchronize");
  require(sftest_virtual_free(address, len_bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, "cuMemUnmap");
  leave(0);
}

void sftest_cuda_copy(void *to, const void *from, size_t len_bytes)
{
  enter(0);
  require(cuMemcpy((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, len_bytes), "cuMemcpy");
  require(cuCtxSynchronize(), "cuCtxSynchronize");
  leave(0);
}

sftest_cuda_stream_create_fn_t sftest_cuda_stream_create;
sftest_cuda_stream_fn_t sftest_cuda_stream_destroy;
sftest_cuda_stream_fn_t sftest_cuda_stream_finish;
sftest_cuda_stream_copy_fn_t sftest_cuda_stream_copy;
sftest_cuda_stream_capture_fn_t sftest_cuda_stream_capture;

void *sftest_cuda_stream_create(int device)
{
  CUstream stream;
  CUcontext context;
  enter(device); /* and never leave it */
  require(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  require(cuCtxPopCurrent(&context), "cuCtxPopCurrent");
  return stream;
}

static void enter_stream(void *stream)
{
  CUcontext context;
  require(cuStreamGetCtx(stream, &context), "cuStreamGetCtx");
  require(cuCtxPushCurrent(context), "cuCtxPushCurrent");
}

static void leave_stream(void)
{
  CUcontext context;
  require(cuCtxPopCurrent(&context), "cuCtxPopCurrent");
}

void sftest_cuda_stream_destroy(void *stream)
{
  enter_stream(stream);
  require(cuStreamDestroy(stream), "cuStreamDestroy");
  leave_stream();
}

void sftest_cuda_stream_finish(void *stream)
{
  enter_stream(stream);
  require(cuStreamSynchronize(stream), "cuStreamSynchronize");
  leave_stream();
}

void sftest_cuda_stream_capture(void *stream, int begin)
{
  CUgraph graph = NULL;
  enter_stream(stream);
  if (begin) {
    require(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  } else {
    require(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    require(cuGraphDestroy(graph), "cuGraphDestroy");
  }
  leave_stream();
}

static bool is_on_device(const void *address)
{
  CUmemorytype type = 0;
  CUresult result = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)address);
  return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE;
}

typedef struct copying {
  void *to;
  const void *from;
  size_t len_bytes;
} copying_t;

static void copy_on_host(void *argument)
{
  copying_t *copying = argument;
  memcpy(copying->to, copying->from, copying->len_bytes);
  free(copying);
}

/* The driver does not promise that what is copied within the host takes its place in the stream. */
static void copy_within_host(void *to, const void *from, size_t len_bytes, void *stream)
{
  copying_t *copying = malloc(sizeof *copying);
  require(copying != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY, "malloc");
  *copying = (copying_t){to, from, len_bytes};
  require(cuLaunchHostFunc(stream, copy_on_host, copying), "cuLaunchHostFunc");
}

/* Memory of the host is pinned or not: either will do. */
void sftest_cuda_stream_copy(void *to, const void *from, size_t len_bytes, void *stream)
{
  enter_stream(stream);
  if (is_on_device(to) || is_on_device(from))
    require(cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, len_bytes, stream),
            "cuMemcpyAsync");
  else
    copy_within_host(to, from, len_bytes, stream);
  leave_stream();
}

int64_t sftest_cuda_live(void)
{
  return nlive;
}
