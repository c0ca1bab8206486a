/* Streams of the stand-in for the CUDA driver: see fake_driver.h. Each is a thread that does what it is told, one after
 * the other, some of it a little late. */
#include "tests/cuda/fake_driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/cuda/fake_kernel.h"
#include "tests/cuda/fake_work.h"

#define MAX_LANES 7      /* threads that a launch is run as */
#define LATE_ONE_IN 8    /* pieces of work */
#define LATE_US 60       /* at most */
#define LOOK_AGAIN_US 20 /* at a value that is waited for */

_Thread_local int64_t sftest_cuda_first;
_Thread_local int64_t sftest_cuda_step;

pthread_cond_t sftest_cuda_progress = PTHREAD_COND_INITIALIZER; /* some stream has done something */
static CUstream streams;
static bool is_calling; /* functions of the host are called one after the other, whatever their streams */
static bool is_full;    /* a call waits for room in a stream */

void sftest_cuda_require(bool condition)
{
  if (!condition)
    abort();
}

/* ---- Doing the work ---------------------------------------------------------------------------------------------- */

static void sleep_us(uint64_t us)
{
  struct timespec time = {0, (long)us * 1000};
  nanosleep(&time, NULL);
}

/* The devices' clock, which has nothing to do with the host's. */
static double device_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec % 1000 + 5000) * 1e3 + (double)now.tv_nsec / 1e6;
}

void sftest_mark_drop(sftest_mark_t *mark)
{
  if (mark != NULL && --mark->holders == 0)
    free(mark);
}

/* As a few threads, one after the other, in any order. */
static void run_kernel(const sftest_work_t *work)
{
  int64_t n = 1 + (int64_t)(sftest_cuda_chance() % MAX_LANES), shift = (int64_t)(sftest_cuda_chance() % (uint64_t)n);
  sftest_cuda_open_memory();
  pthread_mutex_unlock(&sftest_cuda_lock);
  sftest_cuda_step = n;
  for (int64_t i = 0; i < n; i++) {
    sftest_cuda_first = (i + shift) % n;
    if (work->kernel.scatter != NULL)
      work->kernel.scatter(work->scatter);
    else if (work->kernel.several != NULL)
      work->kernel.several(work->several);
    else if (work->kernel.fetch != NULL)
      work->kernel.fetch(work->fetch);
    else if (work->kernel.cg != NULL)
      work->kernel.cg(work->cg);
    else
      work->kernel.gather(work->gather);
  }
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_close_memory();
}

static void wait_for_value(const sftest_work_t *work)
{
  while (sftest_cuda_sticky == CUDA_SUCCESS &&
         (int32_t)(atomic_load_explicit(work->word, memory_order_acquire) - work->value) < 0) {
    pthread_mutex_unlock(&sftest_cuda_lock);
    sleep_us(LOOK_AGAIN_US);
    pthread_mutex_lock(&sftest_cuda_lock);
  }
}

static void call(const sftest_work_t *work)
{
  while (is_calling)
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
  is_calling = true;
  pthread_mutex_unlock(&sftest_cuda_lock);
  sftest_cuda_begin_call();
  work->call(work->argument);
  sftest_cuda_end_call();
  pthread_mutex_lock(&sftest_cuda_lock);
  is_calling = false;
  pthread_cond_broadcast(&sftest_cuda_progress);
}

static void copy_now(const sftest_work_t *work)
{
  sftest_cuda_open_memory();
  memcpy(work->to, work->from, work->bytes);
  sftest_cuda_close_memory();
}

/* A context in which a launch has failed does nothing any more. */
static void do_work(const sftest_work_t *work)
{
  if (work->kind == MARK) {
    work->mark->done_ms = device_ms();
    work->mark->done = true;
  }
  if (sftest_cuda_sticky != CUDA_SUCCESS)
    return;
  switch (work->kind) {
  case KERNEL:
    run_kernel(work);
    break;
  case CALL:
    call(work);
    break;
  case COPY:
    copy_now(work);
    break;
  case WRITE:
    atomic_store_explicit(work->word, work->value, memory_order_release);
    break;
  case WAIT:
    wait_for_value(work);
    break;
  case AWAIT:
    while (!work->mark->done)
      pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
    break;
  case MARK:
    break;
  }
}

static void *run_stream(void *argument)
{
  CUstream stream = argument;
  pthread_mutex_lock(&sftest_cuda_lock);
  for (;;) {
    while (stream->first == NULL && !stream->stopping)
      pthread_cond_wait(&stream->news, &sftest_cuda_lock);
    sftest_work_t *work = stream->first;
    if (work == NULL)
      break;
    if (work->staged != NULL || sftest_cuda_chance() % LATE_ONE_IN == 0) {
      uint64_t us = sftest_cuda_chance() % LATE_US;
      pthread_mutex_unlock(&sftest_cuda_lock);
      sleep_us(us);
      pthread_mutex_lock(&sftest_cuda_lock);
    }
    do_work(work);
    sftest_mark_drop(work->mark);
    stream->first = work->next;
    if (stream->first == NULL)
      stream->last = &stream->first;
    free(work->staged);
    free(work);
    stream->done++;
    pthread_cond_broadcast(&sftest_cuda_progress);
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return NULL;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static CUstream make_stream(CUcontext context, bool blocking)
{
  CUstream stream = calloc(1, sizeof *stream);
  sftest_cuda_require(stream != NULL);
  stream->context = context;
  stream->blocking = blocking;
  stream->last = &stream->first;
  pthread_cond_init(&stream->news, NULL);
  stream->next = streams;
  streams = stream;
  sftest_cuda_require(pthread_create(&stream->thread, NULL, run_stream, stream) == 0);
  return stream;
}

CUstream sftest_find_stream(CUstream stream)
{
  if (stream != NULL && stream != CU_STREAM_LEGACY)
    return stream;
  CUcontext context = sftest_cuda_current();
  if (context->by_default == NULL)
    context->by_default = make_stream(context, true);
  return context->by_default;
}

sftest_work_t *sftest_make_work(sftest_kind_t kind)
{
  sftest_work_t *work = calloc(1, sizeof *work);
  sftest_cuda_require(work != NULL);
  work->kind = kind;
  return work;
}

static uint64_t depth(void)
{
  const char *wanted = getenv("SFTEST_CUDA_DEPTH");
  return wanted != NULL ? strtoull(wanted, NULL, 10) : 1000;
}

void sftest_cuda_pass(void)
{
  while (is_full)
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
}

/* The whole context is held up while a call waits for room in a stream. */
static void wait_for_room(const struct CUstream_st *stream)
{
  sftest_cuda_pass();
  while (stream->told - stream->done >= depth()) {
    is_full = true;
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
  }
  if (is_full)
    pthread_cond_broadcast(&sftest_cuda_progress);
  is_full = false;
}

void sftest_tell(CUstream stream, sftest_work_t *work)
{
  wait_for_room(stream);
  *stream->last = work;
  stream->last = &work->next;
  stream->told++;
  pthread_cond_signal(&stream->news);
}

static void finish_stream(const struct CUstream_st *stream)
{
  uint64_t told = stream->told;
  while (stream->done < told)
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
}

/* From the beginning after each wait: streams may have gone. */
void sftest_cuda_finish(bool all)
{
  CUstream stream = streams;
  while (stream != NULL)
    if ((all || stream->blocking) && stream->done < stream->told) {
      pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
      stream = streams;
    } else {
      stream = stream->next;
    }
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  *stream = make_stream(sftest_cuda_current(), (flags & CU_STREAM_NON_BLOCKING) == 0);
  pthread_mutex_unlock(&sftest_cuda_lock);
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
  (void)priority;
  return cuStreamCreate(stream, flags);
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
  pthread_mutex_lock(&sftest_cuda_lock);
  CUresult result = sftest_check_stream(stream);
  if (result == CUDA_SUCCESS)
    finish_stream(sftest_find_stream(stream));
  if (result == CUDA_SUCCESS)
    result = sftest_cuda_is_to_fail("cuStreamSynchronize") ? CUDA_ERROR_UNKNOWN : sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuStreamDestroy(CUstream stream)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  stream->stopping = true;
  pthread_cond_signal(&stream->news);
  pthread_mutex_unlock(&sftest_cuda_lock);
  pthread_join(stream->thread, NULL);
  pthread_mutex_lock(&sftest_cuda_lock);
  CUstream *link = &streams;
  while (*link != stream)
    link = &(*link)->next;
  *link = stream->next;
  pthread_mutex_unlock(&sftest_cuda_lock);
  pthread_cond_destroy(&stream->news);
  free(stream);
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
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
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
    free(work);
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

/* Its graph is nothing. */
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
  (void)mode;
  stream->captured = true;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
  *graph = NULL;
  stream->captured = false;
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
  (void)graph;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
  *status = stream->captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
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
  pthread_mutex_lock(&sftest_cuda_lock);
  stream = make_stream(context, false);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return stream;
}

void sftest_cuda_stream_destroy(void *stream)
{
  cuStreamDestroy(stream);
}

void sftest_cuda_stream_capture(void *stream, int begin)
{
  CUgraph graph;
  sftest_cuda_require((begin ? cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
                             : cuStreamEndCapture(stream, &graph)) == CUDA_SUCCESS);
}

void sftest_cuda_stream_finish(void *stream)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  finish_stream(stream);
  pthread_mutex_unlock(&sftest_cuda_lock);
}
