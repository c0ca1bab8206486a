/* Streams of the stand-in for the CUDA driver: see fake_driver.h. Each is a thread that does what it is told, one after
 * the other, some of it a little late. */
#include "tests/cuda/fake_driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/cuda/fake_internal.h"
#include "tests/cuda/fake_kernel.h"

#define MAX_LANES 7      /* threads that a launch is run as */
#define LATE_ONE_IN 8    /* pieces of work */
#define LATE_US 60       /* at most */
#define LOOK_AGAIN_US 20 /* at a value that is waited for */

_Thread_local int64_t sftest_cuda_first;
_Thread_local int64_t sftest_cuda_step;

/* A place in a stream, for whoever waits for it: an event, or other streams. */
typedef struct mark {
  int holders;
  bool done;
  double done_ms;
} mark_t;

typedef enum kind { KERNEL, CALL, WRITE, WAIT, MARK, AWAIT } kind_t;

/* Work that a stream has been told to do. */
typedef struct work {
  struct work *next;
  kind_t kind;
  sftest_kernel_t kernel;
  union {
    sfshm_cuda_scatter_t scatter;
    sfshm_cuda_gathers_t gather;
    cg_args_t cg;
  };
  CUhostFn call;
  void *argument;
  _Atomic uint32_t *word;
  uint32_t value;
  mark_t *mark;
} work_t;

struct CUstream_st {
  CUstream next;
  CUcontext context;
  bool blocking; /* the default stream waits for it */
  bool stopping;
  pthread_t thread;
  pthread_cond_t news;
  work_t *first;
  work_t **last;
  uint64_t told;
  uint64_t done;
};

struct CUevent_st {
  mark_t *mark; /* NULL: never recorded */
  bool timed;
};

static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* some stream has done something */
static CUstream streams;
static CUstream by_default;
static int64_t nlaunched;

static void require(bool condition)
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

static void let_go(mark_t *mark)
{
  if (mark != NULL && --mark->holders == 0)
    free(mark);
}

/* As a few threads, one after the other, in any order. */
static void run_kernel(const work_t *work)
{
  int64_t n = 1 + (int64_t)(sftest_cuda_chance() % MAX_LANES), shift = (int64_t)(sftest_cuda_chance() % (uint64_t)n);
  sftest_cuda_open_memory();
  pthread_mutex_unlock(&sftest_cuda_lock);
  sftest_cuda_step = n;
  for (int64_t i = 0; i < n; i++) {
    sftest_cuda_first = (i + shift) % n;
    if (work->kernel.scatter != NULL)
      work->kernel.scatter(work->scatter);
    else if (work->kernel.cg != NULL)
      work->kernel.cg(work->cg);
    else
      work->kernel.gather(work->gather);
  }
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_close_memory();
}

static void wait_for_value(const work_t *work)
{
  while (sftest_cuda_sticky == CUDA_SUCCESS &&
         (int32_t)(atomic_load_explicit(work->word, memory_order_acquire) - work->value) < 0) {
    pthread_mutex_unlock(&sftest_cuda_lock);
    sleep_us(LOOK_AGAIN_US);
    pthread_mutex_lock(&sftest_cuda_lock);
  }
}

/* A context in which a launch has failed does nothing any more. */
static void do_work(const work_t *work)
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
    pthread_mutex_unlock(&sftest_cuda_lock);
    work->call(work->argument);
    pthread_mutex_lock(&sftest_cuda_lock);
    break;
  case WRITE:
    atomic_store_explicit(work->word, work->value, memory_order_release);
    break;
  case WAIT:
    wait_for_value(work);
    break;
  case AWAIT:
    while (!work->mark->done)
      pthread_cond_wait(&progress, &sftest_cuda_lock);
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
    work_t *work = stream->first;
    if (work == NULL)
      break;
    if (sftest_cuda_chance() % LATE_ONE_IN == 0) {
      uint64_t us = sftest_cuda_chance() % LATE_US;
      pthread_mutex_unlock(&sftest_cuda_lock);
      sleep_us(us);
      pthread_mutex_lock(&sftest_cuda_lock);
    }
    do_work(work);
    let_go(work->mark);
    stream->first = work->next;
    if (stream->first == NULL)
      stream->last = &stream->first;
    free(work);
    stream->done++;
    pthread_cond_broadcast(&progress);
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return NULL;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static CUstream make_stream(CUcontext context, bool blocking)
{
  CUstream stream = calloc(1, sizeof *stream);
  require(stream != NULL);
  stream->context = context;
  stream->blocking = blocking;
  stream->last = &stream->first;
  pthread_cond_init(&stream->news, NULL);
  stream->next = streams;
  streams = stream;
  require(pthread_create(&stream->thread, NULL, run_stream, stream) == 0);
  return stream;
}

/* What the application calls a stream; with the lock held. */
static CUstream find_stream(CUstream stream)
{
  if (stream != NULL && stream != CU_STREAM_LEGACY)
    return stream;
  if (by_default == NULL)
    by_default = make_stream(sftest_cuda_current(), true);
  return by_default;
}

static work_t *make_work(kind_t kind)
{
  work_t *work = calloc(1, sizeof *work);
  require(work != NULL);
  work->kind = kind;
  return work;
}

static void tell(CUstream stream, work_t *work)
{
  *stream->last = work;
  stream->last = &work->next;
  stream->told++;
  pthread_cond_signal(&stream->news);
}

static void finish_stream(const struct CUstream_st *stream)
{
  uint64_t told = stream->told;
  while (stream->done < told)
    pthread_cond_wait(&progress, &sftest_cuda_lock);
}

/* From the beginning after each wait: streams may have gone. */
void sftest_cuda_finish(bool all)
{
  CUstream stream = streams;
  while (stream != NULL)
    if ((all || stream->blocking) && stream->done < stream->told) {
      pthread_cond_wait(&progress, &sftest_cuda_lock);
      stream = streams;
    } else {
      stream = stream->next;
    }
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  if (sftest_cuda_current() == NULL)
    return CUDA_ERROR_INVALID_CONTEXT;
  pthread_mutex_lock(&sftest_cuda_lock);
  *stream = make_stream(sftest_cuda_current(), (flags & CU_STREAM_NON_BLOCKING) == 0);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  finish_stream(find_stream(stream));
  CUresult result = sftest_cuda_sticky;
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

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  *context = find_stream(stream)->context;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return *context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSynchronize(void)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  CUresult result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

/* ---- What they are told ------------------------------------------------------------------------------------------ */

/* Hands the work over, or drops it if its result is a failure. */
static CUresult tell_if(CUresult result, CUstream stream, work_t *work)
{
  if (result == CUDA_SUCCESS)
    result = sftest_cuda_sticky;
  if (result == CUDA_SUCCESS)
    tell(find_stream(stream), work);
  else
    free(work);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX,
                        unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, CUstream stream,
                        void **kernelParams, void **extra)
{
  work_t *work = make_work(KERNEL);
  CUresult result = CUDA_SUCCESS;
  (void)sharedMemBytes;
  pthread_mutex_lock(&sftest_cuda_lock);
  if (sftest_cuda_is_to_fail("cuLaunchKernel"))
    sftest_cuda_sticky = CUDA_ERROR_LAUNCH_FAILED;
  if (sftest_cuda_current() == NULL)
    result = CUDA_ERROR_INVALID_CONTEXT;
  else if (sftest_cuda_current() != find_stream(stream)->context)
    result = CUDA_ERROR_INVALID_HANDLE;
  else if (gridDimX == 0 || gridDimY * gridDimZ != 1 || blockDimX == 0 || blockDimX > 1024 ||
           blockDimY * blockDimZ != 1 || extra != NULL)
    result = CUDA_ERROR_INVALID_VALUE;
  work->kernel = f->kernel;
  if (f->kernel.scatter != NULL)
    memcpy(&work->scatter, kernelParams[0], sizeof work->scatter);
  else if (f->kernel.cg != NULL)
    memcpy(&work->cg, kernelParams[0], sizeof work->cg);
  else
    memcpy(&work->gather, kernelParams[0], sizeof work->gather);
  nlaunched += result == CUDA_SUCCESS && sftest_cuda_sticky == CUDA_SUCCESS;
  return tell_if(result, stream, work);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *argument)
{
  work_t *work = make_work(CALL);
  work->call = function;
  work->argument = argument;
  pthread_mutex_lock(&sftest_cuda_lock);
  return tell_if(CUDA_SUCCESS, stream, work);
}

/* Memory operations; off if the environment says so, as on devices that lack them. */
static CUresult operate(kind_t kind, CUstream stream, CUdeviceptr address, uint32_t value)
{
  const char *wanted = getenv("SFTEST_CUDA_MEMOPS");
  work_t *work = make_work(kind);
  CUresult result = wanted != NULL && strcmp(wanted, "off") == 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
  if (address % sizeof(uint32_t) != 0)
    result = CUDA_ERROR_INVALID_VALUE;
  work->word = (_Atomic uint32_t *)(uintptr_t)address;
  work->value = value;
  pthread_mutex_lock(&sftest_cuda_lock);
  return tell_if(result, stream, work);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
  return flags == CU_STREAM_WRITE_VALUE_DEFAULT ? operate(WRITE, stream, address, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
  return flags == CU_STREAM_WAIT_VALUE_GEQ ? operate(WAIT, stream, address, value) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
  *event = calloc(1, sizeof **event);
  require(*event != NULL);
  (*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
  work_t *work = make_work(MARK);
  mark_t *mark = calloc(1, sizeof *mark);
  require(mark != NULL);
  work->mark = mark;
  mark->holders = 2;
  pthread_mutex_lock(&sftest_cuda_lock);
  let_go(event->mark);
  event->mark = mark;
  tell(find_stream(stream), work);
  CUresult result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
  (void)flags;
  pthread_mutex_lock(&sftest_cuda_lock);
  if (event->mark != NULL) {
    work_t *work = make_work(AWAIT);
    work->mark = event->mark;
    work->mark->holders++;
    tell(find_stream(stream), work);
  }
  CUresult result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuEventQuery(CUevent event)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  CUresult result = sftest_cuda_sticky;
  if (result == CUDA_SUCCESS && event->mark != NULL && !event->mark->done)
    result = CUDA_ERROR_NOT_READY;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  CUresult result = sftest_cuda_sticky;
  if (result == CUDA_SUCCESS && (start->mark == NULL || end->mark == NULL || !start->timed || !end->timed))
    result = CUDA_ERROR_INVALID_HANDLE;
  else if (result == CUDA_SUCCESS && (!start->mark->done || !end->mark->done))
    result = CUDA_ERROR_NOT_READY;
  if (result == CUDA_SUCCESS)
    *ms = (float)(end->mark->done_ms - start->mark->done_ms);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuEventSynchronize(CUevent event)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  mark_t *mark = event->mark;
  if (mark != NULL) {
    mark->holders++;
    while (!mark->done)
      pthread_cond_wait(&progress, &sftest_cuda_lock);
    let_go(mark);
  }
  CUresult result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuEventDestroy(CUevent event)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  let_go(event->mark);
  pthread_mutex_unlock(&sftest_cuda_lock);
  free(event);
  return CUDA_SUCCESS;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_launched_fn_t sftest_cuda_launched;
sftest_cuda_stream_create_fn_t sftest_cuda_stream_create;
sftest_cuda_stream_fn_t sftest_cuda_stream_destroy;
sftest_cuda_stream_fn_t sftest_cuda_stream_finish;
sftest_cuda_stream_copy_fn_t sftest_cuda_stream_copy;

int64_t sftest_cuda_launched(void)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  int64_t n = nlaunched;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return n;
}

void *sftest_cuda_stream_create(int device)
{
  CUdevice number;
  CUcontext context;
  CUstream stream = NULL;
  require(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&number, device) == CUDA_SUCCESS &&
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

void sftest_cuda_stream_finish(void *stream)
{
  cuStreamSynchronize(stream);
}

typedef struct copying {
  void *to;
  const void *from;
  size_t len_bytes;
} copying_t;

static void copy_late(void *argument)
{
  copying_t *copying = argument;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_open_memory();
  pthread_mutex_unlock(&sftest_cuda_lock);
  memcpy(copying->to, copying->from, copying->len_bytes);
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_close_memory();
  pthread_mutex_unlock(&sftest_cuda_lock);
  free(copying);
}

void sftest_cuda_stream_copy(void *to, const void *from, size_t len_bytes, void *stream)
{
  copying_t *copying = malloc(sizeof *copying);
  require(copying != NULL);
  *copying = (copying_t){to, from, len_bytes};
  if (cuLaunchHostFunc(stream, copy_late, copying) != CUDA_SUCCESS)
    free(copying);
}
