/* Comparing what all ranks of a graph call, also those between which no message ever passes: ranks in parts of a graph
 * that no edge connects. Each rank keeps in its counters what it has called (shm/calls.h); the daemon looks at them now
 * and then, as long as there are graphs of several ranks, and seldom when nothing moves. Between nodes each tells its
 * parent in the tree of the graph's group what one of its members called. A difference fails the graph. The daemon's
 * thread. */
#ifndef SFD_CALLS_H
#define SFD_CALLS_H

#include "daemon/graph.h"

typedef struct sfd_calls sfd_calls_t;

/* The graph can be used from now on. */
void sfd_calls_watch(const sfd_graph_t *graph);

/* NULL is accepted. */
void sfd_calls_free(sfd_calls_t *calls);

sf_status_t sfd_calls_handle(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif
