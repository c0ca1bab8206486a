/* Ranks of a graph that meet before they make together what the graph needs for some of its operations. The set-ups of
 * that would wait for ranks that have called something else. So nobody begins them before all ranks have come for the
 * same, by the same number among the operations of the graph; if one does something else the graph fails, and who waits
 * gets that error: coming is a call like any other, and is compared like these (call_compare.h).
 *
 * Over nodes the ranks come together up the tree of the group's nodes (node_tree.h), and what has become of it goes
 * down. A node that has told its parent of its ranks and of those below waits for the answer, whatever happens; one
 * that has not ends the meeting as soon as it hears that the graph has failed, for itself and all below. So either all
 * ranks go on or none: for going on takes each node's word, and one that has ended a meeting gives none any more.
 *
 *              ranks, or a child, come                  all have come here and below
 *   none ----------------------------------> COMING ----------------------------------> TOLD (the root: all go on)
 *                                               |  the graph fails: its error for all       |  the parent answers
 *                                               \------------------> none <----------------/
 */
#ifndef SFD_SETUP_BARRIER_H
#define SFD_SETUP_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/jobs.h"
#include "shm/observe/calls.h"

void sfd_barrier_handle_enter(sfd_session_t *session, const Sfproto__Message *message);

sf_status_t sfd_barrier_handle_peer_enter(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_barrier_handle_peer_release(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* The graph has failed here. */
void sfd_barrier_graph_failed(sfd_graph_t *graph);

/* Whether the member of this node waits there. */
bool sfd_barrier_has_entered(const sfd_graph_t *graph, int32_t local);

/* What ranks have come for. */
typedef struct sfd_barrier_call {
  uint64_t call; /* its descriptor, with its number on the graph */
  int32_t rank;  /* of the group: the one that says so */
} sfd_barrier_call_t;

/* NULL: none has come. */
const sfd_barrier_call_t *sfd_barrier_first_call(const sfd_graph_t *graph);

/* Looks whether some have come to the graph's meeting only and others to another one, or to a set-up, of the group
 * only: each of the two may wait for those who are in the other, as ranks do it in another order. If so the graphs of
 * the meetings fail; but not at the first look, as a rank may come to something else because it has heard of a failure
 * that those who wait here are yet to hear of. */
void sfd_barrier_check_order(sfd_graph_t *graph);

/* The job has failed: all who wait are answered. */
void sfd_barriers_fail(const sfd_job_t *job, sf_status_t status, const char *detail);

/* Silently. */
void sfd_barrier_free(sfd_graph_t *graph);

#endif
