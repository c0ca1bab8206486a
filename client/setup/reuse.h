/* Making a graph again whose plan is kept, together with the other ranks and the daemons. One message each way: slots
 * are told with the request, as the plan knows whom they are for. If another rank does not name the same earlier graph,
 * or a daemon has forgotten it, all ranks are asked for their edges. */
#ifndef SFC_REUSE_H
#define SFC_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/setup/plan_cache.h"

typedef struct sfc_reuse {
  bool done;
  bool asked; /* for the edges */
  uint64_t asked_number;
} sfc_reuse_t;

/* If the group's latest graph of these edges and flags is known, proposes to make the graph out of its plan. done: the
 * graph is ready, or has failed for all; else it is as empty as it was. Errors are those of the request: of all ranks.
 */
sf_status_t sfc_reuse_try(sf_graph_t *graph, const sfc_edge_input_t *input, sfc_reuse_t *reuse_p);

#endif
