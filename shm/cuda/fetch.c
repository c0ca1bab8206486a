/* Roots that meet contributions one after the other, each of which becomes what the root was before: fetch_op on
 * streams. See sfshm_streams_ops_t. */
#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

/* Returns the number of different roots. */
static int64_t find_begins(const sfshm_pattern_t *slot_root, int64_t *begin)
{
  int64_t nroots = 0;
  for (int64_t i = 0; i < slot_root->n; i++)
    if (i == 0 || sfshm_pattern_at(slot_root, i) != sfshm_pattern_at(slot_root, i - 1))
      begin[nroots++] = i;
  begin[nroots] = slot_root->n;
  return nroots;
}

sf_status_t sfshm_cuda_slots_make(sfshm_cuda_device_t *device, const sfshm_pattern_t *slot_root,
                                  sfshm_cuda_slots_t *slots_p)
{
  sfshm_cuda_slots_t slots = {.root = *slot_root};
  sfshm_cuda_pattern_t pattern;
  sfshm_cuda_plan_t *plan;
  if (slot_root->n == 0) {
    *slots_p = slots;
    return SF_OK;
  }
  int64_t *begin = malloc(((size_t)slot_root->n + 1) * sizeof *begin);
  if (begin == NULL)
    return sfshm_error(SF_ERR_NOMEM, "roots of %lld slots", (long long)slot_root->n);
  slots.nroots = find_begins(slot_root, begin);
  sf_status_t status = sfshm_cuda_plan(device, slot_root, &pattern, &plan);
  if (status == SF_OK)
    status = sfshm_cuda_upload(device, begin, ((size_t)slots.nroots + 1) * sizeof *begin, &slots.begin);
  free(begin);
  if (status == SF_OK)
    *slots_p = slots;
  return status;
}

void sfshm_cuda_slots_free(sfshm_cuda_slots_t *slots)
{
  if (slots->begin != 0)
    cuMemFree(slots->begin);
  *slots = (sfshm_cuda_slots_t){0};
}

sf_status_t sfshm_cuda_slots_launch(sfshm_cuda_device_t *device, const sfshm_cuda_slots_t *slots, sfshm_unit_t unit,
                                    sfshm_op_t op, char *values, char *roots)
{
  sfshm_cuda_fetch_t args = {.slots = values,
                             .roots = roots,
                             .begin = (const int64_t *)(uintptr_t)slots->begin,
                             .nvertices = slots->nroots,
                             .op = op};
  sfshm_cuda_plan_t *plan;
  sfshm_cuda_element_t element;
  if (slots->nroots == 0)
    return SF_OK;
  sf_status_t status = sfshm_cuda_plan(device, &slots->root, &args.slot_root, &plan);
  if (status == SF_OK)
    status = sfshm_cuda_choose_element(unit, op, (uintptr_t)values | (uintptr_t)roots, &element, &args.count);
  if (status != SF_OK)
    return status;
  sfshm_cuda_piece_t *piece =
      sfshm_cuda_watch_begin(device, SFSHM_TRACE_WORK_WITHIN, (uint64_t)slots->root.n * sfshm_unit_size(unit));
  status = sfshm_cuda_start(device, device->fetches[element], args.nvertices * args.count, &args);
  if (status == SF_OK)
    sfshm_cuda_watch_end(device, piece);
  return status;
}
