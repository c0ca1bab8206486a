/* Setting up graphs: two rounds in which every rank of the group says something, the daemon waits for all, and tells
 * each what the others said for it.
 *
 *   round 1, GATHERING    edges:  who has leaves on whose roots   -> GraphPeers  (peers.h)
 *   round 2, COMMITTING   lanes:  where who writes                -> GraphReady  (lanes.h)
 *
 * An error of one rank is the answer for all in the round in which it came; of several that of the lowest (rank, leaf).
 * A set-up for which a rank is missing that has left is doomed: whoever comes gets that error at once. */
#ifndef SFD_SETUP_H
#define SFD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/graph.h"

/* Edges that lead from one rank to one root rank, in its edge list. */
typedef struct sfd_block {
  int32_t rank; /* of the group */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
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
  uint64_t request;
  uint32_t flags;
  int edges_fd;        /* -1: none */
  sfd_block_t *blocks; /* ascending ranks; round 1 only */
  int32_t nblocks;
  sfd_lane_t *lanes; /* ascending ranks; round 2 only */
  int32_t nlanes;
} sfd_setup_member_t;

typedef struct sfd_setup_error {
  sf_status_t status; /* SF_OK: none */
  int32_t rank;       /* of the group */
  int64_t leaf;
  char detail[SFD_TEXT_SIZE];
} sfd_setup_error_t;

typedef struct sfd_setup {
  int32_t nhere;
  bool doomed;
  sfd_setup_error_t error;
  sfd_setup_member_t members[];
} sfd_setup_t;

void sfd_setup_free(sfd_graph_t *graph); /* without set-up nothing happens */

/* Records an error; the lowest (rank, leaf) of all stays. */
void sfd_setup_note_error(sfd_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf, const char *detail);

/* To be called when a member's request is answered: it doesn't wait any more. NULL: there is nobody to tell. */
sfd_session_t *sfd_setup_answered(const sfd_graph_t *graph, int32_t place);

/* A member leaves the group: set-ups that would need it can't begin. */
void sfd_setups_member_gone(sfd_group_t *group, int32_t place, const char *text);

/* A rank leaves: set-ups in the middle of which it is are doomed. */
void sfd_setups_leave(sfd_rank_t *rank, const char *text);

/* Answers all who wait and forgets all graphs that are being set up. */
void sfd_setups_fail(sfd_job_t *job, sf_status_t status, const char *detail);

void sfd_setup_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_setup_handle_commit(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

#endif
