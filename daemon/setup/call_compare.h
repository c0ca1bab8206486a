/* Comparison of the calls of all ranks of a graph, also of ranks that no edge connects; it detects all mismatches
 * beyond edges. Each rank keeps its calls in its counters (shm/observe/calls.h). The daemon reads the counters from
 * time to time while graphs of several ranks exist, rarely while nothing changes. Each node sends its neighbours in the
 * tree of the graph's group the calls of the rank that has called the most; they forward them. A difference fails the
 * graph. A rank that has destroyed the graph or left the job calls nothing more; a rank that calls more operations than
 * such a rank would wait forever, so the graph fails. The daemon detects such calls in counters, in messages of
 * neighbours, in data and questions that name the operation (SFD_PEER_DATA, SFD_PEER_AWAIT), and in barriers. If the
 * graph is gone here, the daemon answers with GraphGone. Whatever was sent for an operation arrives before that answer;
 * a receiver that has nothing for the operation will get nothing. The daemon's thread. */
#ifndef SFD_SETUP_CALL_COMPARE_H
#define SFD_SETUP_CALL_COMPARE_H

#include "daemon/jobs.h"
#include "daemon/net.h"
#include "shm/observe/counters.h"

typedef struct sfd_calls sfd_calls_t;

/* Timing of the comparison. */
typedef struct sfd_call_watch {
  uv_timer_t timer;  /* runs while there are graphs of several ranks */
  uint64_t pause_ms; /* until the next comparison */
  uint64_t least_ms; /* minimum pause, from the cost of the last comparison */
  uint64_t look;     /* number of the comparison */
} sfd_call_watch_t;

/* The graph is ready for use. */
void sfd_calls_watch(const sfd_graph_t *graph);

/* The member of this node calls nothing more on the graph. */
void sfd_calls_end(sfd_graph_t *graph, const sfd_ended_rank_t *rank);

/* A rank of this node leaves without having destroyed the graph. */
void sfd_calls_leave(sfd_graph_t *graph, const sfd_rank_t *rank);

/* No member of this node calls anything more. If other nodes wait for them, the graph fails there. */
void sfd_calls_end_graph(sfd_graph_t *graph);

/* Another node has named an operation of the graph. */
void sfd_calls_named(const sfd_graph_t *graph);

/* Another node has named an operation of a graph that is not here. Answers if the job has not failed. */
void sfd_calls_named_gone(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* Ranks have entered a barrier: fails the graph if a member here calls nothing more. */
void sfd_calls_check_barrier(sfd_graph_t *graph);

#define SFD_CALLS_NAME_BYTES (SFSHM_PLACE_BYTES + 32)

/* Writes "graph 7 (ocean.c:32)", with the call site if a member here has published it. */
void sfd_calls_graph_text(const sfd_graph_t *graph, char text[], size_t text_bytes);

/* NULL is accepted. */
void sfd_calls_free(sfd_calls_t *calls);

sf_status_t sfd_calls_handle_gone(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_calls_handle(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif
