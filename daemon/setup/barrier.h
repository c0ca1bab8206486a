/* Barrier: all ranks of a graph enter before they create together what some of the graph's operations need. Entering is
 * a call like any other: it has a number among the operations of the graph and is compared with the other ranks' calls
 * (call_compare.h). If a rank calls something else instead, the graph fails, and the ranks that wait get that error.
 *
 * Over nodes, entries go up the tree of the group's nodes (node_tree.h), and the result goes down. A node that has
 * reported to its parent waits for the parent's answer in any case. A node that has not reported ends the barrier when
 * it hears that the graph has failed, for itself and for all nodes below. As the release needs a report of each node,
 * either all ranks go on or none.
 *
 *              ranks, or a child, enter                 all here and below have entered
 *   none ----------------------------------> ENTERED ----------------------------------> REPORTED (root: release)
 *                                               |  the graph fails: its error for all       |  the parent answers
 *                                               \------------------> none <----------------/ */
#ifndef SFD_SETUP_BARRIER_H
#define SFD_SETUP_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/jobs.h"
#include "shm/observe/calls.h"

void sfd_barrier_handle_enter(sfd_session_t *session, const Sfproto__Message *message);

sf_status_t sfd_barrier_handle_peer_enter(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_barrier_handle_peer_release(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

void sfd_barrier_graph_failed(sfd_graph_t *graph);

/* Whether the member of this node has entered. */
bool sfd_barrier_has_entered(const sfd_graph_t *graph, int32_t local);

/* The call by which ranks enter. */
typedef struct sfd_barrier_call {
  uint64_t call; /* descriptor, with the number on the graph */
  int32_t rank;  /* group rank of the caller */
} sfd_barrier_call_t;

/* The call of the rank that entered first; NULL: no rank has entered. */
const sfd_barrier_call_t *sfd_barrier_first_call(const sfd_graph_t *graph);

/* Detects ranks that use two graphs in different orders: some have entered only this barrier, others only another
 * barrier or set-up of the same group. At the second look that finds this, the graphs of the barriers fail. The first
 * look may be wrong: a rank may be elsewhere because it heard of a failure before the ranks here do. */
void sfd_barrier_check_order(sfd_graph_t *graph);

/* The job has failed: answers all ranks that wait. */
void sfd_barriers_fail(const sfd_job_t *job, sf_status_t status, const char *detail);

void sfd_barrier_free(sfd_graph_t *graph);

#endif
