/* Jobs from any memory to any other, for the kernels of the plugin (kernel_tables.c). What does not lie on one device
 * goes through pinned memory in two halves, one of which the host fills or empties while the device works on the other.
 * Under the plugin's lock. */
#include "shm/base/error.h"
#include "shm/cuda/internal.h"

typedef sfshm_cuda_job_t job_t;

/* ---- Through pinned memory --------------------------------------------------------------------------------------- */

static void run_on_host(const job_t *job)
{
  sfshm_kernels_find(job->unit, job->op)
      ->scatter(job->unit, job->from_pattern, job->from_bias, job->from, job->to_pattern, job->to, job->first, job->n);
}

/* Jobs of one unit and op, of which some are done. */
typedef struct cursor {
  const job_t *jobs;
  int32_t njobs;
  int64_t done; /* of the first one */
  size_t unit_bytes;
} cursor_t;

/* What of them fits into a half: parts of jobs from their sources to the half, and from there to their targets. */
typedef struct chunk {
  int32_t n;
  size_t bytes;
  job_t in[SFSHM_CUDA_SETS_MAX];
  job_t out[SFSHM_CUDA_SETS_MAX];
  sfshm_pattern_t packed[SFSHM_CUDA_SETS_MAX];
} chunk_t;

static void add_part(const job_t *job, int64_t first, int64_t n, chunk_t *chunk)
{
  job_t *in = &chunk->in[chunk->n], *out = &chunk->out[chunk->n];
  sfshm_pattern_t *packed = &chunk->packed[chunk->n++];
  *packed = sfshm_cuda_packed_from(first, n);
  *in = *out = *job;
  in->first = out->first = first;
  in->n = out->n = n;
  in->op = SFSHM_OP_REPLACE;
  in->unordered = false;
  in->to_pattern = out->from_pattern = packed;
  out->from_bias = 0;
  in->work = SFSHM_TRACE_WORK_TO_HOST;
  out->work = SFSHM_TRACE_WORK_FROM_HOST;
}

/* Takes the next chunk; one without bytes: all is done. */
static void take_chunk(cursor_t *cursor, chunk_t *chunk)
{
  size_t unit_bytes = cursor->unit_bytes;
  chunk->n = 0;
  chunk->bytes = 0;
  while (cursor->njobs > 0 && chunk->n < SFSHM_CUDA_SETS_MAX && SFSHM_CUDA_BOUNCE_BYTES - chunk->bytes >= unit_bytes) {
    const job_t *job = cursor->jobs;
    int64_t room = (int64_t)((SFSHM_CUDA_BOUNCE_BYTES - chunk->bytes) / unit_bytes), n = job->n - cursor->done;
    if (n > room)
      n = room;
    if (n > 0)
      add_part(job, job->first + cursor->done, n, chunk);
    chunk->bytes += (size_t)n * unit_bytes;
    cursor->done += n;
    if (cursor->done == job->n)
      *cursor = (cursor_t){cursor->jobs + 1, cursor->njobs - 1, 0, unit_bytes};
  }
}

/* Says where the half is. */
static void place(chunk_t *chunk, char *half)
{
  for (int32_t i = 0; i < chunk->n; i++) {
    chunk->in[i].to = half;
    chunk->out[i].from = half;
    half += (size_t)chunk->in[i].n * sfshm_unit_size(chunk->in[i].unit);
  }
}

static sf_status_t reserve(sfshm_cuda_device_t *device, chunk_t *chunk)
{
  char *half;
  sf_status_t status = sfshm_cuda_reserve(device, chunk->bytes, &half);
  place(chunk, half);
  return status;
}

/* Tells the device to pack a chunk into pinned memory. */
static sf_status_t begin_fetch(sfshm_cuda_device_t *device, cursor_t *cursor, int half, chunk_t *chunk)
{
  take_chunk(cursor, chunk);
  if (chunk->bytes == 0)
    return SF_OK;
  sf_status_t status = reserve(device, chunk);
  if (status == SF_OK)
    status = sfshm_cuda_launch(device, &(sfshm_cuda_launch_t){.jobs = chunk->in, .njobs = chunk->n});
  return status == SF_OK ? sfshm_cuda_status(cuEventRecord(device->fetched[half], device->stream), "cuEventRecord")
                         : status;
}

static sf_status_t device_to_host(sfshm_cuda_device_t *device, const job_t jobs[], int32_t njobs)
{
  cursor_t cursor = {jobs, njobs, 0, sfshm_unit_size(jobs[0].unit)};
  chunk_t chunks[SFSHM_CUDA_HALVES];
  int half = 0;
  sf_status_t status = begin_fetch(device, &cursor, half, &chunks[half]);
  while (status == SF_OK && chunks[half].bytes > 0) {
    status = begin_fetch(device, &cursor, !half, &chunks[!half]);
    if (status == SF_OK)
      status = sfshm_cuda_status(cuEventSynchronize(device->fetched[half]), "waiting for a kernel");
    for (int32_t i = 0; i < chunks[half].n && status == SF_OK; i++)
      run_on_host(&chunks[half].out[i]);
    half = !half;
  }
  return status;
}

/* Nobody waits for the last chunks here. */
static sf_status_t host_to_device(sfshm_cuda_device_t *device, const job_t jobs[], int32_t njobs)
{
  cursor_t cursor = {jobs, njobs, 0, sfshm_unit_size(jobs[0].unit)};
  chunk_t chunk;
  sf_status_t status = SF_OK;
  for (take_chunk(&cursor, &chunk); chunk.bytes > 0 && status == SF_OK; take_chunk(&cursor, &chunk)) {
    status = reserve(device, &chunk);
    for (int32_t i = 0; i < chunk.n && status == SF_OK; i++) {
      run_on_host(&chunk.in[i]);
      status = sfshm_cuda_launch_job(device, &chunk.out[i]);
    }
  }
  return status;
}

/* ---- Which way --------------------------------------------------------------------------------------------------- */

static sf_status_t within_device(sfshm_cuda_device_t *device, const job_t jobs[], int32_t njobs)
{
  job_t job = jobs[0];
  (void)njobs;
  job.work = SFSHM_TRACE_WORK_WITHIN;
  return sfshm_cuda_launch_job(device, &job);
}

static sf_status_t run_on_device(int32_t number, const job_t jobs[], int32_t njobs,
                                 sf_status_t (*way)(sfshm_cuda_device_t *device, const job_t jobs[], int32_t njobs))
{
  sfshm_cuda_device_t *device;
  sf_status_t status = sfshm_cuda_enter(number, &device);
  if (status != SF_OK)
    return status;
  status = way(device, jobs, njobs);
  sfshm_cuda_leave();
  return status;
}

/* From one device to another, chunk by chunk, each of them using its own half. */
static sf_status_t between_devices(int32_t from, int32_t to, const job_t *job)
{
  static char packed_units[SFSHM_CUDA_BOUNCE_BYTES]; /* under the lock */
  cursor_t cursor = {job, 1, 0, sfshm_unit_size(job->unit)};
  chunk_t chunk;
  sf_status_t status = SF_OK;
  for (take_chunk(&cursor, &chunk); chunk.bytes > 0 && status == SF_OK; take_chunk(&cursor, &chunk)) {
    place(&chunk, packed_units);
    status = run_on_device(from, chunk.in, chunk.n, device_to_host);
    if (status == SF_OK)
      status = run_on_device(to, chunk.out, chunk.n, host_to_device);
  }
  return status;
}

/* A kernel of the target's device reads the other one's memory. */
static sf_status_t across_devices(int32_t from, int32_t to, const job_t *job)
{
  sfshm_cuda_device_t *device;
  sf_status_t status = sfshm_cuda_enter(to, &device);
  if (status != SF_OK)
    return status;
  status = sfshm_cuda_join(from);
  job_t across = *job;
  across.work = SFSHM_TRACE_WORK_FROM_DEVICE;
  if (status == SF_OK)
    status = sfshm_cuda_launch_job(device, &across);
  sfshm_cuda_leave();
  return status;
}

/* Whether kernels of the device may read that memory: its own, or that of a peer which this process has allocated. */
static bool is_direct(const job_t *job, int32_t from, int32_t to)
{
  return (from == to || sfshm_cuda_owner_of(job->from) >= 0) && sfshm_cuda_reaches(to, from);
}

/* Whether the driver is to copy, who needs no access to do so. */
static bool is_for_driver(const job_t *job, const sfshm_cuda_block_t *block, int32_t from, int32_t to)
{
  return block->bytes >= SFSHM_CUDA_COPY_BYTES || (block->bytes > 0 && !is_direct(job, from, to));
}

static sf_status_t run_job(const job_t *job)
{
  int32_t from = sfshm_cuda_device_of(job->from), to = sfshm_cuda_device_of(job->to);
  if (from >= 0 && to >= 0) {
    sfshm_cuda_block_t block = sfshm_cuda_block_of(job);
    if (is_for_driver(job, &block, from, to))
      return sfshm_cuda_copy_over(from, block.from, to, block.to, block.bytes);
  }
  if (from >= 0 && to >= 0 && is_direct(job, from, to))
    return from == to ? run_on_device(to, job, 1, within_device) : across_devices(from, to, job);
  if (from >= 0 && to >= 0)
    return between_devices(from, to, job);
  if (from >= 0)
    return run_on_device(from, job, 1, device_to_host);
  if (to >= 0)
    return run_on_device(to, job, 1, host_to_device);
  run_on_host(job);
  return SF_OK;
}

/* Units that don't fit into a half go element by element range. */
static sf_status_t run_large_units(const job_t *job)
{
  static const sfshm_pattern_t one = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 1, .stride = 1};
  size_t unit_bytes = sfshm_unit_size(job->unit), base_bytes = sfshm_base_size(job->unit.base);
  int64_t most = (int64_t)(SFSHM_CUDA_BOUNCE_BYTES / base_bytes);
  sf_status_t status = SF_OK;
  for (int64_t i = job->first; i < job->first + job->n; i++)
    for (int64_t done = 0, n; done < job->unit.count && status == SF_OK; done += n) {
      size_t offset = (size_t)done * base_bytes;
      n = job->unit.count - done < most ? job->unit.count - done : most;
      job_t part = {.unit = {job->unit.base, n}, .op = job->op, .from_pattern = &one, .to_pattern = &one, .n = 1};
      part.from = job->from + (sfshm_pattern_at(job->from_pattern, i) - job->from_bias) * (int64_t)unit_bytes + offset;
      part.to = job->to + sfshm_pattern_at(job->to_pattern, i) * (int64_t)unit_bytes + offset;
      status = run_job(&part);
    }
  return status;
}

/* With the lock held. Units that don't fit into a half go element by element. */
static sf_status_t run_any(const job_t *job)
{
  return sfshm_unit_size(job->unit) <= SFSHM_CUDA_BOUNCE_BYTES ? run_job(job) : run_large_units(job);
}

void sfshm_cuda_run(const job_t *job)
{
  if (job->n <= 0)
    return;
  sfshm_cuda_lock();
  sf_status_t status = run_any(job);
  if (status != SF_OK)
    sfshm_cuda_fail(status);
  sfshm_cuda_unlock();
}

/* At most SFSHM_CUDA_SETS_MAX patterns. */
static sf_status_t gather_some(sfshm_unit_t unit, const sfshm_pattern_t *const patterns[], int32_t npatterns,
                               const char *array, char **packed)
{
  job_t jobs[SFSHM_CUDA_SETS_MAX];
  sfshm_pattern_t all[SFSHM_CUDA_SETS_MAX];
  size_t unit_bytes = sfshm_unit_size(unit);
  int32_t device = sfshm_cuda_device_of(array);
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < npatterns; i++) {
    all[i] = sfshm_pattern_contiguous(0, patterns[i]->n);
    jobs[i] = (job_t){.unit = unit,
                      .op = SFSHM_OP_REPLACE,
                      .from_pattern = patterns[i],
                      .from = array,
                      .to_pattern = &all[i],
                      .to = *packed,
                      .n = patterns[i]->n};
    *packed += (size_t)patterns[i]->n * unit_bytes;
  }
  if (device >= 0 && unit_bytes <= SFSHM_CUDA_BOUNCE_BYTES)
    return run_on_device(device, jobs, npatterns, device_to_host);
  for (int32_t i = 0; i < npatterns && status == SF_OK; i++)
    status = run_any(&jobs[i]);
  return status;
}

void sfshm_cuda_gather(sfshm_unit_t unit, const sfshm_pattern_t *const patterns[], int32_t npatterns, const void *array,
                       void *packed)
{
  sf_status_t status = SF_OK;
  char *to = packed;
  sfshm_cuda_lock();
  for (int32_t i = 0, n; i < npatterns && status == SF_OK; i += n) {
    n = npatterns - i < SFSHM_CUDA_SETS_MAX ? npatterns - i : SFSHM_CUDA_SETS_MAX;
    status = gather_some(unit, &patterns[i], n, array, &to);
  }
  if (status != SF_OK)
    sfshm_cuda_fail(status);
  sfshm_cuda_unlock();
}
