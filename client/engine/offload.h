/* Work that this rank offers to the workers of its daemon: copies of large payloads between sf_alloc buffers of ranks
 * of the node, which go on while both owners compute. Each is divided into pieces, and whoever is first does a piece:
 * the worker, or the owner when it makes progress (shm/lane/claim.h). What nobody takes up is done as if it had not
 * been offered.
 *
 * The writer of a message offers its buffer as the source, and the message says, as for all that is read in place,
 * where the reader finds it. The reader offers its own buffer as the target when it begins the operation, before any
 * message has come. Only what is begun and ended by
 * separate calls is offered.
 *
 * Workers go along the edges of the rank that owns the leaves. That rank gives the daemon its edge list, sealed, before
 * its first offer on a graph: set-up does not pay for what most graphs never use. The thread that uses the graph. */
#ifndef SFC_ENGINE_OFFLOAD_H
#define SFC_ENGINE_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "client/engine/operation.h"
#include "client/graph.h"
#include "shm/kernels/paths.h"
#include "shm/lane/claim.h"

/* An offer that has been made; ticket 0: none. */
typedef struct sfc_offer {
  uint64_t sequence; /* of the operation */
  uint32_t ticket;
  uint32_t claim;
} sfc_offer_t;

/* The offers of one lane. */
typedef struct sfc_offers {
  sfc_offer_t sources[SFSHM_LANE_SLOTS]; /* by message, as awaiting */
  sfc_offer_t targets[SFSHM_LANE_SLOTS]; /* by operation */
  bool in_vain; /* the last message for which a target was offered was not one to be read in place */
} sfc_offers_t;

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Which parts of the request may be offered, for the buffers that it has: SFC_OFFER_*. */
uint32_t sfc_offload_parts(const sf_request_t *request);

/* Which parts will be offered now. */
uint32_t sfc_offload_choose(const sf_request_t *request);

static inline uint32_t sfc_offload_begun(const sf_request_t *request)
{
  return request->may_offer == 0 ? 0 : sfc_offload_choose(request);
}

/* Whether the request's message on that lane, of so many bytes, is to be offered as a source. */
static inline bool sfc_offload_sends(const sf_request_t *request, size_t bytes)
{
  return (request->offers & SFC_OFFER_SOURCE) != 0 && bytes >= SFSHM_OFFLOAD_MIN_BYTES;
}

/* Offers the source of the message that was just posted. */
void sfc_offload_source(sfc_lane_t *lane, const sf_request_t *request);

/* Whether the message, which the lane's other end has not consumed, has been copied by a worker. */
bool sfc_offload_source_done(const sfc_lane_t *lane, uint64_t message);

/* The message's buffer has been read, by whomever. */
void sfc_offload_end_source(sfc_lane_t *lane, uint64_t message);

/* Offers the targets of a request that has begun. */
void sfc_offload_targets(const sf_request_t *request);

/* The offer of the lane for that request; NULL: none. */
sfc_offer_t *sfc_offload_target(const sfc_lane_t *lane, const sf_request_t *request);

/* Whether others have done all of it; then it is ended. */
bool sfc_offload_target_done(sfc_lane_t *lane, const sf_request_t *request, sfc_offer_t *offer);

/* Does what nobody has taken, with the writer's buffer at source. True when all is done, and the offer ended; false
 * while others are in the middle of their pieces: they will wake this rank. */
bool sfc_offload_share(sfc_lane_t *lane, const sf_request_t *request, sfc_offer_t *offer, const char *source);

/* A message of the request has come, by that method: offers are for those to be read in place. */
void sfc_offload_note_protocol(sfc_lane_t *lane, const sf_request_t *request, sfshm_method_t method);

/* The request is at its end: takes back what it still offers, and waits for workers that are in the middle of it. */
void sfc_offload_end(const sf_request_t *request);

/* The lane's graph is freed. */
void sfc_offload_free_lane(sfc_lane_t *lane);

#endif
