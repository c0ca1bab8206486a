/* What tests ask of the stand-in for the CUDA driver, done by the real one: make check-gpu. It has no failures to
 * order.
 */
#include "tests/cuda/fake_driver.h"

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

sftest_cuda_alloc_fn_t sftest_cuda_alloc;
sftest_cuda_free_fn_t sftest_cuda_free;
sftest_cuda_copy_fn_t sftest_cuda_copy;
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

void *sftest_cuda_stream_create(int device)
{
  CUstream stream;
  CUcontext context;
  enter(device); /* and never leave it */
  require(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  require(cuCtxPopCurrent(&context), "cuCtxPopCurrent");
  return stream;
}

void sftest_cuda_stream_destroy(void *stream)
{
  require(cuStreamDestroy(stream), "cuStreamDestroy");
}

void sftest_cuda_stream_finish(void *stream)
{
  require(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

/* Memory of the host is pinned or not: either will do. */
void sftest_cuda_stream_copy(void *to, const void *from, size_t len_bytes, void *stream)
{
  CUcontext context;
  require(cuStreamGetCtx(stream, &context), "cuStreamGetCtx");
  require(cuCtxPushCurrent(context), "cuCtxPushCurrent");
  require(cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, len_bytes, stream), "cuMemcpyAsync");
  require(cuCtxPopCurrent(&context), "cuCtxPopCurrent");
}

int64_t sftest_cuda_live(void)
{
  return nlive;
}
