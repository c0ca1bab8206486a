/* Moving data on streams: see streams_move.h. */
#include "client/streams_move.h"

static void run_on_host(void *argument)
{
  const sfc_move_t *move = argument;
  sfshm_kernels_find(move->unit, move->op)
      ->scatter(move->unit, &move->from_pattern, 0, move->from, &move->to_pattern, move->to, 0, move->n);
}

sf_status_t sfc_move(const sfc_streams_t *streams, bool on_host, const sfc_move_t *move)
{
  if (move->n == 0)
    return SF_OK;
  if (on_host)
    return streams->ops->call(streams->device, run_on_host, move, sizeof *move);
  return streams->ops->scatter(streams->device, move->unit, move->op, &move->from_pattern, 0, move->from,
                               &move->to_pattern, move->to, 0, move->n);
}

sf_status_t sfc_move_pack(const sfc_streams_t *streams, const sf_streamed_t *streamed, const sfc_link_t *link,
                          const sfc_lane_t *lane, sfc_seen_t slot)
{
  bool bcast = streamed->operation == SFSHM_BCAST;
  int64_t n = sfc_link_count(link, streamed->operation);
  sfc_move_t move = {.unit = streamed->unit,
                     .op = SFSHM_OP_REPLACE,
                     .from_pattern = bcast ? link->value_root : link->leaf,
                     .from = streamed->source,
                     .to_pattern = sfshm_pattern_contiguous(0, n),
                     .to = sfc_seen_by(slot, streamed->source_on_host),
                     .n = n};
  sfc_streams_watch_work(streams, streamed, lane,
                         streamed->source_on_host ? SFSHM_TRACE_WORK_CALL : SFSHM_TRACE_WORK_TO_HOST);
  return sfc_move(streams, streamed->source_on_host, &move);
}

sf_status_t sfc_move_unpack(const sfc_streams_t *streams, const sf_streamed_t *streamed, const sfc_link_t *link,
                            const sfc_lane_t *lane, sfc_seen_t slot)
{
  bool bcast = streamed->operation == SFSHM_BCAST;
  const char *packed = sfc_seen_by(slot, streamed->target_on_host);
  sfc_move_t move = {.unit = streamed->unit,
                     .op = streamed->op,
                     .from_pattern = sfshm_pattern_contiguous(0, link->nvalues),
                     .from = packed,
                     .to_pattern = bcast ? link->leaf : link->value_root,
                     .to = streamed->target,
                     .n = link->nvalues};
  sfc_streams_watch_work(streams, streamed, lane,
                         streamed->target_on_host ? SFSHM_TRACE_WORK_CALL : SFSHM_TRACE_WORK_FROM_HOST);
  sf_status_t status = sfc_move(streams, streamed->target_on_host, &move);
  move.n = link->extra_value.n;
  move.from_pattern = bcast ? link->extra_value : sfshm_pattern_contiguous(0, move.n);
  move.from = bcast ? packed : packed + (size_t)link->nvalues * sfshm_unit_size(streamed->unit);
  move.to_pattern = bcast ? link->extra_leaf : link->extra_root;
  return status == SF_OK ? sfc_move(streams, streamed->target_on_host, &move) : status;
}

sf_status_t sfc_move_self(const sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  const sfc_link_t *link = &streams->graph->self;
  if (link->nedges == 0)
    return SF_OK;
  if (streamed->source_on_host != streamed->target_on_host) {
    sf_status_t status = sfc_move_pack(streams, streamed, link, NULL, streams->room.self_slot);
    return status == SF_OK ? sfc_move_unpack(streams, streamed, link, NULL, streams->room.self_slot) : status;
  }
  sfshm_paths_t paths = sfc_link_paths(link, streamed->operation);
  sfc_move_t move = {.unit = streamed->unit,
                     .op = streamed->op,
                     .from_pattern = paths.from,
                     .from = streamed->source,
                     .to_pattern = paths.to,
                     .to = streamed->target,
                     .n = link->nvalues};
  sfc_streams_watch_work(streams, streamed, NULL,
                         streamed->source_on_host ? SFSHM_TRACE_WORK_CALL : SFSHM_TRACE_WORK_WITHIN);
  sf_status_t status = sfc_move(streams, streamed->source_on_host, &move);
  move.from_pattern = paths.extra_from;
  move.to_pattern = paths.extra_to;
  move.n = link->extra_value.n;
  return status == SF_OK ? sfc_move(streams, streamed->source_on_host, &move) : status;
}
