/* Comparison of what all ranks of a graph call, also of ranks between which no message ever passes: ranks in parts of a
 * graph that no edge connects. It is the one detector of mismatches beyond edges. Each rank keeps in its counters what
 * it has called (shm/observe/calls.h); the daemon looks at them now and then, as long as there are graphs of several
 * ranks, and seldom when nothing moves. Between nodes each tells its neighbours in the tree of the graph's group what
 * the rank that has called the most called, as far as it knows, and they pass it on. A difference fails the graph.
 *
 * A rank that has destroyed the graph, or has left, calls nothing more. Whoever calls more operations than such a rank
 * waits in vain, and the graph fails. A daemon sees that in the counters of its ranks, in what neighbours tell, in data
 * and questions (SFD_PEER_DATA, SFD_PEER_AWAIT), which name the operation, and from ranks that meet (barrier.h). If the
 * graph is gone here the daemon answers the other nodes by GraphGone. What was sent before arrives before that answer,
 * so whoever gets it, and has nothing for the operation, will not get it any more. The daemon's thread. */
#ifndef SFD_SETUP_CALL_COMPARE_H
#define SFD_SETUP_CALL_COMPARE_H

#include "daemon/jobs.h"
#include "daemon/net.h"
#include "shm/observe/counters.h"

typedef struct sfd_calls sfd_calls_t;

/* When the daemon looks. */
typedef struct sfd_call_watch {
  uv_timer_t timer;  /* runs while there are graphs of several ranks */
  uint64_t pause_ms; /* until the next look */
  uint64_t least_ms; /* and at least, by what the last one took */
  uint64_t look;     /* its number */
} sfd_call_watch_t;

/* The graph can be used from now on. */
void sfd_calls_watch(const sfd_graph_t *graph);

/* A member of this node calls nothing more on the graph. */
void sfd_calls_end(sfd_graph_t *graph, const sfd_ended_rank_t *rank);

/* How a rank of this node that leaves, and has not destroyed the graph, ends its calls. */
void sfd_calls_leave(sfd_graph_t *graph, const sfd_rank_t *rank);

/* No member of this node calls anything more: if other nodes wait for them the graph fails there. */
void sfd_calls_end_graph(sfd_graph_t *graph);

/* Another node has named an operation of the graph. */
void sfd_calls_named(const sfd_graph_t *graph);

/* The same of a graph that this node does not have: answers if the job goes well, or did. */
void sfd_calls_named_gone(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* Ranks have come to a meeting of the graph: whether a member here calls nothing more, and will not come. */
void sfd_calls_check_barrier(sfd_graph_t *graph);

#define SFD_CALLS_NAME_BYTES (SFSHM_PLACE_BYTES + 32)

/* Writes "graph 7 (ocean.c:32)": with the place where it was made, if a member here says it. */
void sfd_calls_graph_text(const sfd_graph_t *graph, char text[], size_t text_bytes);

/* NULL is accepted. */
void sfd_calls_free(sfd_calls_t *calls);

sf_status_t sfd_calls_handle_gone(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_calls_handle(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif
