/* Trunks of graphs that are parts of others, in groups over nodes: made out of the whole's (shm/merge/remains.h), which
 * must not have been destroyed when the members of this node come. Each rank says which of its values that come from
 * other nodes remain; each node tells those whose roots it wants in the whole what remains of these, in one notice, and
 * then arrives (again.h). When all nodes have, every notice has been sent, and who lacks one waits for it. Over two
 * nodes the notice comes before the arrival, and the graph is ready with that. */
#ifndef SFD_PARTS_H
#define SFD_PARTS_H

#include "daemon/channel.h"
#include "daemon/setup.h"

typedef struct sfd_parts sfd_parts_t;

/* The members of this node have come: finds out what remains, and tells. On failure nobody has been told. */
sf_status_t sfd_parts_begin(sfd_graph_t *graph);

/* All nodes have agreed that it is a part, in a graph that is in round 2: goes on when all notices are there. status:
 * or why it can't. */
void sfd_parts_agreed(sfd_graph_t *graph, sf_status_t status);

/* Takes the notice over. */
sf_status_t sfd_parts_arrived(sfd_group_t *group, int32_t node, const sfd_message_head_t *head, void *notice);

/* NULL is accepted. */
void sfd_parts_free(sfd_parts_t *parts);

#endif
