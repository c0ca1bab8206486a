/* Set-up of graphs, as far as the ranks of this node go. Each member of the group says something, the daemons wait for
 * all and agree (tree_agreement.h), and each member is told what the others said for it (reply.h).
 *
 *   round 1   GraphCreate  edges: who has leaves on whose roots (round1_edges.h; between nodes: root_requests.h)
 *   round 2   GraphCommit  lanes: where who writes (round2_lanes.h)
 *
 * A member may propose with GraphCreate that the graph be ready without round 2: it tells its lanes, too, and instead
 * of its edges it may name an earlier graph that had the same edges (proposal.h).
 *
 * An error of one rank is the answer for all in the round in which it came; of several that of the lowest (rank, leaf).
 * Members are numbered as in the group's list of those of this node. */
#ifndef SFD_SETUP_SETUP_H
#define SFD_SETUP_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data.h"
#include "daemon/jobs.h"
#include "shm/region/region.h"

/* Where the rank at the other end writes. */
typedef struct sfd_lane {
  int32_t rank; /* of the group, at the other end */
  uint64_t segment;
  uint64_t slots;
  uint64_t control;
  bool can_read;
} sfd_lane_t;

/* What a member has said in this round. */
typedef enum sfd_member_state {
  SFD_MEMBER_AWAITED,  /* nothing */
  SFD_MEMBER_ASKED,    /* round 1: the name of an earlier graph; it has been asked for its edges */
  SFD_MEMBER_WAITING,  /* its part; it waits for the answer */
  SFD_MEMBER_ANSWERED, /* its part, and has been answered; or it has left */
} sfd_member_state_t;

typedef struct sfd_setup_member {
  sfd_member_state_t state;
  bool wrong;    /* its input is: nroots means nothing */
  bool proposes; /* lanes are there: those of the earlier graph, or one for each block that leads to a rank of this node
                  */
  uint64_t request;
  uint64_t earlier; /* the graph that it named; 0: it says what its edges are */
  int64_t nroots;
  int64_t nleaves;
  int32_t nroot_ranks; /* other ranks to whose roots its edges lead */
  uint32_t flags;
  int edges_fd;             /* -1: none */
  sfd_edge_block_t *blocks; /* ascending ranks; round 1 only */
  int32_t nblocks;
  sfd_lane_t *lanes; /* ascending ranks; round 2, or proposed */
  int32_t nlanes;
} sfd_setup_member_t;

static inline bool sfd_setup_has_come(const sfd_setup_member_t *member)
{
  return member->state >= SFD_MEMBER_WAITING;
}

/* A set-up's way. Over one node or two nothing is left to agree on in CONFIRMING, and the graph is ready at once.
 *
 *   COLLECTING ---all members named one earlier graph---> VOTING ---all nodes voted for it---> CONFIRMING
 *       |                                                   |                                   ^     |
 *       | a member, or another node, has edges              | a node lacks the graph            |     |
 *       v                                                   v                                   |     | all nodes
 *     EDGES <-----------------------------------------------/                                   |     | can
 *       |                                                                                       |     v
 *       +---all members have said edges, all nodes agree, and proposals say all-----------------/   READY
 *       |                                                                                             ^
 *       | the same, but lanes are missing                                                             |
 *       v                                                                                             |
 *     LANES ---all members have sent GraphCommit, all nodes agree-------------------------------------/
 *       |
 *       | a member leaves
 *       v
 *     DOOMED: whoever commits is answered at once
 *
 * An error that is agreed on ends the set-up wherever it is; so does, before CONFIRMING, a member that leaves. */
typedef enum sfd_setup_state {
  SFD_SETUP_COLLECTING,
  SFD_SETUP_VOTING,
  SFD_SETUP_EDGES, /* members that named an earlier graph are asked for their edges */
  SFD_SETUP_CONFIRMING,
  SFD_SETUP_LANES,
  SFD_SETUP_FAILED,
} sfd_setup_state_t;

typedef struct sfd_setup {
  sfd_setup_state_t state;
  int32_t nhere;                           /* members that have come */
  sfd_agreement_t agreement;               /* of this round */
  sfd_agreement_t vote;                    /* of nodes whose members all named an earlier graph */
  uint64_t earlier;                        /* the graph that all have voted for; 0: none */
  bool compared;                           /* of two nodes: what they want with what they have */
  struct sfd_root_requests *root_requests; /* what goes between nodes in round 1; NULL: nothing */
  sfd_setup_member_t members[];
} sfd_setup_t;

void sfd_setup_free(sfd_graph_t *graph); /* without set-up nothing happens */

/* Records an error; the lowest (rank, leaf) of all stays. */
void sfd_setup_note_error(sfd_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf, const char *detail);

/* The member of this node at that place of the group. */
sfd_setup_member_t *sfd_setup_member(const sfd_graph_t *graph, int32_t group_rank);

/* The graph with that number among those of the group that is being set up, or NULL. */
sfd_graph_t *sfd_setup_find(const sfd_group_t *group, uint64_t number);

/* The same, begun if need be; NULL: a member of the group has left. SF_ERR_NOMEM: it can't be begun. What another node
 * says would be lost then, and waited for for ever: its channel has to end. */
sf_status_t sfd_setup_find_gathering(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p);

/* All members of this node have said their part of round 1. */
void sfd_setup_members_came(sfd_graph_t *graph);

/* Nothing is made out of an earlier graph: asks the members that have named one for their edges. refuse: the nodes that
 * have told this one their votes are told so. */
void sfd_setup_need_edges(sfd_graph_t *graph, bool refuse);

/* What concerns other nodes has been said: this node's part of round 1 is over. */
void sfd_setup_edges_done(sfd_graph_t *graph);

/* What nodes agree on: edges (round 1), lanes (round 2), and to make an earlier graph again. */
extern const sfd_agreement_ops_t sfd_setup_edges_agreement;
extern const sfd_agreement_ops_t sfd_setup_lanes_agreement;
extern const sfd_agreement_ops_t sfd_setup_vote_agreement;

/* To be called when a member's request is answered: it doesn't wait any more. NULL: there is nobody to tell. */
sfd_session_t *sfd_setup_mark_answered(const sfd_graph_t *graph, int32_t local);

/* A member of this node leaves the group: set-ups that would need it can't begin. */
void sfd_setups_member_gone(sfd_group_t *group, int32_t group_rank, const char *text);

/* Members of other nodes have left: set-ups that need them can't begin. */
void sfd_setups_sweep(sfd_group_t *group);

/* A rank of this node leaves: set-ups in the middle of which it is fail. */
void sfd_setups_leave(sfd_rank_t *rank, const char *text);

/* Answers all who wait and forgets all graphs that are being set up. */
void sfd_setups_fail(sfd_job_t *job, sf_status_t status, const char *detail);

void sfd_setup_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_setup_handle_commit(sfd_session_t *session, const Sfproto__Message *message);

#endif
