/* What goes to several neighbours, brought from a device to the host by one kernel: the patterns of an array one behind
 * the other, chunk by chunk through pinned memory. */
#include <string.h>

#include "shm/cuda/internal.h"

/* Patterns one behind the other, as a kernel takes them. */
static sf_status_t make_sets(sfshm_cuda_device_t *device, const sfshm_pattern_t *const patterns[], int32_t npatterns,
                             sfshm_cuda_gathers_t *args, int64_t *total_p)
{
  sfshm_cuda_plan_t *plan;
  sf_status_t status = SF_OK;
  int64_t total = 0;
  for (int32_t i = 0; i < npatterns && status == SF_OK; i++) {
    args->begin[i] = total;
    status = sfshm_cuda_plan(device, patterns[i], &args->sets[i], &plan);
    total += patterns[i]->n;
  }
  args->nsets = npatterns;
  *total_p = total;
  return status;
}

/* All of the sets, chunk by chunk. */
typedef struct gathering {
  sfshm_cuda_gathers_t args;
  CUfunction kernel;
  int64_t total;
  int64_t chunk;
  size_t unit_bytes;
} gathering_t;

static int64_t gather_chunk_at(const gathering_t *gathering, int64_t done)
{
  return gathering->total - done < gathering->chunk ? gathering->total - done : gathering->chunk;
}

static sf_status_t begin_gather(sfshm_cuda_device_t *device, gathering_t *gathering, int64_t done, int half,
                                char **chunk_p)
{
  sfshm_cuda_gathers_t *args = &gathering->args;
  args->first = done;
  args->n = gather_chunk_at(gathering, done);
  sf_status_t status = sfshm_cuda_reserve(device, (size_t)args->n * gathering->unit_bytes, chunk_p);
  args->to = *chunk_p;
  if (status == SF_OK) {
    sfshm_cuda_piece_t *piece =
        sfshm_cuda_watch_begin(device, SFSHM_TRACE_WORK_TO_HOST, (uint64_t)args->n * gathering->unit_bytes);
    status = sfshm_cuda_start(device, gathering->kernel, args->n * args->count, args);
    if (status == SF_OK)
      sfshm_cuda_watch_end(device, piece);
  }
  return status == SF_OK ? sfshm_cuda_status(cuEventRecord(device->fetched[half], device->stream), "cuEventRecord")
                         : status;
}

/* The device packs one chunk while the host empties the one before. */
static sf_status_t fetch_gathered(sfshm_cuda_device_t *device, gathering_t *gathering, char *packed)
{
  char *chunks[SFSHM_CUDA_HALVES];
  int half = 0;
  sf_status_t status = begin_gather(device, gathering, 0, half, &chunks[half]);
  for (int64_t done = 0, n; done < gathering->total && status == SF_OK; done += n, half = !half) {
    n = gather_chunk_at(gathering, done);
    if (done + n < gathering->total)
      status = begin_gather(device, gathering, done + n, !half, &chunks[!half]);
    if (status == SF_OK)
      status = sfshm_cuda_status(cuEventSynchronize(device->fetched[half]), "waiting for a kernel");
    if (status == SF_OK)
      memcpy(packed + (size_t)done * gathering->unit_bytes, chunks[half], (size_t)n * gathering->unit_bytes);
  }
  return status;
}

/* At most SFSHM_CUDA_SETS_MAX patterns, of an array on that device, of units that fit into a half. */
static sf_status_t gather_some(int32_t number, sfshm_unit_t unit, const sfshm_pattern_t *const patterns[],
                               int32_t npatterns, const void *array, char *packed)
{
  sfshm_cuda_device_t *device;
  sfshm_cuda_element_t element = SFSHM_CUDA_1;
  gathering_t gathering = {.args = {.from = array}, .unit_bytes = sfshm_unit_size(unit)};
  sf_status_t status = sfshm_cuda_enter(number, &device);
  if (status != SF_OK)
    return status;
  gathering.chunk = (int64_t)(SFSHM_CUDA_BOUNCE_BYTES / gathering.unit_bytes);
  status = sfshm_cuda_choose_element(unit, SFSHM_OP_REPLACE, (uintptr_t)array, &element, &gathering.args.count);
  gathering.kernel = device->gather[element];
  if (status == SF_OK)
    status = make_sets(device, patterns, npatterns, &gathering.args, &gathering.total);
  if (status == SF_OK && gathering.total > 0)
    status = fetch_gathered(device, &gathering, packed);
  sfshm_cuda_leave();
  return status;
}

void sfshm_cuda_gather(sfshm_unit_t unit, const sfshm_pattern_t *const patterns[], int32_t npatterns, const void *array,
                       void *packed)
{
  size_t unit_bytes = sfshm_unit_size(unit);
  char *to = packed;
  sfshm_cuda_lock();
  int32_t number = sfshm_cuda_device_of(array);
  sfshm_cuda_unlock();
  for (int32_t i = 0, n; i < npatterns; i += n) {
    n = npatterns - i < SFSHM_CUDA_SETS_MAX ? npatterns - i : SFSHM_CUDA_SETS_MAX;
    if (number < 0 || unit_bytes > SFSHM_CUDA_BOUNCE_BYTES) {
      n = 1;
      sfshm_cuda_kernels(unit, SFSHM_OP_REPLACE)->pack(unit, patterns[i], 0, patterns[i]->n, array, to);
    } else {
      sfshm_cuda_lock();
      sf_status_t status = gather_some(number, unit, &patterns[i], n, array, to);
      if (status != SF_OK)
        sfshm_cuda_fail(status);
      sfshm_cuda_unlock();
    }
    for (int32_t k = i; k < i + n; k++)
      to += (size_t)patterns[k]->n * unit_bytes;
  }
}
