/* Moving data on streams, by kernels of the device or by functions of the host that take a kernel's place: see
 * streams.h. The thread that uses the graph. */
#ifndef SFC_STREAMS_MOVE_H
#define SFC_STREAMS_MOVE_H

#include "client/streams.h"

/* One scatter, as the kernels of hosts and devices take it. */
typedef struct sfc_move {
  sfshm_unit_t unit;
  sfshm_op_t op;
  sfshm_pattern_t from_pattern;
  const char *from;
  sfshm_pattern_t to_pattern;
  char *to;
  int64_t n;
} sfc_move_t;

/* on_host: all that is not in pinned memory is memory of the host. */
sf_status_t sfc_move(const sfc_streams_t *streams, bool on_host, const sfc_move_t *move);

static inline char *sfc_seen_by(sfc_seen_t place, bool host)
{
  return host ? place.host : place.device;
}

static inline sfc_seen_t sfc_seen_behind(sfc_seen_t place, size_t offset)
{
  return (sfc_seen_t){place.host + offset, place.device + offset};
}

/* What the link sends, to a slot. */
sf_status_t sfc_move_pack(const sfc_streams_t *streams, const sf_streamed_t *streamed, const sfc_link_t *link,
                          const sfc_lane_t *lane, sfc_seen_t slot);

/* From a slot to where the link's edges lead: first as many as there are values, then the extra ones. */
sf_status_t sfc_move_unpack(const sfc_streams_t *streams, const sf_streamed_t *streamed, const sfc_link_t *link,
                            const sfc_lane_t *lane, sfc_seen_t slot);

/* Edges that never leave the rank; by way of a slot if one end of them is on the host. */
sf_status_t sfc_move_self(const sfc_streams_t *streams, const sf_streamed_t *streamed);

#endif
