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
  bool ordered; /* then: */
  CUdeviceptr order;
  CUdeviceptr begin;
  int64_t nvertices;
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
    if (nsets++ == SFSHM_CUDA_SEVERAL_MAX)
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
  sf_status_t status = sfshm_cuda_order(device, occurrences, n, &part->order, &part->begin, &part->nvertices);
  free(occurrences);
  part->ordered = status == SF_OK && part->nvertices < n;
  return status;
}

static sf_status_t copy_indices(sfshm_cuda_device_t *device, const sfshm_move_t *move)
{
  sfshm_cuda_pattern_t pattern;
  sfshm_cuda_plan_t *plan;
  sf_status_t status = move->n > 0 ? sfshm_cuda_plan(device, &move->from_pattern, &pattern, &plan) : SF_OK;
  return status == SF_OK && move->n > 0 ? sfshm_cuda_plan(device, &move->to_pattern, &pattern, &plan) : status;
}

sf_status_t sfshm_cuda_moves_make(sfshm_cuda_device_t *device, const sfshm_move_t moves[], int32_t nmoves,
                                  sfshm_cuda_moves_t **moves_p)
{
  int32_t most = nmoves / SFSHM_CUDA_SEVERAL_MAX + 1;
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
  for (int32_t i = 0; moves != NULL && i < moves->nparts; i++) {
    if (moves->parts[i].order != 0)
      cuMemFree(moves->parts[i].order);
    if (moves->parts[i].begin != 0)
      cuMemFree(moves->parts[i].begin);
  }
  free(moves);
}

/* ---- Launching --------------------------------------------------------------------------------------------------- */

static sf_status_t add_set(sfshm_cuda_device_t *device, const sfshm_move_t *move, sfshm_cuda_several_t *args,
                           uintptr_t *bits_p)
{
  sfshm_cuda_set_t *set = &args->sets[args->nsets++];
  sfshm_cuda_plan_t *plan;
  set->begin = args->n;
  set->from = move->from;
  set->to = move->to;
  *bits_p |= (uintptr_t)set->from | (uintptr_t)set->to;
  args->n += move->n;
  sf_status_t status = sfshm_cuda_plan(device, &move->from_pattern, &set->from_pattern, &plan);
  return status == SF_OK ? sfshm_cuda_plan(device, &move->to_pattern, &set->to_pattern, &plan) : status;
}

static sfshm_cuda_block_t block_of(const sfshm_move_t *move, sfshm_unit_t unit, sfshm_op_t op)
{
  return sfshm_cuda_block_of(unit, op, &move->from_pattern, 0, move->from, &move->to_pattern, move->to, 0, move->n);
}

static sf_status_t fill_in(sfshm_cuda_device_t *device, const sfshm_move_t moves[], const part_t *part,
                           sfshm_unit_t unit, sfshm_cuda_several_t *args, sfshm_cuda_element_t *element_p)
{
  sf_status_t status = SF_OK;
  uintptr_t bits = 0;
  for (int32_t i = part->first; i < part->end && status == SF_OK; i++) {
    if (moves[i].n > 0)
      status = add_set(device, &moves[i], args, &bits);
  }
  return status == SF_OK ? sfshm_cuda_choose_element(unit, (sfshm_op_t)args->op, bits, element_p, &args->count)
                         : status;
}

static bool are_blocks(const sfshm_move_t moves[], const part_t *part, sfshm_unit_t unit, sfshm_op_t op)
{
  bool blocks = !part->ordered;
  for (int32_t i = part->first; i < part->end && blocks; i++)
    blocks = moves[i].n == 0 || block_of(&moves[i], unit, op).bytes > 0;
  return blocks;
}

/* If all of them are, units don't matter. */
static void fill_in_blocks(const sfshm_move_t moves[], const part_t *part, sfshm_unit_t unit,
                           sfshm_cuda_several_t *args, sfshm_cuda_element_t *element_p)
{
  const sfshm_cuda_pattern_t all = {.kind = SFSHM_CUDA_STRIDED, .stride = 1};
  uintptr_t bits = 0;
  size_t size_bytes, sum_bytes = 0;
  for (int32_t i = part->first; i < part->end; i++) {
    if (moves[i].n == 0)
      continue;
    sfshm_cuda_block_t block = block_of(&moves[i], unit, (sfshm_op_t)args->op);
    args->sets[args->nsets++] = (sfshm_cuda_set_t){(int64_t)sum_bytes, block.from, block.to, all, all};
    sum_bytes += block.bytes;
    bits |= (uintptr_t)block.from | (uintptr_t)block.to | block.bytes;
  }
  *element_p = sfshm_cuda_widest(bits, &size_bytes);
  for (int32_t i = 0; i < args->nsets; i++)
    args->sets[i].begin /= (int64_t)size_bytes;
  args->n = (int64_t)(sum_bytes / size_bytes);
  args->count = 1;
}

/* By the kernel for one: most of what a launch has to bring to the device would be places for others. */
static sf_status_t start_one(sfshm_cuda_device_t *device, const sfshm_cuda_several_t *args,
                             sfshm_cuda_element_t element)
{
  sfshm_cuda_scatter_t one = {.from = args->sets[0].from,
                              .to = args->sets[0].to,
                              .from_pattern = args->sets[0].from_pattern,
                              .to_pattern = args->sets[0].to_pattern,
                              .n = args->n,
                              .count = args->count,
                              .op = args->op};
  return sfshm_cuda_start(device, device->scatter[element], one.n * one.count, &one);
}

static sf_status_t start(sfshm_cuda_device_t *device, sfshm_cuda_several_t *args, sfshm_cuda_element_t element)
{
  if (args->order == NULL && args->nsets == 1)
    return start_one(device, args, element);
  return sfshm_cuda_start(device, device->several[element],
                          (args->order != NULL ? args->nvertices : args->n) * args->count, args);
}

static sf_status_t launch_part(sfshm_cuda_device_t *device, const part_t *part, sfshm_unit_t unit, sfshm_op_t op,
                               const sfshm_move_t moves[])
{
  sfshm_cuda_several_t args = {.op = op};
  sfshm_cuda_element_t element = SFSHM_CUDA_1;
  sf_status_t status = SF_OK;
  uint64_t unit_bytes = sfshm_unit_size(unit);
  if (are_blocks(moves, part, unit, op)) {
    fill_in_blocks(moves, part, unit, &args, &element);
    unit_bytes = (uint64_t)1 << element;
  } else {
    status = fill_in(device, moves, part, unit, &args, &element);
  }
  if (status != SF_OK || args.n == 0)
    return status;
  if (part->ordered) {
    args.order = (const int64_t *)(uintptr_t)part->order;
    args.begin = (const int64_t *)(uintptr_t)part->begin;
    args.nvertices = part->nvertices;
  }
  sfshm_cuda_piece_t *piece = sfshm_cuda_watch_begin(device, SFSHM_TRACE_WORK_WITHIN, (uint64_t)args.n * unit_bytes);
  status = start(device, &args, element);
  if (status == SF_OK)
    sfshm_cuda_watch_end(device, piece);
  return status;
}

/* As many moves, with as many vertices each, as were prepared. */
sf_status_t sfshm_cuda_moves_launch(sfshm_cuda_device_t *device, const sfshm_cuda_moves_t *prepared, sfshm_unit_t unit,
                                    sfshm_op_t op, const sfshm_move_t moves[], int32_t nmoves)
{
  sf_status_t status = SF_OK;
  if (nmoves != (prepared->nparts > 0 ? prepared->parts[prepared->nparts - 1].end : 0))
    return sfshm_error(SF_ERR_ARG, "CUDA: %d moves are not what was prepared", nmoves);
  for (int32_t i = 0; i < prepared->nparts && status == SF_OK; i++)
    status = launch_part(device, &prepared->parts[i], unit, op, moves);
  return status;
}
