/* Offloading: copies of large payloads between sf_alloc buffers of ranks of the node, offered to the daemon's workers,
 * so that they proceed while both owners compute. A copy is divided into pieces; the worker or the owner that makes
 * progress takes each piece (shm/lane/claim.h). Pieces that no worker takes are copied as without an offer.
 *
 * The writer of a message offers its buffer as the source; the message tells the reader where it is, as for zero-copy.
 * The reader offers its buffer as the target when it begins the operation, before the message arrives. Only operations
 * begun and ended by separate calls are offered.
 *
 * Workers follow the edges of the rank that owns the leaves. That rank gives the daemon its sealed edge list before its
 * first offer on a graph, so that set-up does not pay for it. The thread that uses the graph. */
#ifndef SFC_ENGINE_OFFLOAD_H
#define SFC_ENGINE_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "client/engine/operation.h"
#include "client/graph.h"
#include "shm/kernels/paths.h"
#include "shm/lane/claim.h"

/* An offer; ticket 0: none. */
typedef struct sfc_offer {
  uint64_t sequence;
  uint32_t ticket;
  uint32_t claim;
} sfc_offer_t;

/* The offers of a lane. */
typedef struct sfc_offers {
  sfc_offer_t sources[SFC_LANE_AWAITING]; /* by message, as awaiting */
  sfc_offer_t targets[SFSHM_LANE_SLOTS];
  bool in_vain; /* the last message with an offered target was not zero-copy */
} sfc_offers_t;

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Parts of the request that may be offered, for its buffers: SFC_OFFER_*. */
uint32_t sfc_offload_parts(const sf_request_t *request);

/* Parts that are offered now. */
uint32_t sfc_offload_choose(const sf_request_t *request);

static inline uint32_t sfc_offload_begun(const sf_request_t *request)
{
  return request->may_offer == 0 ? 0 : sfc_offload_choose(request);
}

/* Whether to offer the request's message of that many bytes as a source. */
static inline bool sfc_offload_sends(const sf_request_t *request, size_t bytes)
{
  return (request->offers & SFC_OFFER_SOURCE) != 0 && bytes >= SFSHM_OFFLOAD_MIN_BYTES;
}

/* Offers the source of the message just posted. */
void sfc_offload_source(sfc_lane_t *lane, const sf_request_t *request);

/* Whether a worker has copied the message, which the peer has not consumed. */
bool sfc_offload_source_done(const sfc_lane_t *lane, uint64_t message);

/* Ends the offer: the message's buffer has been read. */
void sfc_offload_end_source(sfc_lane_t *lane, uint64_t message);

/* Offers the targets of a request just begun. */
void sfc_offload_targets(const sf_request_t *request);

/* The lane's offer for the request; NULL: none. */
sfc_offer_t *sfc_offload_target(const sfc_lane_t *lane, const sf_request_t *request);

/* Whether all pieces are done; then ends the offer. */
bool sfc_offload_target_done(sfc_lane_t *lane, const sf_request_t *request, sfc_offer_t *offer);

/* Copies the pieces that nobody has taken, from the writer's buffer at source. true: all are done, and the offer ended;
 * false: workers copy the rest and will wake this rank. */
bool sfc_offload_share(sfc_lane_t *lane, const sf_request_t *request, sfc_offer_t *offer, const char *source);

/* Notes the protocol of an arrived message: offers are for zero-copy only. */
void sfc_offload_note_protocol(sfc_lane_t *lane, const sf_request_t *request, sfshm_method_t method);

/* Ends the request's offers, and waits for workers in the middle of one. */
void sfc_offload_end(const sf_request_t *request);

/* Frees the offers of a lane. */
void sfc_offload_free_lane(sfc_lane_t *lane);

#endif
