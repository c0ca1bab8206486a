/* Set-up of graphs on this node, in two rounds. Each member of the group sends a message, the daemons wait for all and
 * agree (tree_agreement.h), and each member is answered with what the others sent for it (reply.h).
 *
 *   round 1   GraphCreate  edges: which leaves on which roots (round1_edges.h; between nodes: root_requests.h)
 *   round 2   GraphCommit  lanes: where each rank writes (round2_lanes.h)
 *
 * With GraphCreate a member may propose that the graph be ready without round 2: it adds its lanes, and may name an
 * earlier graph with the same edges instead of sending edges (proposal.h).
 *
 * An error of one rank is the answer to all in that round; of several errors the one with the lowest (rank, leaf).
 * local numbers the members of this node. */
#ifndef SFD_SETUP_SETUP_H
#define SFD_SETUP_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data.h"
#include "daemon/jobs.h"
#include "shm/region/region.h"

/* Memory into which the rank at the other end writes. */
typedef struct sfd_lane {
  int32_t rank; /* group rank at the other end */
  uint64_t segment;
  uint64_t slots;
  uint64_t control;
  bool can_read;
} sfd_lane_t;

/* State of a member in this round. */
typedef enum sfd_member_state {
  SFD_MEMBER_AWAITED,  /* has not arrived */
  SFD_MEMBER_ASKED,    /* round 1: named an earlier graph, and is asked for its edges */
  SFD_MEMBER_WAITING,  /* has arrived, and waits for the answer */
  SFD_MEMBER_ANSWERED, /* has been answered, or has left */
} sfd_member_state_t;

typedef struct sfd_setup_member {
  sfd_member_state_t state;
  bool wrong;    /* the rank reported an error: nroots is not valid */
  bool proposes; /* sent lanes: of the earlier graph, or for each block to a local rank */
  uint64_t request;
  uint64_t earlier; /* the graph that it named; 0: it sent edges */
  int64_t nroots;
  int64_t nleaves;
  int32_t nroot_ranks; /* ranks on whose roots it has leaves, without itself */
  uint32_t flags;
  int edges_fd;             /* -1: none */
  sfd_edge_block_t *blocks; /* by rank; round 1 only */
  int32_t nblocks;
  sfd_lane_t *lanes; /* by rank; round 2, or proposed */
  int32_t nlanes;
} sfd_setup_member_t;

static inline bool sfd_setup_has_come(const sfd_setup_member_t *member)
{
  return member->state >= SFD_MEMBER_WAITING;
}

/* States of a set-up. On one or two nodes nothing is left to agree on in CONFIRMING, and the graph is ready at once.
 *
 *   COLLECTING ---all members named one earlier graph---> VOTING ---all nodes voted for it---> CONFIRMING
 *       |                                                   |                                   ^     |
 *       | a member, or another node, has edges              | a node lacks the graph            |     |
 *       v                                                   v                                   |     | all nodes
 *     EDGES <-----------------------------------------------/                                   |     | can
 *       |                                                                                       |     v
 *       +---all members sent edges, all nodes agree, and round 2 is unnecessary-----------------/   READY
 *       |                                                                                             ^
 *       | the same, but lanes are missing                                                             |
 *       v                                                                                             |
 *     LANES ---all members have sent GraphCommit, all nodes agree-------------------------------------/
 *       |
 *       | a member leaves
 *       v
 *     FAILED: each GraphCommit is answered at once
 *
 * An error that the nodes agree on ends the set-up in any state; before CONFIRMING a member that leaves does, too. */
typedef enum sfd_setup_state {
  SFD_SETUP_COLLECTING,
  SFD_SETUP_VOTING,
  SFD_SETUP_EDGES, /* members that named an earlier graph are asked for edges */
  SFD_SETUP_CONFIRMING,
  SFD_SETUP_LANES,
  SFD_SETUP_FAILED,
} sfd_setup_state_t;

typedef struct sfd_setup {
  sfd_setup_state_t state;
  int32_t nhere;                           /* members that have arrived */
  sfd_agreement_t agreement;               /* of this round */
  sfd_agreement_t vote;                    /* on reuse of an earlier graph */
  uint64_t earlier;                        /* the graph to be reused; 0: none */
  bool compared;                           /* two nodes: the root requests have been checked */
  struct sfd_root_requests *root_requests; /* round 1 between nodes; NULL: nothing */
  sfd_setup_member_t members[];
} sfd_setup_t;

void sfd_setup_free(sfd_graph_t *graph);

/* Records an error; the one with the lowest (rank, leaf) stays. */
void sfd_setup_note_error(sfd_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf, const char *detail);

/* The local member with that group rank. */
sfd_setup_member_t *sfd_setup_member(const sfd_graph_t *graph, int32_t group_rank);

/* The graph in set-up with that number of the group, or NULL. */
sfd_graph_t *sfd_setup_find(const sfd_group_t *group, uint64_t number);

/* The same, begun if needed; NULL: a member of the group has left. SF_ERR_NOMEM: the channel to the node that sent the
 * message must end, as the node would wait forever. */
sf_status_t sfd_setup_find_gathering(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p);

/* All members of this node have arrived in round 1. */
void sfd_setup_members_came(sfd_graph_t *graph);

/* The root requests are answered: this node's part of round 1 is complete. */
void sfd_setup_edges_done(sfd_graph_t *graph);

/* Agreements on edges (round 1), lanes (round 2), and reuse of an earlier graph. */
extern const sfd_agreement_ops_t sfd_setup_edges_agreement;
extern const sfd_agreement_ops_t sfd_setup_lanes_agreement;
extern const sfd_agreement_ops_t sfd_setup_vote_agreement;

/* Marks the member as answered. NULL: its session has ended. */
sfd_session_t *sfd_setup_mark_answered(const sfd_graph_t *graph, int32_t local);

/* A member of this node leaves the group: ends set-ups that need it. */
void sfd_setups_member_gone(sfd_group_t *group, int32_t group_rank, const char *text);

/* Members on other nodes have left: ends set-ups that need them. */
void sfd_setups_sweep(sfd_group_t *group);

/* A rank of this node leaves: its set-ups in round 2 fail. */
void sfd_setups_leave(sfd_rank_t *rank, const char *text);

/* Answers all members that wait, and frees all graphs in set-up. */
void sfd_setups_fail(sfd_job_t *job, sf_status_t status, const char *detail);

void sfd_setup_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_setup_handle_commit(sfd_session_t *session, const Sfproto__Message *message);

#endif
