/* Barrier of a graph's ranks, at the daemon, before they make together what the graph needs for some of its operations:
 * set-ups would wait for ranks that have called something else. Such a call takes its place among the operations of the
 * graph: it has a number and a descriptor (shm/lane/message.h), with which it is compared like any other call. */
#ifndef SFC_ENGINE_BARRIER_H
#define SFC_ENGINE_BARRIER_H

#include "client/graph.h"
#include "shm/lane/message.h"

/* Waits until all ranks have come for the same. before: what is wrong with this rank's call, with the thread's text; it
 * comes all the same, as the others wait. SF_OK: all go on, and take part in what they make, whatever fails from now
 * on. Else none goes on: the graph has failed, and this is why; or ranks have come with an error, and this is that of
 * the lowest: the graph is as it was. */
sf_status_t sfc_graph_barrier(sf_status_t before, sf_graph_t *graph, sfshm_make_t what);

#endif
