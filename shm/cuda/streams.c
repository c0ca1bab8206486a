/* Work on the application's streams: see shm/device/device_streams.h. Nothing is waited for but in open, prepare and
 * close. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/host_calls.h"
#include "shm/cuda/internal.h"
#include "shm/device/device_streams.h"

#pragma weak cuStreamGetId /* so that the plugin can be loaded, and say that an older driver will not do */

struct sfshm_streams {
  sfshm_cuda_device_t view; /* of the device, with the stream that was chosen, and plans of its own */
  int32_t device;
  unsigned long long id; /* of the stream that was chosen: handles are used again, or mean another one in each thread */
  bool has_memops;
  unsigned flush; /* flag of memory operations that wait for words behind other devices' stores, if there is one */
  bool is_marked;
  CUevent tail;
  CUfunction await;
  sfshm_cuda_moves_t **moves; /* by number */
  int32_t nmoves;
  sfshm_cuda_calls_t calls;
};

static sf_status_t enter(const sfshm_streams_t *streams)
{
  return sfshm_cuda_status(cuCtxPushCurrent(streams->view.context), "cuCtxPushCurrent");
}

static sf_status_t leave(sf_status_t status)
{
  CUcontext context;
  cuCtxPopCurrent(&context);
  return status;
}

/* The same for what a driver forbids while streams are captured. */
static sf_status_t enter_relaxed(const sfshm_streams_t *streams)
{
  sf_status_t status = enter(streams);
  if (status == SF_OK)
    sfshm_cuda_relax();
  return status;
}

static sf_status_t leave_relaxed(sf_status_t status)
{
  sfshm_cuda_unrelax();
  return leave(status);
}

/* ---- Which device ------------------------------------------------------------------------------------------------ */

static bool is_default(CUstream stream)
{
  return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* What a graph of the driver's would be given words to wait for and to raise, the same whenever it is launched. */
static sf_status_t refuse_captured(CUstream stream)
{
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream == NULL || stream == CU_STREAM_LEGACY || cuStreamIsCapturing(stream, &capture) != CUDA_SUCCESS ||
      capture == CU_STREAM_CAPTURE_STATUS_NONE)
    return SF_OK;
  return sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the stream is being captured into a graph, where operations can't be");
}

/* The stream's context. *context_p: NULL for a default stream of nothing that is current. */
static sf_status_t context_of(CUstream stream, CUcontext *context_p)
{
  if (is_default(stream))
    return sfshm_cuda_status(cuCtxGetCurrent(context_p), "cuCtxGetCurrent");
  return sfshm_cuda_status(cuStreamGetCtx(stream, context_p), "cuStreamGetCtx");
}

static sf_status_t device_of(CUcontext context, int32_t *device_p)
{
  CUdevice device = 0;
  sf_status_t status = SF_OK;
  if (context != NULL) {
    status = sfshm_cuda_status(cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (status != SF_OK)
      return status;
    status = leave(sfshm_cuda_status(cuCtxGetDevice(&device), "cuCtxGetDevice"));
  }
  *device_p = device;
  return status;
}

/* A default stream: that of the queue's context. */
static sf_status_t find_id(const sfshm_streams_t *streams, CUstream stream, unsigned long long *id_p)
{
  sf_status_t status = enter(streams);
  return status == SF_OK ? leave(sfshm_cuda_status(cuStreamGetId(stream, id_p), "cuStreamGetId")) : status;
}

static sf_status_t choose(sfshm_streams_t *streams, void *stream)
{
  CUcontext context = NULL;
  unsigned long long id = 0;
  sf_status_t status = refuse_captured(stream);
  if (status == SF_OK)
    status = find_id(streams, stream, &id);
  if (status != SF_OK || (stream == streams->view.stream && id == streams->id))
    return status;
  status = context_of(stream, &context);
  if (status == SF_OK && context != streams->view.context && (context != NULL || !is_default(stream)))
    status = sfshm_error(SF_ERR_ARG, "CUDA: the stream is not of the primary context of device %d, as those before",
                         streams->device);
  if (status == SF_OK)
    status = enter(streams);
  if (status != SF_OK)
    return status;
  if (streams->is_marked)
    status = sfshm_cuda_status(cuStreamWaitEvent(stream, streams->tail, 0), "cuStreamWaitEvent");
  if (status == SF_OK) {
    streams->view.stream = stream;
    streams->id = id;
  }
  return leave(status);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Where devices may see stores of others later than a word that was set behind them. */
static unsigned flush_flag(int32_t number)
{
  CUdevice device;
  int can = 0;
  return cuDeviceGet(&device, number) == CUDA_SUCCESS &&
                 cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, device) == CUDA_SUCCESS && can
             ? CU_STREAM_WAIT_VALUE_FLUSH
             : 0;
}

/* The device has been entered. */
static sf_status_t fill_in(sfshm_streams_t *streams, const sfshm_cuda_device_t *device, bool use_memops)
{
  sfshm_cuda_device_t *view = &streams->view;
  view->is_open = true;
  view->number = streams->device;
  view->context = device->context;
  view->own_stream = device->own_stream;
  view->module = device->module;
  memcpy(view->one, device->one, sizeof view->one);
  memcpy(view->several, device->several, sizeof view->several);
  streams->has_memops = use_memops && device->has_memops;
  streams->await = device->await;
  streams->flush = flush_flag(streams->device);
  return sfshm_cuda_status(cuEventCreate(&streams->tail, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

static sf_status_t open_streams(void *stream, bool use_memops, sfshm_streams_t **streams_p)
{
  CUcontext context = NULL;
  sfshm_cuda_device_t *device;
  sfshm_streams_t *streams = calloc(1, sizeof *streams);
  if (streams == NULL)
    return sfshm_error(SF_ERR_NOMEM, "CUDA: streams of a graph");
  sf_status_t status = refuse_captured(stream);
  if (status == SF_OK)
    status = context_of(stream, &context);
  if (status == SF_OK)
    status = device_of(context, &streams->device);
  sfshm_cuda_lock();
  if (status == SF_OK)
    status = sfshm_cuda_enter(streams->device, &device);
  if (status == SF_OK) {
    if (context != NULL && context != device->context)
      status = sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the stream is not of its device's primary context");
    if (status == SF_OK)
      status = fill_in(streams, device, use_memops);
    if (status == SF_OK)
      status = sfshm_cuda_status(cuStreamGetId(stream, &streams->id), "cuStreamGetId");
    sfshm_cuda_leave();
  }
  sfshm_cuda_unlock();
  if (status == SF_OK) {
    streams->view.stream = stream;
    *streams_p = streams;
  } else {
    free(streams);
  }
  return status;
}

static void close_streams(sfshm_streams_t *streams)
{
  sfshm_cuda_lock();
  if (enter_relaxed(streams) == SF_OK) {
    sfshm_cuda_watch_close(&streams->view);
    sfshm_cuda_plans_drop(&streams->view.plans, NULL, SIZE_MAX, false);
    free(streams->view.plans.buckets);
    for (int32_t i = 0; i < streams->nmoves; i++)
      sfshm_cuda_moves_free(streams->moves[i]);
    cuEventDestroy(streams->tail);
    leave_relaxed(SF_OK);
  }
  sfshm_cuda_unlock();
  sfshm_cuda_calls_free(&streams->calls);
  free(streams->moves);
  free(streams);
}

static int32_t get_device(const sfshm_streams_t *streams)
{
  return streams->device;
}

/* A device that can flush may have to, which only memory operations do. */
static bool sees_peers(const sfshm_streams_t *streams)
{
  return streams->has_memops || streams->flush == 0;
}

/* One that can't flush may be out of order all the same. */
static bool sees_adapters(const sfshm_streams_t *streams)
{
  return (streams->has_memops && streams->flush != 0) || sfshm_cuda_sees_adapters(streams->device);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static sf_status_t pin(sfshm_streams_t *streams, void *address, size_t len_bytes, char **seen_at_p)
{
  CUdeviceptr seen_at = 0;
  sf_status_t status = enter_relaxed(streams);
  if (status != SF_OK)
    return status;
  status = sfshm_cuda_status(
      cuMemHostRegister(address, len_bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
      "pinning shared memory");
  if (status == SF_OK) {
    status = sfshm_cuda_status(cuMemHostGetDevicePointer(&seen_at, address, 0), "cuMemHostGetDevicePointer");
    if (status != SF_OK)
      cuMemHostUnregister(address);
  }
  *seen_at_p = (char *)(uintptr_t)seen_at;
  return leave_relaxed(status);
}

static void unpin(sfshm_streams_t *streams, void *address)
{
  if (enter_relaxed(streams) != SF_OK)
    return;
  cuMemHostUnregister(address);
  leave_relaxed(SF_OK);
}

static sf_status_t prepare(sfshm_streams_t *streams, const sfshm_pattern_t *pattern, bool is_target)
{
  sfshm_cuda_pattern_t device_pattern;
  sfshm_cuda_order_t order;
  if (pattern->n == 0)
    return SF_OK;
  sf_status_t status = enter_relaxed(streams);
  if (status != SF_OK)
    return status;
  status = sfshm_cuda_plan(&streams->view, pattern, &device_pattern);
  if (status == SF_OK && is_target)
    status = sfshm_cuda_plan_order(&streams->view, pattern, &order);
  return leave_relaxed(status);
}

static sf_status_t prepare_all(sfshm_streams_t *streams, const sfshm_move_t moves[], int32_t nmoves, int32_t *number_p)
{
  sfshm_cuda_moves_t **larger = realloc(streams->moves, ((size_t)streams->nmoves + 1) * sizeof(sfshm_cuda_moves_t *));
  if (larger == NULL)
    return sfshm_error(SF_ERR_NOMEM, "CUDA: moves on streams");
  streams->moves = larger;
  sf_status_t status = enter_relaxed(streams);
  if (status == SF_OK)
    status = leave_relaxed(sfshm_cuda_moves_make(&streams->view, moves, nmoves, &larger[streams->nmoves]));
  if (status == SF_OK)
    *number_p = streams->nmoves++;
  return status;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static sf_status_t scatter(sfshm_streams_t *streams, sfshm_unit_t unit, sfshm_op_t op, const sfshm_move_t *move)
{
  sfshm_cuda_job_t job = {.unit = unit,
                          .op = op,
                          .from_pattern = &move->from_pattern,
                          .from = move->from,
                          .to_pattern = &move->to_pattern,
                          .to = move->to,
                          .n = move->n,
                          .work = SFSHM_TRACE_WORK_WITHIN};
  sf_status_t status = move->n > 0 ? enter(streams) : SF_OK;
  return move->n > 0 && status == SF_OK ? leave(sfshm_cuda_launch_job(&streams->view, &job)) : status;
}

static sf_status_t scatter_all(sfshm_streams_t *streams, int32_t number, sfshm_unit_t unit, sfshm_op_t op, bool fetches,
                               const sfshm_move_t moves[], int32_t nmoves)
{
  sf_status_t status = enter(streams);
  return status == SF_OK ? leave(sfshm_cuda_moves_launch(&streams->view, streams->moves[number], unit, op,
                                                         fetches ? SFSHM_CUDA_FETCHES : 0, moves, nmoves))
                         : status;
}

static sf_status_t call_host(sfshm_streams_t *streams, void (*function)(void *argument), const void *argument,
                             size_t argument_bytes)
{
  sf_status_t status = enter(streams);
  if (status != SF_OK)
    return status;
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(&streams->view, SFSHM_TRACE_WORK_CALL, 0);
  status = sfshm_cuda_call(&streams->calls, streams->view.stream, function, argument, argument_bytes);
  if (status == SF_OK)
    sfshm_cuda_watch_end(&streams->view, piece);
  return leave(status);
}

typedef struct doorbell {
  _Atomic uint32_t *word;
  uint32_t value;
} doorbell_t;

static void ring(void *argument)
{
  const doorbell_t *doorbell = argument;
  atomic_store_explicit(doorbell->word, doorbell->value, memory_order_release);
}

static sf_status_t raise_word(sfshm_streams_t *streams, _Atomic uint32_t *word, char *seen_at, uint32_t value)
{
  doorbell_t doorbell = {word, value};
  sf_status_t status = enter(streams);
  if (status != SF_OK)
    return status;
  if (!streams->has_memops)
    return leave(sfshm_cuda_call(&streams->calls, streams->view.stream, ring, &doorbell, sizeof doorbell));
  CUresult result =
      cuStreamWriteValue32(streams->view.stream, (CUdeviceptr)(uintptr_t)seen_at, value, CU_STREAM_WRITE_VALUE_DEFAULT);
  return leave(sfshm_cuda_status(result, "cuStreamWriteValue32"));
}

static sf_status_t launch_await(const sfshm_streams_t *streams, const char *seen_at, uint32_t value)
{
  sfshm_cuda_one_t args = {.work.words = {{(uint32_t *)(uintptr_t)seen_at, value}}};
  void *parameters[] = {&args};
  return sfshm_cuda_status(cuLaunchKernel(streams->await, 1, 1, 1, 1, 1, 1, 0, streams->view.stream, parameters, NULL),
                           "launching a kernel that waits");
}

static sf_status_t await_word(sfshm_streams_t *streams, char *seen_at, uint32_t value, bool flush)
{
  sf_status_t status = enter(streams);
  if (status != SF_OK)
    return status;
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(&streams->view, SFSHM_TRACE_WORK_AWAIT, 0);
  if (streams->has_memops)
    status = sfshm_cuda_status(cuStreamWaitValue32(streams->view.stream, (CUdeviceptr)(uintptr_t)seen_at, value,
                                                   CU_STREAM_WAIT_VALUE_GEQ | (flush ? streams->flush : 0)),
                               "cuStreamWaitValue32");
  else
    status = launch_await(streams, seen_at, value);
  if (status == SF_OK)
    sfshm_cuda_watch_end(&streams->view, piece);
  return leave(status);
}

static void note(sfshm_streams_t *streams)
{
  if (enter(streams) != SF_OK)
    return;
  sfshm_cuda_watch_note(&streams->view);
  leave(SF_OK);
}

static sf_status_t mark(sfshm_streams_t *streams)
{
  sf_status_t status = enter(streams);
  if (status == SF_OK)
    status = leave(sfshm_cuda_status(cuEventRecord(streams->tail, streams->view.stream), "cuEventRecord"));
  streams->is_marked |= status == SF_OK;
  return status;
}

static sf_status_t is_idle(sfshm_streams_t *streams, bool *idle_p)
{
  sf_status_t status = enter_relaxed(streams);
  if (status != SF_OK)
    return status;
  CUresult result = cuEventQuery(streams->tail);
  sfshm_cuda_watch_tell(&streams->view);
  *idle_p = result != CUDA_ERROR_NOT_READY;
  return leave_relaxed(*idle_p ? sfshm_cuda_status(result, "work on streams") : SF_OK);
}

const sfshm_streams_ops_t sfshm_cuda_streams = {
    .open = open_streams,
    .close = close_streams,
    .device = get_device,
    .sees_peers = sees_peers,
    .sees_adapters = sees_adapters,
    .pin = pin,
    .unpin = unpin,
    .prepare = prepare,
    .choose = choose,
    .scatter = scatter,
    .prepare_all = prepare_all,
    .scatter_all = scatter_all,
    .raise = raise_word,
    .await = await_word,
    .call = call_host,
    .note = note,
    .mark = mark,
    .is_idle = is_idle,
};
