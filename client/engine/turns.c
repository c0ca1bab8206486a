/* Turns of a reduce: see turns.h. */
#include "client/engine/turns.h"

#include "client/engine/request.h"

void sfc_request_do_self(sf_request_t *request)
{
  const sfc_link_t *self = &request->graph->plan.self;
  if (request->payload != NULL) {
    request->payload->do_self(request);
    return;
  }
  sfc_fields_apply(request, self, NULL);
  sfshm_count(&request->graph->counts->bytes_self, (uint64_t)self->nedges * request->value_bytes);
}

void sfc_request_advance(sf_request_t *request)
{
  const sf_graph_t *graph = request->graph;
  for (; request->turn < graph->plan.nturns; request->turn++) {
    const sfc_turn_t *turn = &graph->plan.turns[request->turn];
    if (!sfc_turn_is_of(turn, request->replaces))
      continue;
    if (turn->lane != SFC_SELF_TURN)
      break;
    sfc_request_do_self(request);
  }
}
