/* Launching the kernels of the plugin, all of them here, for jobs whose memory the device reaches: see kernels.h. */
#include "shm/base/error.h"
#include "shm/cuda/internal.h"

#define BLOCK_THREADS 256
#define MAX_BLOCKS 65535

typedef sfshm_cuda_job_t job_t;

static sfshm_cuda_element_t widest(uintptr_t bits, size_t *size_bytes_p)
{
  sfshm_cuda_element_t element = SFSHM_CUDA_1;
  while (element < SFSHM_CUDA_16 && (bits >> element & 1) == 0)
    element++;
  *size_bytes_p = (size_t)1 << element;
  return element;
}

/* Moves take the widest elements to which size and addresses are aligned. */
static sf_status_t choose_element(sfshm_unit_t unit, sfshm_op_t op, uintptr_t bits, sfshm_cuda_element_t *element_p,
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
    return (bits & (sfshm_base_alignment(unit.base) - 1)) == 0
               ? SF_OK
               : sfshm_error(SF_ERR_ARG, "CUDA: a buffer is not aligned to %s", sfshm_base_name(unit.base));
  }
  size_t size_bytes;
  *element_p = widest(bits | sfshm_unit_size(unit), &size_bytes);
  *count_p = (int64_t)(sfshm_unit_size(unit) / size_bytes);
  return SF_OK;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static bool overlaps(const sfshm_cuda_block_t *block)
{
  return block->from < block->to + block->bytes && block->to < block->from + block->bytes;
}

sfshm_cuda_block_t sfshm_cuda_block_of(const job_t *job)
{
  int64_t unit_bytes = (int64_t)sfshm_unit_size(job->unit);
  if (job->op != SFSHM_OP_REPLACE || job->from_pattern->kind != SFSHM_PATTERN_CONTIGUOUS ||
      job->to_pattern->kind != SFSHM_PATTERN_CONTIGUOUS)
    return (sfshm_cuda_block_t){0};
  sfshm_cuda_block_t block = {
      job->from + (sfshm_pattern_at(job->from_pattern, job->first) - job->from_bias) * unit_bytes,
      job->to + sfshm_pattern_at(job->to_pattern, job->first) * unit_bytes, (size_t)job->n * (size_t)unit_bytes};
  return overlaps(&block) ? (sfshm_cuda_block_t){0} : block;
}

static bool are_blocks(const sfshm_cuda_launch_t *launch)
{
  bool blocks = launch->order.order == 0 && launch->flags == 0;
  for (int32_t i = 0; i < launch->njobs && blocks; i++)
    blocks = launch->jobs[i].n == 0 || sfshm_cuda_block_of(&launch->jobs[i]).bytes > 0;
  return blocks;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

/* Lets the pattern begin at that number. */
static void shift(sfshm_cuda_pattern_t *pattern, int64_t first)
{
  if (pattern->kind == SFSHM_CUDA_INDEX32)
    pattern->index = (const uint32_t *)pattern->index + first;
  else if (pattern->kind == SFSHM_CUDA_INDEX64)
    pattern->index = (const int64_t *)pattern->index + first;
  else if (pattern->kind == SFSHM_CUDA_BOX)
    pattern->skipped += first;
  else
    pattern->start += first * pattern->stride;
}

static sf_status_t add_sets(sfshm_cuda_device_t *device, const sfshm_cuda_launch_t *launch, sfshm_cuda_several_t *args,
                            sfshm_cuda_element_t *element_p)
{
  sfshm_cuda_work_t *work = &args->work;
  sf_status_t status = SF_OK;
  uintptr_t bits = 0;
  for (int32_t i = 0; i < launch->njobs && status == SF_OK; i++) {
    const job_t *job = &launch->jobs[i];
    sfshm_cuda_set_t *set = &args->sets[work->nsets];
    if (job->n == 0)
      continue;
    *set = (sfshm_cuda_set_t){.begin = work->n, .from = job->from, .to = job->to, .from_bias = job->from_bias};
    status = sfshm_cuda_plan(device, job->from_pattern, &set->from_pattern);
    if (status == SF_OK)
      status = sfshm_cuda_plan(device, job->to_pattern, &set->to_pattern);
    shift(&set->from_pattern, job->first);
    shift(&set->to_pattern, job->first);
    bits |= (uintptr_t)job->from | (uintptr_t)job->to;
    work->n += job->n;
    work->nsets++;
  }
  return status == SF_OK ? choose_element(launch->jobs[0].unit, launch->jobs[0].op, bits, element_p, &work->count)
                         : status;
}

/* If all jobs are blocks, units don't matter. */
static void add_blocks(const sfshm_cuda_launch_t *launch, sfshm_cuda_several_t *args, sfshm_cuda_element_t *element_p)
{
  const sfshm_cuda_pattern_t all = {.kind = SFSHM_CUDA_STRIDED, .stride = 1};
  sfshm_cuda_work_t *work = &args->work;
  uintptr_t bits = 0;
  size_t size_bytes;
  for (int32_t i = 0; i < launch->njobs; i++) {
    sfshm_cuda_block_t block = sfshm_cuda_block_of(&launch->jobs[i]);
    if (block.bytes == 0)
      continue;
    args->sets[work->nsets++] = (sfshm_cuda_set_t){work->n, block.from, block.to, 0, all, all};
    work->n += (int64_t)block.bytes;
    bits |= (uintptr_t)block.from | (uintptr_t)block.to | block.bytes;
  }
  *element_p = widest(bits, &size_bytes);
  for (int32_t i = 0; i < work->nsets; i++)
    args->sets[i].begin /= (int64_t)size_bytes;
  work->n /= (int64_t)size_bytes;
  work->count = 1;
}

/* ---- Launching --------------------------------------------------------------------------------------------------- */

static sf_status_t start(sfshm_cuda_device_t *device, CUfunction kernel, sfshm_cuda_several_t *args)
{
  const sfshm_cuda_work_t *work = &args->work;
  int64_t nthreads = (work->order != NULL ? work->nvertices : work->n) * work->count;
  int64_t nblocks = (nthreads + BLOCK_THREADS - 1) / BLOCK_THREADS;
  void *parameters[] = {args};
  device->is_busy = true;
  return sfshm_cuda_status(cuLaunchKernel(kernel, (unsigned)(nblocks < MAX_BLOCKS ? nblocks : MAX_BLOCKS), 1, 1,
                                          BLOCK_THREADS, 1, 1, 0, device->stream, parameters, NULL),
                           "launching a kernel");
}

sf_status_t sfshm_cuda_launch(sfshm_cuda_device_t *device, const sfshm_cuda_launch_t *launch)
{
  const job_t *job = &launch->jobs[0];
  sfshm_cuda_element_t element = SFSHM_CUDA_1;
  sfshm_cuda_several_t args;
  sf_status_t status = SF_OK;
  uint64_t bytes = 0;
  args.work = (sfshm_cuda_work_t){.op = job->op,
                                  .flags = launch->flags,
                                  .order = (const int64_t *)(uintptr_t)launch->order.order,
                                  .begin = (const int64_t *)(uintptr_t)launch->order.begin,
                                  .nvertices = launch->order.nvertices,
                                  .first = job->first,
                                  .queue = launch->queue,
                                  .nwords = launch->nwords};
  for (int32_t i = 0; i < launch->nwords; i++)
    args.work.words[i] = launch->words[i];
  for (int32_t i = 0; i < launch->njobs; i++)
    bytes += (uint64_t)launch->jobs[i].n * sfshm_unit_size(job->unit);
  if (bytes == 0)
    return SF_OK;
  if (are_blocks(launch))
    add_blocks(launch, &args, &element);
  else
    status = add_sets(device, launch, &args, &element);
  if (status != SF_OK)
    return status;
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(device, job->work, bytes);
  status = start(device, args.work.nsets == 1 ? device->one[element] : device->several[element], &args);
  if (status == SF_OK)
    sfshm_cuda_watch_end(device, piece);
  return status;
}

/* Whether devices combine such units in one step. */
static bool has_atomics(sfshm_unit_t unit, sfshm_op_t op)
{
  bool real = unit.base == SFSHM_BASE_FLOAT || unit.base == SFSHM_BASE_DOUBLE;
  bool integer = unit.base == SFSHM_BASE_INT32 || unit.base == SFSHM_BASE_UINT32 || unit.base == SFSHM_BASE_INT64 ||
                 unit.base == SFSHM_BASE_UINT64;
  return ((real || integer) && op == SFSHM_OP_SUM) || (integer && (op == SFSHM_OP_MAX || op == SFSHM_OP_MIN));
}

sf_status_t sfshm_cuda_launch_job(sfshm_cuda_device_t *device, const job_t *job)
{
  sfshm_cuda_launch_t launch = {.jobs = job, .njobs = 1};
  sf_status_t status = sfshm_cuda_plan_order(device, job->to_pattern, &launch.order);
  if (status == SF_OK && launch.order.order != 0 && job->unordered && has_atomics(job->unit, job->op)) {
    launch.order = (sfshm_cuda_order_t){0};
    launch.flags = SFSHM_CUDA_ATOMIC;
  }
  return status == SF_OK ? sfshm_cuda_launch(device, &launch) : status;
}
