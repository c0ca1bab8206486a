/* Turns of an ordered reduce: combines contributions, and this rank's own, in the combine order. The thread that uses
 * the graph. */
#ifndef SFC_ENGINE_TURNS_H
#define SFC_ENGINE_TURNS_H

#include "client/engine/operation.h"

/* Applies the edges within the rank. */
void sfc_request_do_self(sf_request_t *request);

/* Advances an ordered reduce to the next contribution of another rank. */
void sfc_request_advance(sf_request_t *request);

/* Whether the next turn is the lane's. */
static inline bool sfc_request_is_turn(const sf_request_t *request, const sfc_lane_t *lane)
{
  return request->graph->plan.turns[request->turn].lane == (int32_t)(lane - request->graph->lanes);
}

/* Ends a turn whose contribution has been combined. */
static inline void sfc_request_end_turn(sf_request_t *request)
{
  request->turn++;
  sfc_request_advance(request);
}

#endif
