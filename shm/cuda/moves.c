/* Several scatters as one kernel, on streams: what goes to all neighbours, or comes from them. What can be known of
 * them beforehand is prepared: see sfshm_streams_ops_t. */
#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

/* As many moves as one kernel takes. Those without vertices are left out. */
typedef struct part {
  int32_t first;
  int32_t end;
  int64_t n;
  sfshm_cuda_order_t order;
} part_t;

struct sfshm_cuda_moves {
  int32_t nparts;
  part_t parts[];
};

/* ---- Preparing --------------------------------------------------------------------------------------------------- */

static part_t part_from(const sfshm_move_t moves[], int32_t nmoves, int32_t first)
{
  part_t part = {.first = first, .end = first};
  for (int32_t nsets = 0; part.end < nmoves; part.end++) {
    if (moves[part.end].n == 0)
      continue;
    if (nsets++ == SFSHM_CUDA_SETS_MAX)
      break;
    part.n += moves[part.end].n;
  }
  return part;
}

/* Whether all vertices of the move are higher than any before it to the same array, and ascend. */
static bool goes_on(const sfshm_move_t *move, const sfshm_move_t *before)
{
  sfshm_pattern_t pattern = move->to_pattern;
  pattern.n = move->n;
  return sfshm_pattern_ascends(&pattern) &&
         (before == NULL || before->to != move->to ||
          sfshm_pattern_at(&before->to_pattern, before->n - 1) < sfshm_pattern_at(&pattern, 0));
}

/* Moves to one array stand together: where they do not, they are looked at more closely. */
static bool is_distinct(const sfshm_move_t moves[], const part_t *part)
{
  const sfshm_move_t *before = NULL;
  bool distinct = true;
  for (int32_t i = part->first; i < part->end && distinct; i++) {
    if (moves[i].n == 0)
      continue;
    distinct = goes_on(&moves[i], before) && (before == NULL || before->to <= moves[i].to);
    before = &moves[i];
  }
  return distinct;
}

static sf_status_t find_order(const sfshm_cuda_device_t *device, const sfshm_move_t moves[], part_t *part)
{
  int64_t n = 0;
  sfshm_cuda_occurrence_t *occurrences = malloc((size_t)part->n * sizeof *occurrences);
  if (occurrences == NULL)
    return sfshm_error(SF_ERR_NOMEM, "order of %lld contributions", (long long)part->n);
  for (int32_t i = part->first; i < part->end; i++)
    for (int64_t k = 0; k < moves[i].n; k++, n++)
      occurrences[n] = (sfshm_cuda_occurrence_t){(uintptr_t)moves[i].to, sfshm_pattern_at(&moves[i].to_pattern, k), n};
  sf_status_t status = sfshm_cuda_order(device, occurrences, n, &part->order);
  free(occurrences);
  return status;
}

static sf_status_t copy_indices(sfshm_cuda_device_t *device, const sfshm_move_t *move)
{
  sfshm_cuda_pattern_t pattern;
  sf_status_t status = move->n > 0 ? sfshm_cuda_plan(device, &move->from_pattern, &pattern) : SF_OK;
  return status == SF_OK && move->n > 0 ? sfshm_cuda_plan(device, &move->to_pattern, &pattern) : status;
}

sf_status_t sfshm_cuda_moves_make(sfshm_cuda_device_t *device, const sfshm_move_t moves[], int32_t nmoves,
                                  sfshm_cuda_moves_t **moves_p)
{
  int32_t most = nmoves / SFSHM_CUDA_SETS_MAX + 1;
  sf_status_t status = SF_OK;
  sfshm_cuda_moves_t *made = calloc(1, sizeof *made + (size_t)most * sizeof made->parts[0]);
  if (made == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%d moves", nmoves);
  for (int32_t i = 0; i < nmoves && status == SF_OK; i++)
    status = copy_indices(device, &moves[i]);
  for (int32_t first = 0; first < nmoves && status == SF_OK; first = made->parts[made->nparts++].end) {
    part_t *part = &made->parts[made->nparts];
    *part = part_from(moves, nmoves, first);
    if (!is_distinct(moves, part))
      status = find_order(device, moves, part);
  }
  if (status == SF_OK)
    *moves_p = made;
  else
    sfshm_cuda_moves_free(made);
  return status;
}

void sfshm_cuda_moves_free(sfshm_cuda_moves_t *moves)
{
  for (int32_t i = 0; moves != NULL && i < moves->nparts; i++)
    sfshm_cuda_order_free(&moves->parts[i].order);
  free(moves);
}

/* ---- Launching --------------------------------------------------------------------------------------------------- */

static sf_status_t launch_part(sfshm_cuda_device_t *device, const part_t *part, sfshm_unit_t unit, sfshm_op_t op,
                               const sfshm_move_t moves[], sfshm_cuda_launch_t launch)
{
  sfshm_cuda_job_t jobs[SFSHM_CUDA_SETS_MAX];
  launch.jobs = jobs;
  launch.order = part->order;
  for (int32_t i = part->first; i < part->end; i++)
    if (moves[i].n > 0)
      jobs[launch.njobs++] = (sfshm_cuda_job_t){.unit = unit,
                                                .op = op,
                                                .from_pattern = &moves[i].from_pattern,
                                                .from = moves[i].from,
                                                .to_pattern = &moves[i].to_pattern,
                                                .to = moves[i].to,
                                                .n = moves[i].n,
                                                .work = SFSHM_TRACE_WORK_WITHIN};
  return launch.njobs > 0 ? sfshm_cuda_launch(device, &launch) : SF_OK;
}

/* As many moves, with as many vertices each, as were prepared. Parts without vertices are the last ones, if any. */
sf_status_t sfshm_cuda_moves_launch(sfshm_cuda_device_t *device, const sfshm_cuda_moves_t *prepared, sfshm_unit_t unit,
                                    sfshm_op_t op, const sfshm_move_t moves[], int32_t nmoves,
                                    const sfshm_cuda_launch_t *launch)
{
  sf_status_t status = SF_OK;
  int32_t nparts = prepared->nparts;
  if (nmoves != (nparts > 0 ? prepared->parts[nparts - 1].end : 0))
    return sfshm_error(SF_ERR_ARG, "CUDA: %d moves are not what was prepared", nmoves);
  while (nparts > 0 && prepared->parts[nparts - 1].n == 0)
    nparts--;
  for (int32_t i = 0; i < nparts && status == SF_OK; i++) {
    sfshm_cuda_launch_t part = *launch;
    part.nwords = i == nparts - 1 ? launch->nwords : 0;
    status = launch_part(device, &prepared->parts[i], unit, op, moves, part);
  }
  return status;
}
