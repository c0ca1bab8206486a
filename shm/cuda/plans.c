/* Copies of index arrays on devices, and the order of contributions where vertices occur several times. With the lock
 * held, or of a stream's view; the device entered. */
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

#define MIN_BUCKETS 64

/* On a stream of the plugin's own: the default stream would wait for those of the application, which may wait for other
 * ranks; and a plain copy may return before it is done, with no stream but the default one knowing when. */
sf_status_t sfshm_cuda_upload(const sfshm_cuda_device_t *device, const void *from, size_t bytes, CUdeviceptr *to_p)
{
  CUdeviceptr to = 0;
  sf_status_t status = sfshm_cuda_status(cuMemAlloc(&to, bytes), "cuMemAlloc for indices");
  if (status != SF_OK)
    return status;
  status = sfshm_cuda_status(cuMemcpyHtoDAsync(to, from, bytes, device->own_stream), "copying indices");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuStreamSynchronize(device->own_stream), "copying indices");
  if (status != SF_OK)
    cuMemFree(to);
  else
    *to_p = to;
  return status;
}

static void free_copies(sfshm_cuda_plan_t *plan)
{
  cuMemFree(plan->copy);
  sfshm_cuda_order_free(&plan->order);
}

/* ---- Table ------------------------------------------------------------------------------------------------------- */

static sfshm_cuda_plan_t **bucket_of(const sfshm_cuda_plans_t *plans, const void *index, int64_t n)
{
  uint64_t key = ((uint64_t)(uintptr_t)index ^ (uint64_t)n << 48) * UINT64_C(0x9e3779b97f4a7c15);
  return &plans->buckets[(key >> 32) & (plans->nbuckets - 1)];
}

/* Keeps at least one bucket for each plan; without memory for that the lists get longer. */
static sf_status_t make_room(sfshm_cuda_plans_t *plans)
{
  sfshm_cuda_plans_t larger = {.n = plans->n, .nbuckets = plans->nbuckets == 0 ? MIN_BUCKETS : 2 * plans->nbuckets};
  if (plans->n < plans->nbuckets)
    return SF_OK;
  larger.buckets = calloc(larger.nbuckets, sizeof(sfshm_cuda_plan_t *));
  if (larger.buckets == NULL)
    return plans->nbuckets > 0 ? SF_OK : sfshm_error(SF_ERR_NOMEM, "table of copied indices");
  for (size_t i = 0; i < plans->nbuckets; i++)
    for (sfshm_cuda_plan_t *plan = plans->buckets[i], *next; plan != NULL; plan = next) {
      sfshm_cuda_plan_t **bucket = bucket_of(&larger, plan->index, plan->n);
      next = plan->next;
      plan->next = *bucket;
      *bucket = plan;
    }
  free(plans->buckets);
  *plans = larger;
  return SF_OK;
}

void sfshm_cuda_plans_drop(sfshm_cuda_plans_t *plans, const void *base, size_t length_bytes, bool in_use)
{
  for (size_t i = 0; i < plans->nbuckets; i++) {
    sfshm_cuda_plan_t **link = &plans->buckets[i];
    while (*link != NULL) {
      sfshm_cuda_plan_t *plan = *link;
      if ((uintptr_t)plan->index - (uintptr_t)base >= length_bytes) {
        link = &plan->next;
        continue;
      }
      *link = plan->next;
      if (!in_use)
        free_copies(plan);
      free(plan);
      plans->n--;
    }
  }
  if (plans->n > 0)
    return;
  free(plans->buckets);
  *plans = (sfshm_cuda_plans_t){0};
}

/* Array and length name it: an array whose memory is freed is forgotten before, in any case (sfshm_device_ops_t), so
 * that another one at the same place is never taken for it. */
static sf_status_t find_plan(sfshm_cuda_device_t *device, const sfshm_pattern_t *pattern, sfshm_cuda_plan_t **plan_p)
{
  sfshm_cuda_plans_t *plans = &device->plans;
  bool wide = pattern->kind == SFSHM_PATTERN_INDEX64;
  const void *index = wide ? (const void *)pattern->index64 : pattern->index32;
  sf_status_t status = make_room(plans);
  if (status != SF_OK)
    return status;
  sfshm_cuda_plan_t **bucket = bucket_of(plans, index, pattern->n);
  for (sfshm_cuda_plan_t *plan = *bucket; plan != NULL; plan = plan->next)
    if (plan->index == index && plan->n == pattern->n) {
      *plan_p = plan;
      return SF_OK;
    }
  sfshm_cuda_plan_t *plan = calloc(1, sizeof *plan);
  if (plan == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of %lld indices", (long long)pattern->n);
  size_t bytes = (size_t)pattern->n * (wide ? sizeof(int64_t) : sizeof(uint32_t));
  status = sfshm_cuda_upload(device, index, bytes, &plan->copy);
  if (status != SF_OK) {
    free(plan);
    return status;
  }
  plan->index = index;
  plan->n = pattern->n;
  plan->next = *bucket;
  *bucket = plan;
  plans->n++;
  *plan_p = plan;
  return SF_OK;
}

/* Whether it is a box whose vertices ascend, and so are distinct: then no indices are needed at all. */
static bool is_ascending_box(const sfshm_pattern_t *pattern)
{
  int64_t in_row = (pattern->row - 1) * pattern->stride;
  if (pattern->row <= 0 || pattern->stride <= 0 || pattern->row_stride <= in_row)
    return false;
  return pattern->skipped + pattern->n <= pattern->row * pattern->rows || /* one plane */
         pattern->plane_stride > (pattern->rows - 1) * pattern->row_stride + in_row;
}

static sfshm_cuda_pattern_t without_indices(const sfshm_pattern_t *pattern, bool box)
{
  return (sfshm_cuda_pattern_t){.kind = box ? SFSHM_CUDA_BOX : SFSHM_CUDA_STRIDED,
                                .start = pattern->start,
                                .stride = pattern->stride,
                                .row = pattern->row,
                                .rows = pattern->rows,
                                .row_stride = pattern->row_stride,
                                .plane_stride = pattern->plane_stride,
                                .skipped = pattern->skipped};
}

static bool needs_indices(const sfshm_pattern_t *pattern)
{
  return (pattern->kind == SFSHM_PATTERN_INDEX32 || pattern->kind == SFSHM_PATTERN_INDEX64) &&
         !is_ascending_box(pattern);
}

sf_status_t sfshm_cuda_plan(sfshm_cuda_device_t *device, const sfshm_pattern_t *pattern,
                            sfshm_cuda_pattern_t *device_pattern_p)
{
  bool wide = pattern->kind == SFSHM_PATTERN_INDEX64;
  sfshm_cuda_plan_t *plan;
  if (!needs_indices(pattern)) {
    *device_pattern_p = without_indices(pattern, wide || pattern->kind == SFSHM_PATTERN_INDEX32);
    return SF_OK;
  }
  sf_status_t status = find_plan(device, pattern, &plan);
  if (status == SF_OK)
    *device_pattern_p = (sfshm_cuda_pattern_t){.kind = wide ? SFSHM_CUDA_INDEX64 : SFSHM_CUDA_INDEX32,
                                               .index = (const void *)(uintptr_t)plan->copy};
  return status;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
  const sfshm_cuda_occurrence_t *a = left, *b = right;
  if (a->array != b->array)
    return a->array < b->array ? -1 : 1;
  if (a->vertex != b->vertex)
    return a->vertex < b->vertex ? -1 : 1;
  return a->number < b->number ? -1 : 1;
}

/* Returns the number of different targets. */
static int64_t list_order(const sfshm_cuda_occurrence_t *occurrences, int64_t n, int64_t *order, int64_t *begin)
{
  int64_t nvertices = 0;
  for (int64_t i = 0; i < n; i++) {
    order[i] = occurrences[i].number;
    if (i == 0 || occurrences[i].vertex != occurrences[i - 1].vertex ||
        occurrences[i].array != occurrences[i - 1].array)
      begin[nvertices++] = i;
  }
  begin[nvertices] = n;
  return nvertices;
}

void sfshm_cuda_order_free(sfshm_cuda_order_t *order)
{
  if (order->order != 0)
    cuMemFree(order->order);
  if (order->begin != 0)
    cuMemFree(order->begin);
  *order = (sfshm_cuda_order_t){0};
}

sf_status_t sfshm_cuda_order(const sfshm_cuda_device_t *device, sfshm_cuda_occurrence_t occurrences[], int64_t n,
                             sfshm_cuda_order_t *order_p)
{
  sfshm_cuda_order_t made = {0};
  int64_t *order = malloc((size_t)n * sizeof *order), *begin = malloc(((size_t)n + 1) * sizeof *begin);
  sf_status_t status = SF_OK;
  if (order == NULL || begin == NULL) {
    status = sfshm_error(SF_ERR_NOMEM, "order of %lld contributions", (long long)n);
    goto out;
  }
  qsort(occurrences, (size_t)n, sizeof *occurrences, compare);
  made.nvertices = list_order(occurrences, n, order, begin);
  if (made.nvertices == n)
    goto out;
  status = sfshm_cuda_upload(device, order, (size_t)n * sizeof *order, &made.order);
  if (status == SF_OK)
    status = sfshm_cuda_upload(device, begin, (size_t)(made.nvertices + 1) * sizeof *begin, &made.begin);
  if (status == SF_OK)
    *order_p = made;
  else
    sfshm_cuda_order_free(&made);
out:
  free(order);
  free(begin);
  return status;
}

static sf_status_t make_order(const sfshm_cuda_device_t *device, sfshm_cuda_plan_t *plan,
                              const sfshm_pattern_t *pattern)
{
  sfshm_cuda_occurrence_t *occurrences = malloc((size_t)pattern->n * sizeof *occurrences);
  if (occurrences == NULL)
    return sfshm_error(SF_ERR_NOMEM, "order of %lld contributions", (long long)pattern->n);
  for (int64_t i = 0; i < pattern->n; i++)
    occurrences[i] = (sfshm_cuda_occurrence_t){.vertex = sfshm_pattern_at(pattern, i), .number = i};
  sf_status_t status = sfshm_cuda_order(device, occurrences, pattern->n, &plan->order);
  free(occurrences);
  return status;
}

sf_status_t sfshm_cuda_plan_order(sfshm_cuda_device_t *device, const sfshm_pattern_t *pattern,
                                  sfshm_cuda_order_t *order_p)
{
  sfshm_cuda_plan_t *plan;
  if (!needs_indices(pattern))
    return SF_OK;
  sf_status_t status = find_plan(device, pattern, &plan);
  if (status == SF_OK && !plan->surveyed) {
    status = sfshm_pattern_ascends(pattern) ? SF_OK : make_order(device, plan, pattern);
    plan->surveyed = status == SF_OK;
  }
  if (status == SF_OK)
    *order_p = plan->order;
  return status;
}
