/* Copies by the stand-in for the CUDA driver: see fake_driver.h. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_driver.h"
#include "tests/cuda/fake_work.h"

#define STAGED_BYTES ((size_t)64 << 10) /* copies of up to so much return before they are done */

static int64_t ncopied; /* from any memory of devices, or pinned, to any */

static sftest_work_t *make_copy(void *to, const void *from, size_t bytes, bool is_staged)
{
  sftest_work_t *work = sftest_make_work(COPY);
  work->to = to;
  work->from = from;
  work->bytes = bytes;
  if (is_staged) {
    work->from = work->staged = malloc(bytes + 1);
    sftest_cuda_require(work->staged != NULL);
    memcpy(work->staged, from, bytes);
  }
  return work;
}

/* Memory of the host that is not pinned has been read when it returns, or is written then. */
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  bool to_host = !sftest_cuda_is_known((const void *)(uintptr_t)to);
  bool from_host = !sftest_cuda_is_known((const void *)(uintptr_t)from);
  sftest_work_t *work = make_copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, from_host);
  ncopied += !to_host && !from_host;
  CUresult result = sftest_tell_if(CUDA_SUCCESS, stream, work);
  return result == CUDA_SUCCESS && to_host ? cuStreamSynchronize(stream) : result;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
  return cuMemcpyAsync(to, (CUdeviceptr)(uintptr_t)from, bytes, stream);
}

/* With the lock held: memory of that device only, all of it. */
static bool is_of(int device, CUdeviceptr address, size_t bytes)
{
  return sftest_cuda_can_touch(device, (const void *)(uintptr_t)address) &&
         sftest_cuda_can_touch(device, (const void *)(uintptr_t)(address + bytes - 1));
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  CUcontext context = sftest_cuda_current();
  return context == NULL ? CUDA_ERROR_INVALID_CONTEXT : cuMemcpyPeerAsync(to, context, from, context, bytes, stream);
}

/* Needs no access from one device to the other. */
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  bool good = bytes > 0 && is_of(to_context->device, to, bytes) && is_of(from_context->device, from, bytes);
  sftest_work_t *work = make_copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, false);
  ncopied += good;
  return sftest_tell_if(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, stream, work);
}

/* In the default stream. */
static CUresult copy(void *to, const void *from, size_t bytes)
{
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(false);
  sftest_cuda_open_memory();
  memcpy(to, from, bytes);
  sftest_cuda_close_memory();
  CUresult result = sftest_cuda_sticky;
  return result;
}

/* In the default stream, and no other stream that does not wait for that one knows when. */
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS || bytes > STAGED_BYTES)
    return result != CUDA_SUCCESS ? result : copy((void *)(uintptr_t)to, from, bytes);
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(false);
  sftest_tell(sftest_find_stream(NULL), make_copy((void *)(uintptr_t)to, from, bytes, true));
  result = sftest_cuda_sticky;
  return result;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  return result != CUDA_SUCCESS ? result : copy(to, (const void *)(uintptr_t)from, bytes);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  return result != CUDA_SUCCESS ? result : copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_copy_fn_t sftest_cuda_copy;
sftest_cuda_copied_fn_t sftest_cuda_copied;
sftest_cuda_stream_copy_fn_t sftest_cuda_stream_copy;

int64_t sftest_cuda_copied(void)
{
  SFTEST_CUDA_LOCK();
  int64_t n = ncopied;
  return n;
}

void sftest_cuda_copy(void *to, const void *from, size_t len_bytes)
{
  copy(to, from, len_bytes);
}

/* What lies in memory of the host is read when the stream comes to it, unlike what cuMemcpyAsync does. */
void sftest_cuda_stream_copy(void *to, const void *from, size_t len_bytes, void *stream)
{
  SFTEST_CUDA_LOCK();
  sftest_tell(stream, make_copy(to, from, len_bytes, false));
}
