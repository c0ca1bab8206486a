/* The kernels of the plugin: from any memory to any other. What does not lie on one device goes through pinned memory
 * in two halves, one of which the host fills or empties while the device works on the other. */
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"
#include "shm/cuda/job.h"

#define BLOCK_THREADS 256
#define MAX_BLOCKS 65535

typedef sfshm_cuda_job_t job_t;

sfshm_cuda_element_t sfshm_cuda_widest(uintptr_t bits, size_t *size_bytes_p)
{
  sfshm_cuda_element_t element = SFSHM_CUDA_1;
  while (element < SFSHM_CUDA_16 && (bits >> element & 1) == 0)
    element++;
  *size_bytes_p = (size_t)1 << element;
  return element;
}

/* Arithmetic needs addresses that are aligned as the base type's members are, as every device allocation is. */
static size_t alignment_of(sfshm_base_t base)
{
  switch (base) {
#define PAIR(name, value_type, index_type, text)                                                                       \
  case SFSHM_BASE_##name:                                                                                              \
    return _Alignof(sfshm_##name##_t);
    SFSHM_PAIR_TABLE(PAIR)
#undef PAIR
  case SFSHM_BASE_FLOAT_COMPLEX:
  case SFSHM_BASE_DOUBLE_COMPLEX:
    return sfshm_base_size(base) / 2;
  default:
    return sfshm_base_size(base);
  }
}

/* Moves take the widest elements to which size and addresses are aligned. */
sf_status_t sfshm_cuda_choose_element(sfshm_unit_t unit, sfshm_op_t op, uintptr_t bits, sfshm_cuda_element_t *element_p,
                                      int64_t *count_p)
{
  static const sfshm_cuda_element_t by_base[SFSHM_BASE_COUNT] = {[SFSHM_BASE_INT8] = SFSHM_CUDA_i8,
                                                                 [SFSHM_BASE_UINT8] = SFSHM_CUDA_u8,
                                                                 [SFSHM_BASE_INT16] = SFSHM_CUDA_i16,
                                                                 [SFSHM_BASE_UINT16] = SFSHM_CUDA_u16,
                                                                 [SFSHM_BASE_INT32] = SFSHM_CUDA_i32,
                                                                 [SFSHM_BASE_UINT32] = SFSHM_CUDA_u32,
                                                                 [SFSHM_BASE_INT64] = SFSHM_CUDA_i64,
                                                                 [SFSHM_BASE_UINT64] = SFSHM_CUDA_u64,
                                                                 [SFSHM_BASE_FLOAT] = SFSHM_CUDA_f32,
                                                                 [SFSHM_BASE_DOUBLE] = SFSHM_CUDA_f64,
                                                                 [SFSHM_BASE_FLOAT_COMPLEX] = SFSHM_CUDA_c32,
                                                                 [SFSHM_BASE_DOUBLE_COMPLEX] = SFSHM_CUDA_c64,
#define PAIR(name, value_type, index_type, text) [SFSHM_BASE_##name] = SFSHM_CUDA_##name,
                                                                 SFSHM_PAIR_TABLE(PAIR)
#undef PAIR
  };
  if (op != SFSHM_OP_REPLACE) {
    *count_p = unit.count;
    *element_p = by_base[unit.base];
    return (bits & (alignment_of(unit.base) - 1)) == 0
               ? SF_OK
               : sfshm_error(SF_ERR_ARG, "CUDA: a buffer is not aligned to %s", sfshm_base_name(unit.base));
  }
  size_t size_bytes;
  *element_p = sfshm_cuda_widest(bits | sfshm_unit_size(unit), &size_bytes);
  *count_p = (int64_t)(sfshm_unit_size(unit) / size_bytes);
  return SF_OK;
}

sf_status_t sfshm_cuda_start(sfshm_cuda_device_t *device, CUfunction kernel, int64_t nthreads, void *args)
{
  int64_t nblocks = (nthreads + BLOCK_THREADS - 1) / BLOCK_THREADS;
  void *parameters[] = {args};
  device->is_busy = true;
  return sfshm_cuda_status(cuLaunchKernel(kernel, (unsigned)(nblocks < MAX_BLOCKS ? nblocks : MAX_BLOCKS), 1, 1,
                                          BLOCK_THREADS, 1, 1, 0, device->stream, parameters, NULL),
                           "launching a kernel");
}

/* NULL: contributions to a vertex have to be combined in their order. */
static CUfunction find_atomics(const sfshm_cuda_device_t *device, const job_t *job, sfshm_cuda_element_t element)
{
  bool real = element == SFSHM_CUDA_f32 || element == SFSHM_CUDA_f64;
  bool has = job->op == SFSHM_OP_SUM || (!real && (job->op == SFSHM_OP_MAX || job->op == SFSHM_OP_MIN));
  return job->unordered && has ? device->atomics[element] : NULL;
}

/* Tells the device to run the kernel, and to say when it does. */
static sf_status_t start(sfshm_cuda_device_t *device, const job_t *job, CUfunction kernel, int64_t nthreads,
                         sfshm_cuda_scatter_t *args)
{
  uint64_t bytes = (uint64_t)job->n * sfshm_unit_size(job->unit);
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(device, job->work, bytes);
  sf_status_t status = sfshm_cuda_start(device, kernel, nthreads, args);
  if (status == SF_OK)
    sfshm_cuda_watch_end(device, piece);
  return status;
}

static sfshm_cuda_block_t block_of(const job_t *job)
{
  return sfshm_cuda_block_of(job->unit, job->op, job->from_pattern, job->from_bias, job->from, job->to_pattern, job->to,
                             job->first, job->n);
}

/* Units don't matter then. */
static sf_status_t launch_block(sfshm_cuda_device_t *device, const job_t *job, const sfshm_cuda_block_t *block)
{
  const sfshm_cuda_pattern_t all = {.kind = SFSHM_CUDA_STRIDED, .stride = 1};
  size_t size_bytes;
  sfshm_cuda_element_t element =
      sfshm_cuda_widest((uintptr_t)block->from | (uintptr_t)block->to | block->bytes, &size_bytes);
  sfshm_cuda_scatter_t args = {.from = block->from,
                               .to = block->to,
                               .from_pattern = all,
                               .to_pattern = all,
                               .n = (int64_t)(block->bytes / size_bytes),
                               .count = 1,
                               .op = SFSHM_OP_REPLACE};
  return start(device, job, device->scatter[element], args.n, &args);
}

/* All memory of the job can be reached by the device. */
static sf_status_t launch(sfshm_cuda_device_t *device, const job_t *job)
{
  sfshm_cuda_scatter_t args = {
      .from = job->from, .to = job->to, .from_bias = job->from_bias, .first = job->first, .n = job->n, .op = job->op};
  sfshm_cuda_plan_t *from_plan, *to_plan;
  sfshm_cuda_element_t element;
  sfshm_cuda_block_t block = block_of(job);
  if (block.bytes > 0)
    return launch_block(device, job, &block);
  sf_status_t status =
      sfshm_cuda_choose_element(job->unit, job->op, (uintptr_t)job->from | (uintptr_t)job->to, &element, &args.count);
  if (status == SF_OK)
    status = sfshm_cuda_plan(device, job->from_pattern, &args.from_pattern, &from_plan);
  if (status == SF_OK)
    status = sfshm_cuda_plan(device, job->to_pattern, &args.to_pattern, &to_plan);
  if (status == SF_OK && to_plan != NULL)
    status = sfshm_cuda_plan_order(device, to_plan, job->to_pattern);
  if (status != SF_OK)
    return status;
  bool ordered = to_plan != NULL && to_plan->ordered;
  int64_t nthreads = args.n * args.count;
  CUfunction atomics = ordered ? find_atomics(device, job, element) : NULL;
  if (atomics != NULL)
    return start(device, job, atomics, nthreads, &args);
  if (ordered) {
    args.order = (const int64_t *)(uintptr_t)to_plan->order;
    args.begin = (const int64_t *)(uintptr_t)to_plan->begin;
    args.nvertices = to_plan->nvertices;
    nthreads = args.nvertices * args.count;
  }
  return start(device, job, ordered ? device->ordered[element] : device->scatter[element], nthreads, &args);
}

/* ---- Through pinned memory --------------------------------------------------------------------------------------- */

static void run_on_host(const job_t *job)
{
  sfshm_kernels_find(job->unit, job->op)
      ->scatter(job->unit, job->from_pattern, job->from_bias, job->from, job->to_pattern, job->to, job->first, job->n);
}

/* The part of the job that is the chunk's, from its source to a half. */
static job_t to_half(const job_t *job, int64_t first, int64_t n, const sfshm_pattern_t *packed, char *half)
{
  return (job_t){.unit = job->unit,
                 .op = SFSHM_OP_REPLACE,
                 .from_pattern = job->from_pattern,
                 .from_bias = job->from_bias,
                 .from = job->from,
                 .to_pattern = packed,
                 .to = half,
                 .first = first,
                 .n = n,
                 .work = SFSHM_TRACE_WORK_TO_HOST};
}

/* And from there to its target. */
static job_t from_half(const job_t *job, int64_t first, int64_t n, const sfshm_pattern_t *packed, const char *half)
{
  return (job_t){.unit = job->unit,
                 .unordered = job->unordered,
                 .op = job->op,
                 .from_pattern = packed,
                 .from = half,
                 .to_pattern = job->to_pattern,
                 .to = job->to,
                 .first = first,
                 .n = n,
                 .work = SFSHM_TRACE_WORK_FROM_HOST};
}

static int64_t chunk_units(const job_t *job)
{
  return (int64_t)(SFSHM_CUDA_BOUNCE_BYTES / sfshm_unit_size(job->unit));
}

static int64_t chunk_at(const job_t *job, int64_t done)
{
  int64_t some = chunk_units(job);
  return some < job->n - done ? some : job->n - done;
}

/* Tells the device to pack a chunk into pinned memory. */
static sf_status_t begin_fetch(sfshm_cuda_device_t *device, const job_t *job, int64_t done, int half, char **chunk_p)
{
  int64_t n = chunk_at(job, done), first = job->first + done;
  sfshm_pattern_t packed = sfshm_cuda_packed_from(first, n);
  sf_status_t status = sfshm_cuda_reserve(device, (size_t)n * sfshm_unit_size(job->unit), chunk_p);
  job_t part = to_half(job, first, n, &packed, *chunk_p);
  if (status == SF_OK)
    status = launch(device, &part);
  return status == SF_OK ? sfshm_cuda_status(cuEventRecord(device->fetched[half], device->stream), "cuEventRecord")
                         : status;
}

static sf_status_t device_to_host(sfshm_cuda_device_t *device, const job_t *job)
{
  char *chunks[SFSHM_CUDA_HALVES];
  int half = 0;
  sf_status_t status = begin_fetch(device, job, 0, half, &chunks[half]);
  for (int64_t done = 0, n; done < job->n && status == SF_OK; done += n, half = !half) {
    int64_t first = job->first + done;
    n = chunk_at(job, done);
    if (done + n < job->n)
      status = begin_fetch(device, job, done + n, !half, &chunks[!half]);
    if (status == SF_OK)
      status = sfshm_cuda_status(cuEventSynchronize(device->fetched[half]), "waiting for a kernel");
    sfshm_pattern_t packed = sfshm_cuda_packed_from(first, n);
    job_t part = from_half(job, first, n, &packed, chunks[half]);
    if (status == SF_OK)
      run_on_host(&part);
  }
  return status;
}

/* Nobody waits for the last chunks here. */
static sf_status_t host_to_device(sfshm_cuda_device_t *device, const job_t *job)
{
  char *chunk;
  sf_status_t status = SF_OK;
  for (int64_t done = 0, n; done < job->n && status == SF_OK; done += n) {
    int64_t first = job->first + done;
    n = chunk_at(job, done);
    sfshm_pattern_t packed = sfshm_cuda_packed_from(first, n);
    status = sfshm_cuda_reserve(device, (size_t)n * sfshm_unit_size(job->unit), &chunk);
    job_t fill = to_half(job, first, n, &packed, chunk), use = from_half(job, first, n, &packed, chunk);
    if (status != SF_OK)
      break;
    run_on_host(&fill);
    status = launch(device, &use);
  }
  return status;
}

/* ---- Which way --------------------------------------------------------------------------------------------------- */

static sf_status_t run_on_device(int32_t number, const job_t *job,
                                 sf_status_t (*way)(sfshm_cuda_device_t *device, const job_t *job))
{
  sfshm_cuda_device_t *device;
  sf_status_t status = sfshm_cuda_enter(number, &device);
  if (status != SF_OK)
    return status;
  status = way(device, job);
  sfshm_cuda_leave();
  return status;
}

/* From one device to another, chunk by chunk, each of them using its own half. */
static sf_status_t between_devices(int32_t from, int32_t to, const job_t *job)
{
  static char packed_units[SFSHM_CUDA_BOUNCE_BYTES]; /* under the lock */
  sf_status_t status = SF_OK;
  for (int64_t done = 0, n; done < job->n && status == SF_OK; done += n) {
    int64_t first = job->first + done;
    n = chunk_at(job, done);
    sfshm_pattern_t packed = sfshm_cuda_packed_from(first, n);
    job_t fetch = to_half(job, first, n, &packed, packed_units), use = from_half(job, first, n, &packed, packed_units);
    status = run_on_device(from, &fetch, device_to_host);
    if (status == SF_OK)
      status = run_on_device(to, &use, host_to_device);
  }
  return status;
}

static sf_status_t launch_within(sfshm_cuda_device_t *device, const job_t *job)
{
  job_t within = *job;
  within.work = SFSHM_TRACE_WORK_WITHIN;
  return launch(device, &within);
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
    status = launch(device, &across);
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
    sfshm_cuda_block_t block = block_of(job);
    if (is_for_driver(job, &block, from, to))
      return sfshm_cuda_copy_over(from, block.from, to, block.to, block.bytes);
  }
  if (from >= 0 && to >= 0 && is_direct(job, from, to))
    return from == to ? run_on_device(to, job, launch_within) : across_devices(from, to, job);
  if (from >= 0 && to >= 0)
    return between_devices(from, to, job);
  if (from >= 0)
    return run_on_device(from, job, device_to_host);
  if (to >= 0)
    return run_on_device(to, job, host_to_device);
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

void sfshm_cuda_run(const job_t *job)
{
  if (job->n <= 0)
    return;
  sfshm_cuda_lock();
  sf_status_t status = chunk_units(job) > 0 ? run_job(job) : run_large_units(job);
  if (status != SF_OK)
    sfshm_cuda_fail(status);
  sfshm_cuda_unlock();
}

sf_status_t sfshm_cuda_scatter_on(sfshm_cuda_device_t *device, sfshm_unit_t unit, sfshm_op_t op,
                                  const sfshm_pattern_t *from_pattern, int64_t from_bias, const void *from,
                                  const sfshm_pattern_t *to_pattern, void *to, int64_t first, int64_t n)
{
  job_t job = {.unit = unit,
               .op = op,
               .from_pattern = from_pattern,
               .from_bias = from_bias,
               .from = from,
               .to_pattern = to_pattern,
               .to = to,
               .first = first,
               .n = n,
               .work = SFSHM_TRACE_WORK_WITHIN};
  return launch(device, &job);
}
