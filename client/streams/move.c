/* Moving data on streams: see move.h. */
#include "client/streams/move.h"

#include "client/engine.h"

typedef struct one {
  sfshm_unit_t unit;
  sfshm_op_t op;
  sfshm_move_t move;
} one_t;

static void run(sfshm_unit_t unit, sfshm_op_t op, const sfshm_move_t *move)
{
  sfshm_kernels_find(unit, op)->scatter(unit, &move->from_pattern, 0, move->from, &move->to_pattern, move->to, 0,
                                        move->n);
}

static void run_one(void *argument)
{
  const one_t *one = argument;
  run(one->unit, one->op, &one->move);
}

static void run_all(void *argument)
{
  const sfc_moves_t *moves = argument;
  for (int32_t i = 0; i < moves->n; i++)
    if (moves->moves[i].n > 0)
      run(moves->unit, moves->op, &moves->moves[i]);
}

sf_status_t sfc_move(const sfc_streams_t *streams, bool on_host, sfshm_unit_t unit, sfshm_op_t op,
                     const sfshm_move_t *move)
{
  one_t one = {unit, op, *move};
  if (move->n == 0)
    return SF_OK;
  if (on_host)
    return streams->ops->call(streams->device, run_one, &one, sizeof one);
  return streams->ops->scatter(streams->device, unit, op, move);
}

/* By the host: then the words are raised behind that. */
static sf_status_t call_all(const sfc_streams_t *streams, const sfc_moves_t *moves, int32_t nwords)
{
  sf_status_t status =
      streams->ops->call(streams->device, run_all, moves, sizeof *moves + (size_t)moves->n * sizeof moves->moves[0]);
  return status == SF_OK ? streams->ops->raise(streams->device, streams->words, nwords) : status;
}

sf_status_t sfc_moves_give(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t number, bool on_host,
                           sfshm_trace_work_t work, int32_t nwords)
{
  const sfc_moves_t *moves = streams->moves;
  int64_t n = 0;
  for (int32_t i = 0; i < moves->n; i++)
    n += moves->moves[i].n;
  if (n == 0)
    return streams->ops->raise(streams->device, streams->words, nwords);
  sfc_streams_watch_work(streams, streamed, moves->lane, on_host ? SFSHM_TRACE_WORK_CALL : work);
  if (on_host)
    return call_all(streams, moves, nwords);
  return streams->ops->scatter_all(streams->device, number, moves->unit, moves->op, false, moves->moves, moves->n,
                                   streams->words, nwords);
}

static sfshm_move_t pack_of(const sf_streamed_t *streamed, const sfc_link_t *link, char *slot)
{
  int64_t n = sfc_link_count(link, streamed->operation);
  return sfc_move_of(streamed->operation == SFSHM_BCAST ? link->value_root : link->leaf, streamed->source,
                     sfshm_pattern_contiguous(0, n), slot, n);
}

void sfc_move_add_pack(const sf_streamed_t *streamed, const sfc_link_t *link, const sfc_lane_t *lane, char *slot,
                       sfc_moves_t *moves)
{
  sfc_moves_add(moves, lane, pack_of(streamed, link, slot));
}

void sfc_move_add_unpack(const sf_streamed_t *streamed, const sfc_link_t *link, const sfc_lane_t *lane,
                         const char *slot, sfc_moves_t *moves)
{
  int64_t n = link->nvalues, nextra = link->extra_value.n;
  sfshm_paths_t paths = sfc_link_paths(link, streamed->operation);
  sfc_moves_add(moves, lane, sfc_move_of(sfshm_pattern_contiguous(0, n), slot, paths.to, streamed->target, n));
  if (streamed->operation == SFSHM_BCAST) {
    paths.extra_from = link->extra_value;
  } else {
    paths.extra_from = sfshm_pattern_contiguous(0, nextra);
    slot += (size_t)n * sfshm_unit_size(streamed->unit);
  }
  sfc_moves_add(moves, lane, sfc_move_of(paths.extra_from, slot, paths.extra_to, streamed->target, nextra));
}

/* ---- Edges that never leave the rank ----------------------------------------------------------------------------- */

static bool takes_slot(const sf_streamed_t *streamed)
{
  return streamed->source_on_host != streamed->target_on_host;
}

sf_status_t sfc_move_self(const sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  const sfc_link_t *link = &streams->graph->plan.self;
  if (link->nedges == 0 || !takes_slot(streamed))
    return SF_OK;
  sfshm_move_t move = pack_of(streamed, link, sfc_streams_address(streams->room.self_slot, streamed->source_on_host));
  sfc_streams_watch_work(streams, streamed, NULL,
                         streamed->source_on_host ? SFSHM_TRACE_WORK_CALL : SFSHM_TRACE_WORK_TO_HOST);
  return sfc_move(streams, streamed->source_on_host, streamed->unit, SFSHM_OP_REPLACE, &move);
}

void sfc_move_add_self(const sfc_streams_t *streams, const sf_streamed_t *streamed, sfc_moves_t *moves)
{
  const sfc_link_t *link = &streams->graph->plan.self;
  if (link->nedges == 0)
    return;
  if (takes_slot(streamed)) {
    sfc_move_add_unpack(streamed, link, NULL, sfc_streams_address(streams->room.self_slot, streamed->target_on_host),
                        moves);
    return;
  }
  sfshm_paths_t paths = sfc_link_paths(link, streamed->operation);
  sfc_moves_add(moves, NULL, sfc_move_of(paths.from, streamed->source, paths.to, streamed->target, link->nvalues));
  sfc_moves_add(moves, NULL,
                sfc_move_of(paths.extra_from, streamed->source, paths.extra_to, streamed->target, link->extra_value.n));
}
