/* Streams of the stand-in for the CUDA driver: see fake_driver.h. Handles, what waits for streams, and capturing. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/cuda/fake_driver.h"
#include "tests/cuda/fake_work.h"

static CUstream unused;                  /* handles of streams that have been destroyed */
static int ncaptured;                    /* streams, in a mode that concerns all threads */
static _Thread_local int ncaptured_here; /* in one that concerns this one */
static _Thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static _Thread_local CUstream by_thread[SFTEST_MAX_DEVICES];

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

/* The handle is that of the one destroyed last. */
static CUstream make_stream(CUcontext context, bool blocking, bool urgent)
{
  CUstream stream = unused != NULL ? unused : malloc(sizeof *stream);
  sftest_cuda_require(stream != NULL);
  unused = unused != NULL ? unused->next : NULL;
  *stream = (struct CUstream_st){.context = context, .line = sftest_make_line(context->device, blocking, urgent)};
  return stream;
}

CUstream sftest_find_stream(CUstream stream)
{
  if (stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD)
    return stream;
  CUcontext context = sftest_cuda_current();
  CUstream *found = stream == CU_STREAM_PER_THREAD ? &by_thread[context->device] : &context->by_default;
  if (*found == NULL)
    *found = make_stream(context, true, false);
  return *found;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
  SFTEST_CUDA_ENTER();
  SFTEST_CUDA_LOCK();
  *id = sftest_find_stream(stream)->line->id;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  SFTEST_CUDA_ENTER();
  SFTEST_CUDA_LOCK();
  *stream = make_stream(sftest_cuda_current(), (flags & CU_STREAM_NON_BLOCKING) == 0, false);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
  *least = 0;
  *greatest = -5;
  return sftest_cuda_enter();
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
  SFTEST_CUDA_ENTER();
  SFTEST_CUDA_LOCK();
  *stream = make_stream(sftest_cuda_current(), (flags & CU_STREAM_NON_BLOCKING) == 0, priority < 0);
  return CUDA_SUCCESS;
}

CUresult sftest_check_stream(CUstream stream)
{
  CUresult result = sftest_cuda_enter();
  if (result == CUDA_SUCCESS && sftest_find_stream(stream)->context != sftest_cuda_current())
    result = CUDA_ERROR_INVALID_HANDLE;
  if (result == CUDA_SUCCESS && sftest_find_stream(stream)->captured)
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return result;
}

CUresult cuStreamSynchronize(CUstream stream)
{
  sftest_cuda_forbid_in_captures();
  SFTEST_CUDA_LOCK();
  CUresult result = sftest_check_stream(stream);
  if (result == CUDA_SUCCESS)
    sftest_finish_line(sftest_find_stream(stream)->line);
  if (result == CUDA_SUCCESS)
    result = sftest_cuda_is_to_fail("cuStreamSynchronize") ? CUDA_ERROR_UNKNOWN : sftest_cuda_sticky;
  return result;
}

CUresult cuStreamQuery(CUstream stream)
{
  sftest_cuda_forbid_in_captures();
  SFTEST_CUDA_LOCK();
  sftest_cuda_pass();
  CUresult result = sftest_check_stream(stream);
  const sftest_line_t *line = result == CUDA_SUCCESS ? sftest_find_stream(stream)->line : NULL;
  if (result == CUDA_SUCCESS && sftest_cuda_sticky != CUDA_SUCCESS)
    result = sftest_cuda_sticky;
  else if (result == CUDA_SUCCESS && line->done < line->told)
    result = CUDA_ERROR_NOT_READY;
  return result;
}

/* What it has been told is done all the same. */
CUresult cuStreamDestroy(CUstream stream)
{
  SFTEST_CUDA_LOCK();
  sftest_end_line(stream->line);
  stream->next = unused;
  unused = stream;
  return CUDA_SUCCESS;
}

/* Of a default stream the current one. */
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
  bool by_default = stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  *context = by_default ? sftest_cuda_current() : stream->context;
  return *context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSynchronize(void)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(true);
  result = sftest_cuda_sticky;
  return result;
}

CUresult sftest_tell_if(CUresult result, CUstream stream, sftest_work_t *work)
{
  if (result == CUDA_SUCCESS)
    result = sftest_check_stream(stream);
  if (result == CUDA_SUCCESS)
    result = sftest_cuda_sticky;
  if (result == CUDA_SUCCESS) {
    sftest_tell(sftest_find_stream(stream), work);
  } else {
    free(work->staged);
    free(work->operations);
    free(work);
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

/* ---- Capturing --------------------------------------------------------------------------------------------------- */

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
  CUstreamCaptureMode before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}

/* Calls that could not be made when the graph is launched spoil the capture on a real device, unless the thread says
 * that it knows what it does. */
void sftest_cuda_forbid_in_captures(void)
{
  if (capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED || (ncaptured_here == 0 && ncaptured == 0))
    return;
  fprintf(stderr, "fake CUDA driver: a call spoils the capture of a stream\n");
  abort();
}

/* Its graph is nothing. */
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
  SFTEST_CUDA_LOCK();
  stream->captured = true;
  stream->capture_mode = mode;
  ncaptured += mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  ncaptured_here += mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
  *graph = NULL;
  SFTEST_CUDA_LOCK();
  stream->captured = false;
  ncaptured -= stream->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  ncaptured_here -= stream->capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
  (void)graph;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
  if ((stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) && sftest_cuda_current() == NULL)
    return CUDA_ERROR_INVALID_CONTEXT;
  SFTEST_CUDA_LOCK();
  *status = sftest_find_stream(stream)->captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_stream_create_fn_t sftest_cuda_stream_create;
sftest_cuda_stream_fn_t sftest_cuda_stream_destroy;
sftest_cuda_stream_fn_t sftest_cuda_stream_finish;
sftest_cuda_stream_capture_fn_t sftest_cuda_stream_capture;

void *sftest_cuda_stream_create(int device)
{
  CUdevice number;
  CUcontext context;
  CUstream stream = NULL;
  sftest_cuda_require(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&number, device) == CUDA_SUCCESS &&
                      cuDevicePrimaryCtxRetain(&context, number) == CUDA_SUCCESS);
  SFTEST_CUDA_LOCK();
  stream = make_stream(context, false, false);
  return stream;
}

void sftest_cuda_stream_destroy(void *stream)
{
  cuStreamDestroy(stream);
}

void sftest_cuda_stream_capture(void *stream, int begin)
{
  CUgraph graph;
  sftest_cuda_require((begin ? cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL)
                             : cuStreamEndCapture(stream, &graph)) == CUDA_SUCCESS);
}

void sftest_cuda_stream_finish(void *stream)
{
  SFTEST_CUDA_LOCK();
  sftest_finish_line(((CUstream)stream)->line);
}
