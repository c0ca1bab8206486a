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

/* The queue's own word `done` is raised behind each piece of work, or by it: then no event is needed for finding out
 * whether all is done, nor for other streams to wait for it. */
struct sfshm_streams {
  sfshm_cuda_device_t view; /* of the device, with the stream that was chosen, and plans of its own */
  int32_t device;
  unsigned long long id; /* of the stream that was chosen: handles are used again, or mean another one in each thread */
  int32_t number;        /* of the queue, among all of the process */
  sfshm_stream_word_t done;   /* with the value of the last one that has been given to a stream */
  _Atomic uint32_t given;     /* the same */
  _Atomic bool is_unmarked;   /* something has been given behind that */
  _Atomic int failed;         /* sf_status_t: it could not be marked */
  sfshm_cuda_moves_t **moves; /* by number */
  int32_t nmoves;
  sfshm_cuda_calls_t calls;
};

static bool is_taken[SFSHM_CUDA_QUEUES_MAX]; /* numbers of queues, under the lock */

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

/* ---- Words ------------------------------------------------------------------------------------------------------- */

/* The next value of `done`, to be given with what is given next. */
static sfshm_stream_word_t next_done(sfshm_streams_t *streams)
{
  atomic_store(&streams->is_unmarked, true);
  atomic_store(&streams->given, ++streams->done.value);
  return streams->done;
}

static bool is_done(const sfshm_streams_t *streams)
{
  uint32_t given = atomic_load(&streams->given);
  return !atomic_load(&streams->is_unmarked) &&
         (int32_t)(atomic_load_explicit(streams->done.word, memory_order_acquire) - given) >= 0;
}

/* ---- Which device ------------------------------------------------------------------------------------------------ */

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
  sf_status_t status = sfshm_cuda_refuse_captured(stream);
  if (status == SF_OK)
    status = find_id(streams, stream, &id);
  if (status != SF_OK || (stream == streams->view.stream && id == streams->id))
    return status;
  status = sfshm_cuda_context_of(stream, &context);
  if (status == SF_OK && context != streams->view.context && (context != NULL || !sfshm_cuda_is_default(stream)))
    status = sfshm_error(SF_ERR_ARG, "CUDA: the stream is not of the primary context of device %d, as those before",
                         streams->device);
  if (status == SF_OK)
    status = enter(streams);
  if (status != SF_OK)
    return status;
  CUstream before = streams->view.stream;
  streams->view.stream = stream;
  if (!is_done(streams))
    status = sfshm_cuda_words_await(&streams->view, &streams->done, 1);
  if (status == SF_OK)
    streams->id = id;
  else
    streams->view.stream = before;
  return leave(status);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* The device has been entered. */
static sf_status_t fill_in(sfshm_streams_t *streams, const sfshm_cuda_device_t *device, bool use_memops)
{
  sfshm_cuda_device_t *view = &streams->view;
  view->is_open = true;
  view->number = streams->device;
  view->context = device->context;
  view->own_stream = device->own_stream;
  view->module = device->module;
  view->await = device->await;
  memcpy(view->one, device->one, sizeof view->one);
  memcpy(view->several, device->several, sizeof view->several);
  view->has_memops = use_memops && device->has_memops;
  view->flush = sfshm_cuda_flush_flag(streams->device);
  while (streams->number < SFSHM_CUDA_QUEUES_MAX && is_taken[streams->number])
    streams->number++;
  if (streams->number == SFSHM_CUDA_QUEUES_MAX)
    return sfshm_error(SF_ERR_LIMIT, "CUDA: streams of more than %d graphs", SFSHM_CUDA_QUEUES_MAX);
  is_taken[streams->number] = true;
  streams->done.word = device->done + streams->number;
  streams->done.seen_at = (char *)(uintptr_t)device->seen_done + (size_t)streams->number * sizeof(uint32_t);
  streams->done.value = atomic_load(streams->done.word);
  atomic_store(&streams->given, streams->done.value);
  return SF_OK;
}

static sf_status_t open_streams(void *stream, bool use_memops, sfshm_streams_t **streams_p)
{
  CUcontext context = NULL;
  sfshm_cuda_device_t *device;
  sfshm_streams_t *streams = calloc(1, sizeof *streams);
  if (streams == NULL)
    return sfshm_error(SF_ERR_NOMEM, "CUDA: streams of a graph");
  sf_status_t status = sfshm_cuda_refuse_captured(stream);
  if (status == SF_OK)
    status = sfshm_cuda_context_of(stream, &context);
  if (status == SF_OK)
    status = sfshm_cuda_device_of_context(context, &streams->device);
  sfshm_cuda_lock();
  if (status == SF_OK)
    status = sfshm_cuda_enter(streams->device, &device);
  if (status == SF_OK) {
    if (context != NULL && context != device->context)
      status = sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the stream is not of its device's primary context");
    if (status == SF_OK)
      status = sfshm_cuda_status(cuStreamGetId(stream, &streams->id), "cuStreamGetId");
    if (status == SF_OK)
      status = fill_in(streams, device, use_memops);
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
    is_taken[streams->number] = false;
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
  return streams->view.has_memops || streams->view.flush == 0;
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

/* Before something is given that raises nothing. */
static sf_status_t enter_to_give(sfshm_streams_t *streams)
{
  sf_status_t status = enter(streams);
  if (status == SF_OK)
    atomic_store(&streams->is_unmarked, true);
  return status;
}

/* The device has been entered. `done` is raised, too, with the last words. */
static sf_status_t raise_entered(sfshm_streams_t *streams, const sfshm_stream_word_t words[], int32_t nwords)
{
  sfshm_stream_word_t last[SFSHM_CUDA_BATCH];
  int32_t n = nwords % SFSHM_CUDA_BATCH;
  sf_status_t status = sfshm_cuda_words_raise(&streams->view, &streams->calls, words, nwords - n);
  for (int32_t i = 0; i < n; i++)
    last[i] = words[nwords - n + i];
  last[n] = next_done(streams);
  if (status == SF_OK)
    status = sfshm_cuda_words_raise(&streams->view, &streams->calls, last, n + 1);
  if (status == SF_OK)
    atomic_store(&streams->is_unmarked, false);
  return status;
}

static sf_status_t raise_words(sfshm_streams_t *streams, const sfshm_stream_word_t words[], int32_t nwords)
{
  sf_status_t status = nwords > 0 ? enter_to_give(streams) : SF_OK;
  return nwords > 0 && status == SF_OK ? leave(raise_entered(streams, words, nwords)) : status;
}

static sf_status_t await_words(sfshm_streams_t *streams, const sfshm_stream_word_t words[], int32_t nwords)
{
  sf_status_t status = nwords > 0 ? enter_to_give(streams) : SF_OK;
  if (nwords == 0 || status != SF_OK)
    return status;
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(&streams->view, SFSHM_TRACE_WORK_AWAIT, 0);
  status = sfshm_cuda_words_await(&streams->view, words, nwords);
  if (status == SF_OK)
    sfshm_cuda_watch_end(&streams->view, piece);
  return leave(status);
}

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
  sf_status_t status = move->n > 0 ? enter_to_give(streams) : SF_OK;
  return move->n > 0 && status == SF_OK ? leave(sfshm_cuda_launch_job(&streams->view, &job)) : status;
}

/* The last kernel raises what it has room for, `done` included. */
static sf_status_t launch_moves(sfshm_streams_t *streams, const sfshm_cuda_moves_t *prepared, sfshm_unit_t unit,
                                sfshm_op_t op, bool fetches, const sfshm_move_t moves[], int32_t nmoves,
                                const sfshm_stream_word_t words[], int32_t nwords)
{
  sfshm_cuda_word_t raised[SFSHM_CUDA_WORDS_MAX];
  sfshm_cuda_launch_t launch = {.flags = fetches ? SFSHM_CUDA_FETCHES : 0, .words = raised, .queue = streams->number};
  bool fits = nwords < SFSHM_CUDA_WORDS_MAX;
  for (int32_t i = 0; i <= nwords && fits; i++) {
    sfshm_stream_word_t word = i < nwords ? words[i] : next_done(streams);
    raised[launch.nwords++] = (sfshm_cuda_word_t){(uint32_t *)(uintptr_t)word.seen_at, word.value};
  }
  sf_status_t status = sfshm_cuda_moves_launch(&streams->view, prepared, unit, op, moves, nmoves, &launch);
  if (status == SF_OK && !fits)
    return raise_entered(streams, words, nwords);
  if (status == SF_OK)
    atomic_store(&streams->is_unmarked, false);
  return status;
}

static sf_status_t scatter_all(sfshm_streams_t *streams, int32_t number, sfshm_unit_t unit, sfshm_op_t op, bool fetches,
                               const sfshm_move_t moves[], int32_t nmoves, const sfshm_stream_word_t words[],
                               int32_t nwords)
{
  bool has_work = false;
  for (int32_t i = 0; i < nmoves && !has_work; i++)
    has_work = moves[i].n > 0;
  if (!has_work)
    return raise_words(streams, words, nwords);
  sf_status_t status = enter_to_give(streams);
  return status == SF_OK
             ? leave(launch_moves(streams, streams->moves[number], unit, op, fetches, moves, nmoves, words, nwords))
             : status;
}

static sf_status_t call_host(sfshm_streams_t *streams, void (*function)(void *argument), const void *argument,
                             size_t argument_bytes)
{
  sf_status_t status = enter_to_give(streams);
  if (status != SF_OK)
    return status;
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(&streams->view, SFSHM_TRACE_WORK_CALL, 0);
  status = sfshm_cuda_call(&streams->calls, streams->view.stream, function, argument, argument_bytes);
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
  if (!atomic_load(&streams->is_unmarked))
    return SF_OK;
  sf_status_t status = enter(streams);
  if (status == SF_OK)
    status = leave(raise_entered(streams, NULL, 0));
  if (status != SF_OK)
    atomic_store(&streams->failed, status);
  return status;
}

/* A failure of the context is the answer to any question. */
static sf_status_t find_failure(const sfshm_streams_t *streams)
{
  sf_status_t status = (sf_status_t)atomic_load(&streams->failed);
  if (status != SF_OK)
    return sfshm_error(status, "CUDA: nothing can be given to a stream any more");
  CUresult result = cuStreamQuery(streams->view.own_stream);
  return result == CUDA_ERROR_NOT_READY ? SF_OK : sfshm_cuda_status(result, "work on streams");
}

static sf_status_t is_idle(sfshm_streams_t *streams, bool *idle_p)
{
  *idle_p = is_done(streams);
  if (*idle_p && atomic_load(&streams->view.watch) == NULL)
    return SF_OK;
  sf_status_t status = enter_relaxed(streams);
  if (status != SF_OK)
    return status;
  sfshm_cuda_watch_tell(&streams->view);
  return leave_relaxed(*idle_p ? SF_OK : find_failure(streams));
}

const sfshm_streams_ops_t sfshm_cuda_streams = {
    .open = open_streams,
    .close = close_streams,
    .device = get_device,
    .sees_peers = sees_peers,
    .pin = pin,
    .unpin = unpin,
    .prepare = prepare,
    .choose = choose,
    .scatter = scatter,
    .prepare_all = prepare_all,
    .scatter_all = scatter_all,
    .raise = raise_words,
    .await = await_words,
    .call = call_host,
    .note = note,
    .mark = mark,
    .is_idle = is_idle,
};
