/* Setting up graphs: two rounds in which every rank of the group says something, the daemons wait for all and agree
 * (tree_agreement.h), and tell each what the others said for it.
 *
 *   round 1, GATHERING    edges:  who has leaves on whose roots   -> GraphPeers  (round1_edges.h; between nodes:
 * root_requests.h) round 2, COMMITTING   lanes:  where who writes                -> GraphReady  (round2_lanes.h)
 *
 * Round 2 is left out if round 1 says all (one_round.h), round 1 if the edges are known (reuse.h).
 *
 * An error of one rank is the answer for all in the round in which it came; of several that of the lowest (rank, leaf).
 * Here are the ranks of this node; members are numbered as in the group's list of them. */
#ifndef SFD_SETUP_H
#define SFD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/jobs/graph.h"
#include "daemon/jobs/tree_agreement.h"
#include "shm/region/region.h"

/* Edges that lead from one rank to one root rank, in its edge list. */
typedef struct sfd_block {
  int32_t rank; /* of the group */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
  int64_t root_max; /* as the rank says; -1: it does not */
  uint64_t segment; /* an inbox of the rank in which the block is, at offset; */
  uint64_t length;  /* 0: it is in the edge list */
} sfd_block_t;

/* Where the rank at the other end writes. */
typedef struct sfd_lane {
  int32_t rank; /* of the group, at the other end */
  uint64_t segment;
  uint64_t slots;
  uint64_t control;
  bool can_read;
} sfd_lane_t;

typedef struct sfd_setup_member {
  bool here;    /* has said its part of this round, or has left */
  bool waiting; /* for the answer */
  bool wrong;   /* its input is: nroots means nothing */
  uint64_t request;
  int64_t nroots;
  uint64_t again;  /* the earlier graph whose edges are its own, see reuse.h; 0: it says what its edges are */
  bool asked;      /* for its edges, after it had named an earlier graph */
  int64_t nleaves; /* with again */
  int32_t nroot_ranks;
  uint32_t flags;
  bool at_once;        /* lanes are there, one for each block that leads to a rank of this node */
  int edges_fd;        /* -1: none */
  sfd_block_t *blocks; /* ascending ranks; round 1 only */
  int32_t nblocks;
  sfd_lane_t *lanes; /* ascending ranks; round 2, or with again or at_once */
  int32_t nlanes;
} sfd_setup_member_t;

typedef struct sfd_setup {
  int32_t nhere;
  bool doomed;               /* round 2: a member has left; whoever comes is answered at once */
  sfd_agreement_t agreement; /* of this round */
  sfd_agreement_t again;     /* of nodes whose members all name an earlier graph */
  bool refused;              /* edges are needed */
  bool compared;             /* of two nodes: what they want with what they have */
  struct sfd_wants *wants;   /* what goes between nodes in round 1; NULL: nothing */
  sfd_setup_member_t members[];
} sfd_setup_t;

void sfd_setup_free(sfd_graph_t *graph); /* without set-up nothing happens */

/* Records an error; the lowest (rank, leaf) of all stays. */
void sfd_setup_note_error(sfd_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf, const char *detail);

/* The member of this node at that place of the group. */
sfd_setup_member_t *sfd_setup_member(const sfd_graph_t *graph, int32_t place);

/* The graph with that number among those of the group that is being set up, or NULL. */
sfd_graph_t *sfd_setup_find(const sfd_group_t *group, uint64_t number);

/* The same, begun if need be; NULL: a member of the group has left. SF_ERR_NOMEM: it can't be begun. What another node
 * says would be lost then, and waited for for ever: its channel has to end. */
sf_status_t sfd_setup_find_gathering(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p);

/* The agreement of that kind on the graph, begun if need be; NULL also if the graph has gone on or ended since.
 * SF_ERR_NOMEM as above. */
sf_status_t sfd_setup_find_agreement(sfd_group_t *group, uint64_t number, Sfpeer__Arrive__Kind kind,
                                     sfd_agreement_t **agreement_p);

/* The same for an answer to what this node has told; NULL also if the graph has gone on or ended since. */
sfd_agreement_t *sfd_setup_find_told(const sfd_group_t *group, uint64_t number, Sfpeer__Arrive__Kind kind);

/* What concerns other nodes has been said: this node's part of round 1 is over. */
void sfd_setup_edges_done(sfd_graph_t *graph);

/* All nodes have agreed. */
void sfd_setup_edges_agreed(sfd_group_t *group, uint64_t number, uint64_t id);
void sfd_setup_lanes_agreed(sfd_group_t *group, uint64_t number);

/* The graph is in round 2, and its members have said all that this asks for: between the two calls others may be told
 * so. status: or why it can't be. */
void sfd_setup_begin_commit(sfd_graph_t *graph);
void sfd_setup_finish_commit(sfd_graph_t *graph, sf_status_t status);

/* The same with nothing left to agree on: the graph is ready everywhere; if it can't be here, it is an error of all on
 * one node, and over several a graph that has failed. */
void sfd_setup_become_ready(sfd_graph_t *graph, sf_status_t status);

/* To be called when a member's request is answered: it doesn't wait any more. NULL: there is nobody to tell. */
sfd_session_t *sfd_setup_answered(const sfd_graph_t *graph, int32_t local);

/* A member of this node leaves the group: set-ups that would need it can't begin. */
void sfd_setups_member_gone(sfd_group_t *group, int32_t place, const char *text);

/* Members of other nodes have left: set-ups that need them can't begin. */
void sfd_setups_sweep(sfd_group_t *group);

/* A rank of this node leaves: set-ups in the middle of which it is fail. */
void sfd_setups_leave(sfd_rank_t *rank, const char *text);

/* Answers all who wait and forgets all graphs that are being set up. */
void sfd_setups_fail(sfd_job_t *job, sf_status_t status, const char *detail);

void sfd_setup_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_setup_handle_commit(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

#endif
