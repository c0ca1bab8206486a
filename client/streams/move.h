/* Moving data on streams, by kernels of the device or by functions of the host that take a kernel's place: see
 * operation.h. The thread that uses the graph. */
#ifndef SFC_STREAMS_MOVE_H
#define SFC_STREAMS_MOVE_H

#include "client/streams/operation.h"

/* One scatter. on_host: all that is not in pinned memory is memory of the host. */
sf_status_t sfc_move(const sfc_streams_t *streams, bool on_host, sfshm_unit_t unit, sfshm_op_t op,
                     const sfshm_move_t *move);

static inline sfshm_move_t sfc_move_of(sfshm_pattern_t from_pattern, const char *from, sfshm_pattern_t to_pattern,
                                       char *to, int64_t n)
{
  return (sfshm_move_t){.from_pattern = from_pattern, .from = from, .to_pattern = to_pattern, .to = to, .n = n};
}

/* Several that are given together; also the argument of the function of the host that does them. */
struct sfc_moves {
  sfshm_unit_t unit;
  sfshm_op_t op;
  const sfc_lane_t *lane; /* of all of them, or NULL */
  int32_t n;
  sfshm_move_t moves[];
};

static inline void sfc_moves_begin(sfc_moves_t *moves, sfshm_unit_t unit, sfshm_op_t op)
{
  moves->unit = unit;
  moves->op = op;
  moves->n = 0;
}

/* lane: which the move concerns; NULL: the rank itself. */
static inline void sfc_moves_add(sfc_moves_t *moves, const sfc_lane_t *lane, sfshm_move_t move)
{
  moves->lane = moves->n == 0 || moves->lane == lane ? lane : NULL;
  moves->moves[moves->n++] = move;
}

/* Gives all moves of `streams`, and then raises its first words. number: of what was prepared (see
 * sfshm_streams_ops_t). */
sf_status_t sfc_moves_give(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t number, bool on_host,
                           sfshm_trace_work_t work, int32_t nwords);

static inline char *sfc_streams_address(sfc_stream_pinned_t place, bool host)
{
  return host ? place.host : place.device;
}

static inline sfc_stream_pinned_t sfc_streams_pinned_at(sfc_stream_pinned_t place, size_t offset)
{
  return (sfc_stream_pinned_t){place.host + offset, place.device + offset};
}

/* What the link sends, to a slot, as that side sees it. */
void sfc_move_add_pack(const sf_streamed_t *streamed, const sfc_link_t *link, const sfc_lane_t *lane, char *slot,
                       sfc_moves_t *moves);

/* From a slot to where the link's edges lead: first as many as there are values, then the extra ones. */
void sfc_move_add_unpack(const sf_streamed_t *streamed, const sfc_link_t *link, const sfc_lane_t *lane,
                         const char *slot, sfc_moves_t *moves);

/* Edges that never leave the rank; by way of a slot if one end of them is on the host: what goes there is given before,
 * by sfc_move_self. */
sf_status_t sfc_move_self(const sfc_streams_t *streams, const sf_streamed_t *streamed);
void sfc_move_add_self(const sfc_streams_t *streams, const sf_streamed_t *streamed, sfc_moves_t *moves);

#endif
