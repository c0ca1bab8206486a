/* Barrier of a graph's ranks, at the daemon. Ranks enter it before they create together what some operations need
 * (multi-graph, stream areas), because a set-up would wait for ranks that have called something else. Entering is a
 * call with a number and a descriptor (shm/lane/message.h), compared like an operation. */
#ifndef SFC_ENGINE_BARRIER_H
#define SFC_ENGINE_BARRIER_H

#include "client/graph.h"

/* Waits until all ranks have entered for the same purpose. local_error: this rank's error, with the thread's text; the
 * rank enters nevertheless, because the others wait. SF_OK: all ranks continue together. Otherwise no rank continues:
 * either the graph has failed, or the barrier returns the error of the lowest rank that has one and leaves the graph
 * unchanged. */
sf_status_t sfc_graph_barrier(sf_status_t local_error, sf_graph_t *graph, sfshm_make_t what);

#endif
