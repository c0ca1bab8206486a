/* When devices do what they are told, for traces: see sfshm_device_ops_t. Around each piece of work lie two of the
 * driver's events, which are looked at when they have passed. Their times are the device's; on the clock of the host
 * they stand so that no piece begins before it was given, and none ends after it was seen to be done:
 *
 *   given ──┐                            ┌── seen
 *           ▼                            ▼
 *   ────────────[begin ▓▓▓▓▓▓▓ end]───────────▶ time
 *
 * The first piece of an idle device begins when it is given; every later one can only move the device's clock, within
 * these bounds. */
#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

#define PIECES 128       /* with their events fewer than a stream takes */
#define PAUSE_MS 1000.0F /* a driver's times are single-precision: behind a longer pause they start anew */

/* One piece of work, or a place in the order of all. */
struct sfshm_cuda_piece {
  CUevent begin;
  CUevent end;
  uint64_t given_ns;
  sfshm_trace_t *trace; /* NULL: nobody wants it any more */
  sfshm_trace_record_t record;
};

/* Of one stream at a time, so that pieces are done in their order. */
struct sfshm_cuda_watch {
  pthread_mutex_t lock;
  uint64_t ngiven; /* pieces, in all */
  uint64_t ntold;
  CUevent last;       /* end of the one told last */
  bool has_last;      /* it may be compared with */
  double last_ns;     /* on the device's clock, which begins anywhere */
  double offset_ns;   /* of the host's clock */
  uint64_t last_told; /* as it was told */
  struct sfshm_cuda_piece pieces[PIECES];
};

/* Whose work the thread gives to devices. */
static _Thread_local struct {
  sfshm_trace_t *trace;
  sfshm_trace_record_t record;
} watched;

void sfshm_cuda_watch(sfshm_trace_t *trace, const sfshm_trace_record_t *record)
{
  watched.trace = trace;
  if (trace != NULL)
    watched.record = *record;
}

/* ---- Giving ------------------------------------------------------------------------------------------------------ */

static sfshm_cuda_watch_t *watch_of(sfshm_cuda_device_t *device)
{
  sfshm_cuda_watch_t *watch = device->watch;
  if (watch == NULL && (watch = calloc(1, sizeof *watch)) != NULL) {
    pthread_mutex_init(&watch->lock, NULL);
    device->watch = watch; /* others look for what is done from now on */
  }
  return watch;
}

/* Made at first use. */
static bool need_event(CUevent *event)
{
  if (*event == NULL && cuEventCreate(event, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
    *event = NULL;
  return *event != NULL;
}

static bool has_events(sfshm_cuda_watch_t *watch, sfshm_cuda_piece_t *piece)
{
  return need_event(&watch->last) && need_event(&piece->begin) && need_event(&piece->end);
}

/* A place for the next piece, which is this thread's until it is given. NULL: too much is being watched. */
static sfshm_cuda_piece_t *take_piece(sfshm_cuda_watch_t *watch)
{
  pthread_mutex_lock(&watch->lock);
  sfshm_cuda_piece_t *piece = &watch->pieces[watch->ngiven % PIECES];
  if (watch->ngiven - watch->ntold == PIECES || !has_events(watch, piece))
    piece = NULL;
  pthread_mutex_unlock(&watch->lock);
  return piece;
}

sfshm_cuda_piece_t *sfshm_cuda_watch_begin(sfshm_cuda_device_t *device, sfshm_trace_work_t work, uint64_t bytes)
{
  if (__builtin_expect(watched.trace == NULL, true))
    return NULL;
  sfshm_cuda_watch_t *watch = watch_of(device);
  if (watch == NULL)
    return NULL;
  sfshm_cuda_watch_tell(device);
  sfshm_cuda_piece_t *piece = take_piece(watch);
  if (piece == NULL)
    return NULL;
  piece->trace = watched.trace;
  piece->record = watched.record;
  if (piece->record.kind == SFSHM_TRACE_DEVICE) {
    piece->record.message = piece->record.message != 0 ? piece->record.message : work;
    piece->record.bytes = bytes;
    piece->record.thread = (uint16_t)device->number;
  }
  piece->given_ns = sfshm_trace_now_ns();
  return cuEventRecord(piece->begin, device->stream) == CUDA_SUCCESS ? piece : NULL;
}

void sfshm_cuda_watch_end(sfshm_cuda_device_t *device, sfshm_cuda_piece_t *piece)
{
  sfshm_cuda_watch_t *watch = device->watch;
  if (piece == NULL || cuEventRecord(piece->end, device->stream) != CUDA_SUCCESS)
    return;
  pthread_mutex_lock(&watch->lock);
  watch->ngiven++;
  pthread_mutex_unlock(&watch->lock);
}

/* A failure of the device shows elsewhere. */
void sfshm_cuda_watch_note(sfshm_cuda_device_t *device)
{
  if (watched.trace == NULL)
    return;
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(device, SFSHM_TRACE_WORK_WITHIN, 0);
  if (piece != NULL) {
    sfshm_cuda_watch_end(device, piece);
    return;
  }
  sfshm_trace_record_t record = watched.record; /* more than can be looked at: it ends as it is given */
  record.end_ns = sfshm_trace_now_ns();
  sfshm_trace_write(watched.trace, &record);
}

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

/* That of all drivers: the one that newer headers call is not there in drivers a little older than these. */
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end);

/* Where begin and end are on the device's clock. */
static bool read_clock(const sfshm_cuda_watch_t *watch, const sfshm_cuda_piece_t *piece, double *begin_p, double *end_p,
                       bool *anew_p)
{
  float before_ms = 0, length_ms;
  if (cuEventElapsedTime(&length_ms, piece->begin, piece->end) != CUDA_SUCCESS)
    return false;
  *anew_p = !watch->has_last || cuEventElapsedTime(&before_ms, watch->last, piece->begin) != CUDA_SUCCESS ||
            before_ms > PAUSE_MS;
  *begin_p = *anew_p ? 0 : watch->last_ns + (double)before_ms * 1e6;
  *end_p = *begin_p + (double)length_ms * 1e6;
  return true;
}

static void place_on_host(sfshm_cuda_watch_t *watch, sfshm_cuda_piece_t *piece, uint64_t seen_ns)
{
  double begin_ns, end_ns;
  bool anew;
  if (!read_clock(watch, piece, &begin_ns, &end_ns, &anew))
    return;
  double least = (double)piece->given_ns - begin_ns, most = (double)seen_ns - end_ns;
  if (anew || watch->offset_ns < least)
    watch->offset_ns = least;
  if (watch->offset_ns > most)
    watch->offset_ns = most;
  uint64_t begin = (uint64_t)(begin_ns + watch->offset_ns), end = (uint64_t)(end_ns + watch->offset_ns);
  sfshm_trace_record_t *record = &piece->record;
  begin = begin > watch->last_told ? begin : watch->last_told; /* moving the clock turns nothing round */
  record->end_ns = end > begin ? end : begin;
  if (record->kind == SFSHM_TRACE_DEVICE)
    record->begin_ns = begin;
  watch->last_told = record->end_ns;
  watch->last_ns = end_ns;
  watch->has_last = true;
  CUevent last = watch->last;
  watch->last = piece->end;
  piece->end = last;
  if (piece->trace != NULL)
    sfshm_trace_write(piece->trace, record);
}

static void drop_all(sfshm_cuda_watch_t *watch)
{
  watch->ntold = watch->ngiven;
  watch->has_last = false;
}

/* If the device has failed, what it was told has no end. */
void sfshm_cuda_watch_tell(sfshm_cuda_device_t *device)
{
  sfshm_cuda_watch_t *watch = device->watch;
  if (watch == NULL)
    return;
  sfshm_cuda_relax();
  pthread_mutex_lock(&watch->lock);
  while (watch->ntold < watch->ngiven) {
    sfshm_cuda_piece_t *piece = &watch->pieces[watch->ntold % PIECES];
    CUresult result = cuEventQuery(piece->end);
    if (result == CUDA_ERROR_NOT_READY)
      break;
    if (result != CUDA_SUCCESS) {
      drop_all(watch);
      break;
    }
    place_on_host(watch, piece, sfshm_trace_now_ns());
    watch->ntold++;
  }
  pthread_mutex_unlock(&watch->lock);
  sfshm_cuda_unrelax();
}

void sfshm_cuda_watch_drop(sfshm_cuda_device_t *device, const sfshm_trace_t *trace)
{
  sfshm_cuda_watch_t *watch = device->watch;
  if (watch == NULL)
    return;
  pthread_mutex_lock(&watch->lock);
  for (uint64_t i = watch->ntold; i < watch->ngiven; i++)
    if (watch->pieces[i % PIECES].trace == trace)
      watch->pieces[i % PIECES].trace = NULL;
  pthread_mutex_unlock(&watch->lock);
}

static void destroy_event(CUevent event)
{
  if (event != NULL)
    cuEventDestroy(event);
}

void sfshm_cuda_watch_close(sfshm_cuda_device_t *device)
{
  sfshm_cuda_watch_t *watch = device->watch;
  if (watch == NULL)
    return;
  sfshm_cuda_watch_tell(device);
  for (int i = 0; i < PIECES; i++) {
    destroy_event(watch->pieces[i].begin);
    destroy_event(watch->pieces[i].end);
  }
  destroy_event(watch->last);
  pthread_mutex_destroy(&watch->lock);
  free(watch);
  device->watch = NULL;
}
