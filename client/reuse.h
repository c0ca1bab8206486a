/* Making a graph again whose plan is kept, together with the other ranks and the daemons. One message each way: slots
 * are told with the request, as the plan knows whom they are for. If another rank does not name the same earlier graph,
 * or a daemon has forgotten it, all ranks are asked for their edges. */
#ifndef SFC_REUSE_H
#define SFC_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/plan.h"
#include "proto/conn.h"

typedef struct sfc_reuse {
  bool done;
  bool asked; /* for the edges */
  uint64_t asked_number;
} sfc_reuse_t;

/* What is proposed: a graph with the plan of an earlier one, or with a part of it. */
typedef struct sfc_proposal {
  uint64_t of; /* number of the earlier graph */
  bool part;
  int32_t nroot_ranks;   /* other ranks to whose roots the edges lead */
  const uint64_t *marks; /* by lane: where in the block of shared memory its marks are; NULL: there are none */
  bool has_far;          /* marks of values of other nodes, there: */
  uint64_t far_marks;
  /* What is left to do when the others have answered; NULL: nothing. */
  sf_status_t (*complete)(sf_graph_t *graph, sfproto_incoming_t *ready, void *argument);
  void *argument;
} sfc_proposal_t;

/* Proposes to make the graph, whose lanes have slots. asked: as with sfc_reuse_try. */
sf_status_t sfc_reuse_propose(sf_graph_t *graph, const sfc_proposal_t *proposal, sfc_reuse_t *reuse_p);

/* Makes the graph as empty as it was. Nobody has been told of its slots. */
void sfc_reuse_take_back(sf_graph_t *graph);

/* If the group's latest graph of these edges and flags is known, proposes to make the graph out of its plan. done: the
 * graph is ready, or has failed for all; else it is as empty as it was. Errors are those of the request: of all ranks.
 */
sf_status_t sfc_reuse_try(sf_graph_t *graph, const sfc_edge_input_t *input, sfc_reuse_t *reuse_p);

#endif
