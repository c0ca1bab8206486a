/* Kernels, functions of the host, memory operations and events of the stand-in for the CUDA driver: see fake_driver.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_driver.h"
#include "tests/cuda/fake_work.h"

static int64_t nlaunched;

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static bool can_touch_or_has_none(int device, const void *address)
{
  return address == NULL || sftest_cuda_can_touch(device, address);
}

/* Devices don't take numbers apart that lie across their borders. */
static bool is_aligned(const sftest_work_t *work)
{
  uintptr_t bits = 0;
  for (int32_t i = 0; work->kernel.cg == NULL && i < work->several.work.nsets; i++)
    bits |= (uintptr_t)work->several.sets[i].from | (uintptr_t)work->several.sets[i].to;
  return bits % work->element_bytes == 0;
}

static bool can_touch_indices(int device, const sfshm_cuda_pattern_t *pattern)
{
  return (pattern->kind != SFSHM_CUDA_INDEX32 && pattern->kind != SFSHM_CUDA_INDEX64) ||
         sftest_cuda_can_touch(device, pattern->index);
}

/* Whether the kernel's arguments are what its device can touch. */
static bool can_run(const sftest_work_t *work, int device)
{
  const sfshm_cuda_work_t *args = &work->several.work;
  if (work->kernel.cg != NULL)
    return true;
  bool good = can_touch_or_has_none(device, args->order) && can_touch_or_has_none(device, args->begin);
  for (int32_t i = 0; i < args->nwords && good; i++)
    good = sftest_cuda_can_touch(device, args->words[i].at);
  for (int32_t i = 0; i < args->nsets && good; i++) {
    const sfshm_cuda_set_t *set = &work->several.sets[i];
    good = sftest_cuda_can_touch(device, set->from) && sftest_cuda_can_touch(device, set->to) &&
           can_touch_indices(device, &set->from_pattern) && can_touch_indices(device, &set->to_pattern);
  }
  return good;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX,
                        unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, CUstream stream,
                        void **kernelParams, void **extra)
{
  sftest_work_t *work = sftest_make_work(KERNEL);
  (void)sharedMemBytes;
  pthread_mutex_lock(&sftest_cuda_lock);
  if (sftest_cuda_is_to_fail("cuLaunchKernel"))
    sftest_cuda_sticky = CUDA_ERROR_LAUNCH_FAILED;
  CUresult result = sftest_check_stream(stream);
  sftest_cuda_load(f);
  if (result == CUDA_SUCCESS && f->context != sftest_cuda_current())
    result = CUDA_ERROR_INVALID_HANDLE;
  else if (gridDimX == 0 || gridDimY * gridDimZ != 1 || blockDimX == 0 || blockDimX > 1024 ||
           blockDimY * blockDimZ != 1 || extra != NULL)
    result = CUDA_ERROR_INVALID_VALUE;
  work->kernel = f->kernel;
  work->element_bytes = f->element_bytes;
  if (f->kernel.one != NULL)
    memcpy(&work->one, kernelParams[0], sizeof work->one);
  else if (f->kernel.several != NULL)
    memcpy(&work->several, kernelParams[0], sizeof work->several);
  else
    memcpy(&work->cg, kernelParams[0], sizeof work->cg);
  if (result == CUDA_SUCCESS && !can_run(work, sftest_cuda_current()->device))
    sftest_cuda_sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
  if (result == CUDA_SUCCESS && !is_aligned(work))
    sftest_cuda_sticky = CUDA_ERROR_MISALIGNED_ADDRESS;
  nlaunched += result == CUDA_SUCCESS && sftest_cuda_sticky == CUDA_SUCCESS;
  return sftest_tell_if(result, stream, work);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *argument)
{
  sftest_work_t *work = sftest_make_work(CALL);
  work->call = function;
  work->argument = argument;
  pthread_mutex_lock(&sftest_cuda_lock);
  return sftest_tell_if(CUDA_SUCCESS, stream, work);
}

/* Memory operations; off if the environment says so, as on devices that lack them. */
static CUresult check_operation(const CUstreamBatchMemOpParams *operation)
{
  bool waits = operation->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32;
  unsigned flags = waits ? operation->waitValue.flags : operation->writeValue.flags;
  int can = 0;
  if (!waits && operation->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32)
    return CUDA_ERROR_NOT_SUPPORTED;
  cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, sftest_cuda_current()->device);
  if (waits && can)
    flags &= ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
  return flags == (waits ? (unsigned)CU_STREAM_WAIT_VALUE_GEQ : (unsigned)CU_STREAM_WRITE_VALUE_DEFAULT) &&
                 operation->waitValue.address % sizeof(uint32_t) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *operations, unsigned flags)
{
  const char *wanted = getenv("SFTEST_CUDA_MEMOPS");
  CUresult result = wanted != NULL && strcmp(wanted, "off") == 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
  if (count > 256 || flags != 0 || sftest_cuda_current() == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
    result = check_operation(&operations[i]);
  sftest_work_t *work = sftest_make_work(WORDS);
  work->operations = calloc(count, sizeof *operations);
  sftest_cuda_require(work->operations != NULL);
  memcpy(work->operations, operations, count * sizeof *operations);
  work->noperations = count;
  pthread_mutex_lock(&sftest_cuda_lock);
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
    if (!sftest_cuda_can_touch(sftest_cuda_current()->device, (void *)(uintptr_t)operations[i].waitValue.address))
      result = CUDA_ERROR_INVALID_VALUE;
  return sftest_tell_if(result, stream, work);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
  SFTEST_CUDA_ENTER();
  *event = calloc(1, sizeof **event);
  sftest_cuda_require(*event != NULL);
  (*event)->context = sftest_cuda_current();
  (*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
  SFTEST_CUDA_LOCK();
  CUresult result = sftest_check_stream(stream);
  if (result == CUDA_SUCCESS && event->context != sftest_find_stream(stream)->context)
    result = CUDA_ERROR_INVALID_HANDLE;
  if (result == CUDA_SUCCESS) {
    sftest_work_t *work = sftest_make_work(MARK);
    sftest_mark_t *mark = calloc(1, sizeof *mark);
    sftest_cuda_require(mark != NULL);
    work->mark = mark;
    mark->holders = 2;
    sftest_mark_drop(event->mark);
    event->mark = mark;
    sftest_tell(sftest_find_stream(stream), work);
    result = sftest_cuda_sticky;
  }
  return result;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
  (void)flags;
  SFTEST_CUDA_LOCK();
  CUresult result = sftest_check_stream(stream);
  if (result == CUDA_SUCCESS && event->mark != NULL) {
    sftest_work_t *work = sftest_make_work(AWAIT);
    work->mark = event->mark;
    work->mark->holders++;
    sftest_tell(sftest_find_stream(stream), work);
  }
  if (result == CUDA_SUCCESS)
    result = sftest_cuda_sticky;
  return result;
}

CUresult cuEventQuery(CUevent event)
{
  sftest_cuda_forbid_in_captures();
  SFTEST_CUDA_LOCK();
  sftest_cuda_pass();
  CUresult result = sftest_cuda_sticky;
  if (result == CUDA_SUCCESS && event->mark != NULL && !event->mark->done)
    result = CUDA_ERROR_NOT_READY;
  return result;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
  SFTEST_CUDA_LOCK();
  CUresult result = sftest_cuda_sticky;
  if (result == CUDA_SUCCESS && (start->mark == NULL || end->mark == NULL || !start->timed || !end->timed))
    result = CUDA_ERROR_INVALID_HANDLE;
  else if (result == CUDA_SUCCESS && (!start->mark->done || !end->mark->done))
    result = CUDA_ERROR_NOT_READY;
  if (result == CUDA_SUCCESS)
    *ms = (float)(end->mark->done_ms - start->mark->done_ms);
  return result;
}

CUresult cuEventSynchronize(CUevent event)
{
  sftest_cuda_forbid_in_captures();
  SFTEST_CUDA_LOCK();
  sftest_mark_t *mark = event->mark;
  if (mark != NULL) {
    mark->holders++;
    while (!mark->done)
      pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
    sftest_mark_drop(mark);
  }
  CUresult result = sftest_cuda_sticky;
  return result;
}

CUresult cuEventDestroy(CUevent event)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_mark_drop(event->mark);
  pthread_mutex_unlock(&sftest_cuda_lock);
  free(event);
  return CUDA_SUCCESS;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_launched_fn_t sftest_cuda_launched;

int64_t sftest_cuda_launched(void)
{
  SFTEST_CUDA_LOCK();
  int64_t n = nlaunched;
  return n;
}
