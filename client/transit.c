/* Contributions that travel combined: see transit.h. */
#include "client/transit.h"

#include <string.h>

#include "client/launch.h"
#include "client/multi.h"
#include "shm/error.h"

bool sfc_transit_allows(const sfc_composite_call_t *call)
{
  if (call->op->function != NULL)
    return call->op->op == SFSHM_OP_COMMUTATIVE && (call->graph->flags & SF_GRAPH_REPRODUCIBLE) == 0;
  return sfshm_op_is_associative(call->op->op, call->unit->unit.base);
}

sfc_runs_t *sfc_transit_runs(const sfc_composite_call_t *call)
{
  sfc_runs_t *runs = call->graph->multi != NULL ? call->graph->multi->runs : NULL;
  bool pays = runs != NULL && sfshm_unit_size(call->unit->unit) >= runs->least_unit;
  return pays && sfc_transit_allows(call) ? runs : NULL;
}

size_t sfc_transit_bytes(const sfc_runs_t *runs, size_t unit_bytes)
{
  return 3 * sfc_composite_aligned((size_t)runs->nmembers * unit_bytes);
}

/* ---- At the heads ------------------------------------------------------------------------------------------------ */

/* units[i] = units[i] op others[i], the application's. */
static void apply(const sfc_composite_t *composite, const char *others, char *units, int64_t n)
{
  composite->op.function(others, units, n, composite->combine.unit_bytes, composite->op.context);
}

/* Combines the members of each run into the place of its first one; a later one is replaced by what those before it
 * make. */
static void combine_by_function(const sfc_composite_t *composite)
{
  const sfc_runs_t *runs = composite->runs;
  size_t unit_bytes = composite->combine.unit_bytes;
  char *members = composite->sorted + (size_t)runs->nruns * unit_bytes;
  for (int64_t round = 1; round < runs->nrounds; round++)
    for (int64_t first = 0, n; first < runs->round[round]; first += n, members += (size_t)n * unit_bytes) {
      char *run = composite->sorted + (size_t)first * unit_bytes;
      n = runs->round[round] - first < composite->chunk ? runs->round[round] - first : composite->chunk;
      memcpy(composite->chunks, run, (size_t)n * unit_bytes);
      apply(composite, members, run, n);
      memcpy(members, composite->chunks, (size_t)n * unit_bytes);
    }
}

static void combine_runs(const sfc_composite_t *composite)
{
  const sfc_runs_t *runs = composite->runs;
  sfshm_unit_t unit = composite->combine.unit;
  sfshm_kernels_find(unit, SFSHM_OP_REPLACE)
      ->pack(unit, &runs->slot, 0, runs->nmembers, composite->members, composite->sorted);
  const sfshm_pattern_t first = sfshm_pattern_contiguous(0, runs->nruns);
  if (composite->op.function == NULL)
    sfshm_kernels_start(unit, composite->op.op, &first, first.n, composite->sorted);
  if (composite->op.function != NULL)
    combine_by_function(composite);
  else
    sfshm_kernels_find(unit, composite->op.op)
        ->fetch(unit, &runs->run, 0, runs->run.n,
                composite->sorted + (size_t)runs->nruns * composite->combine.unit_bytes, composite->sorted);
}

/* What was there before each run is in before; puts behind it what was there before the later members. */
static void expand_by_function(const sfc_composite_t *composite)
{
  const sfc_runs_t *runs = composite->runs;
  size_t unit_bytes = composite->combine.unit_bytes, at = (size_t)runs->nruns * unit_bytes;
  for (int64_t round = 1; round < runs->nrounds; round++) {
    size_t bytes = (size_t)runs->round[round] * unit_bytes;
    memcpy(composite->before + at, composite->before, bytes);
    apply(composite, composite->sorted + at, composite->before + at, runs->round[round]);
    at += bytes;
  }
}

static void expand_by_kernel(const sfc_composite_t *composite)
{
  const sfc_runs_t *runs = composite->runs;
  sfshm_unit_t unit = composite->combine.unit;
  size_t at = (size_t)runs->nruns * composite->combine.unit_bytes;
  const sfshm_pattern_t all = sfshm_pattern_contiguous(0, runs->run.n);
  sfshm_kernels_find(unit, SFSHM_OP_REPLACE)
      ->pack(unit, &runs->run, 0, runs->run.n, composite->before, composite->before + at);
  sfshm_kernels_find(unit, composite->op.op)
      ->unpack(unit, &all, 0, all.n, composite->sorted + at, composite->before + at);
}

static void expand_runs(const sfc_composite_t *composite)
{
  const sfc_runs_t *runs = composite->runs;
  sfshm_unit_t unit = composite->combine.unit;
  if (composite->op.function != NULL)
    expand_by_function(composite);
  else
    expand_by_kernel(composite);
  sfshm_kernels_find(unit, SFSHM_OP_REPLACE)
      ->unpack(unit, &runs->slot, 0, runs->nmembers, composite->before, composite->members);
}

/* What need not travel between nodes, there and perhaps back. */
static void count_saved(const sfc_composite_t *composite)
{
  const sfc_runs_t *runs = composite->runs;
  uint64_t each = composite->combine.unit_bytes * (composite->parts[SFC_BACK] != NULL ? 2 : 1);
  for (int32_t i = 0; runs->saved != NULL && i < runs->values->nlanes; i++)
    if (runs->saved[i] > 0)
      sfshm_count(&runs->values->lanes[i].counts->bytes_saved, (uint64_t)runs->saved[i] * each);
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

sf_status_t sfc_transit_make(sfc_composite_t *composite, const sfc_composite_call_t *call, sf_graph_t *multi)
{
  const sfc_runs_t *runs = composite->runs;
  size_t bytes = sfc_composite_aligned((size_t)runs->nmembers * composite->combine.unit_bytes);
  sf_request_t **parts = composite->parts;
  composite->sorted = composite->members + bytes;
  composite->before = composite->sorted + bytes;
  const struct {
    sf_graph_t *graph;
    sfshm_operation_t operation;
    const void *root, *leaf;
    sf_request_t **request_p;
  } made[] = {{multi, SFSHM_REDUCE, composite->scratch, call->leaf, &composite->first},
              {runs->members, SFSHM_REDUCE, composite->members, call->leaf, &parts[SFC_COLLECT]},
              {runs->values, SFSHM_REDUCE, composite->scratch, composite->sorted, &parts[SFC_FORWARD]},
              {runs->values, SFSHM_BCAST, composite->scratch, composite->before, &parts[SFC_BACK]},
              {runs->members, SFSHM_BCAST, composite->members, call->leafupdate, &parts[SFC_SPREAD]}};
  size_t n = call->call == SFSHM_CALL_FETCH ? 5 : 3;
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < n && status == SF_OK; i++)
    status = sfc_composite_make_part(composite, made[i].graph, made[i].operation, made[i].root, made[i].leaf,
                                     made[i].request_p);
  if (composite->first != NULL)
    composite->first->elsewhere = true;
  for (int i = SFC_FORWARD; i < SFC_PARTS; i++)
    if (parts[i] != NULL)
      parts[i]->send.lane = NULL; /* what is held does not go the straight way */
  return status;
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

static sf_status_t prepare(const sfc_composite_t *composite, const sfc_thread_t *thread)
{
  sf_status_t status = sfc_request_prepare(composite->first);
  if (status == SF_OK)
    status = sfc_graph_prepare(composite->first->graph, thread, 1);
  for (int i = 0; i < SFC_PARTS && status == SF_OK; i++) {
    if (composite->parts[i] == NULL)
      continue;
    status = sfc_request_prepare(composite->parts[i]);
    if (status == SF_OK)
      status = sfc_graph_prepare(composite->parts[i]->graph, thread, 2);
  }
  return status;
}

sf_status_t sfc_transit_begin(sfc_composite_t *composite, sfc_thread_t *thread)
{
  static const uint8_t order[] = {SFC_COLLECT, SFC_SPREAD, SFC_FORWARD, SFC_BACK};
  sf_status_t status = prepare(composite, thread);
  if (status != SF_OK)
    return status;
  composite->stage = SFC_COLLECT;
  sfc_launch(composite->first, thread, false, SFC_LAUNCH_ELSEWHERE);
  composite->first->receives_left = 1; /* all parts, as one */
  for (int i = 0; i < SFC_PARTS; i++) {
    sf_request_t *part = composite->parts[order[i]];
    if (part == NULL)
      continue;
    part->held = order[i] != SFC_COLLECT;
    sfc_launch(part, thread, false, SFC_LAUNCH_PART);
  }
  return SF_OK;
}

static bool all_complete(const sfc_composite_t *composite)
{
  for (int i = 0; i < SFC_PARTS; i++)
    if (composite->parts[i] != NULL && !sfc_request_is_complete(composite->parts[i]))
      return false;
  return true;
}

/* What is to be done when all of a part has come. */
static void end_stage(sfc_composite_t *composite)
{
  if (composite->stage == SFC_COLLECT) {
    combine_runs(composite);
    count_saved(composite);
  } else if (composite->stage == SFC_FORWARD) {
    sfc_composite_meet(composite);
  } else if (composite->stage == SFC_BACK) {
    expand_runs(composite);
  }
  composite->stage++;
  if (composite->stage < SFC_PARTS && composite->parts[composite->stage] != NULL)
    sfc_request_lift(composite->parts[composite->stage]);
  else
    composite->stage = SFC_PARTS;
}

bool sfc_transit_advance(sfc_composite_t *composite, bool *moved_p)
{
  while (composite->stage < SFC_PARTS && composite->parts[composite->stage]->receives_left == 0) {
    end_stage(composite);
    *moved_p = true;
  }
  if (composite->stage < SFC_PARTS || !all_complete(composite))
    return false;
  composite->first->receives_left = 0;
  *moved_p = true;
  return true;
}

void sfc_transit_end(const sfc_composite_t *composite)
{
  for (int i = SFC_PARTS - 1; i >= 0; i--)
    if (composite->parts[i] != NULL)
      sfc_launch_end(composite->parts[i], SFC_LAUNCH_PART);
}
