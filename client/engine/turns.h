/* Turns of a reduce: in which order contributions from other ranks, and this rank's own, are combined at its roots. The
 * thread that uses the graph. */
#ifndef SFC_ENGINE_TURNS_H
#define SFC_ENGINE_TURNS_H

#include "client/engine/operation.h"

/* Applies the edges within the rank. */
void sfc_request_do_self(sf_request_t *request);

/* Moves an ordered reduce on to the next contribution that has to come from another rank. */
void sfc_request_advance(sf_request_t *request);

/* Whether the next contribution to an ordered reduce is that of a lane. */
static inline bool sfc_request_is_turn(const sf_request_t *request, const sfc_lane_t *lane)
{
  return request->graph->plan.turns[request->turn].lane == (int32_t)(lane - request->graph->lanes);
}

/* It has been combined. */
static inline void sfc_request_end_turn(sf_request_t *request)
{
  request->turn++;
  sfc_request_advance(request);
}

#endif
