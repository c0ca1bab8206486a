/* Agreement of the nodes of a group on something that all members do together. The nodes form a tree in which every
 * node but the first, the root, has a parent with at most SFD_TREE_CHILDREN children: when the members of a node and
 * the subtrees of its children have come, the node says so to its parent; the root decides, and what it decided goes
 * down the tree. Messages grow neither with the number of nodes nor of ranks. A group on one node has a tree of one.
 *
 * Of two nodes none waits for the other's answer: each tells the other its part as soon as its members have come, and
 * both decide, the same, when they have both parts.
 *
 * What is agreed on is embedded in groups that are being formed, and in set-ups of graphs, once for each round. */
#ifndef SFD_JOBS_TREE_AGREEMENT_H
#define SFD_JOBS_TREE_AGREEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "proto/sf_peer.pb-c.h"

#define SFD_TREE_CHILDREN 8

struct sfd_job;
struct sfd_group;

typedef struct sfd_agreement_error {
  sf_status_t status; /* SF_OK: none */
  int32_t rank;       /* of the group */
  int64_t leaf;
  char detail[SFD_TEXT_SIZE];
} sfd_agreement_error_t;

/* The lower (rank, leaf) of two errors stays; of two of one place the same one, whichever came first. */
void sfd_agreement_error_note(sfd_agreement_error_t *error, sf_status_t status, int32_t rank, int64_t leaf,
                              const char *detail);

/* As a message tells it: to, or NULL if there is none. The text stays where it is. */
Sfpeer__SetupError *sfd_agreement_error_fill(Sfpeer__SetupError *to, sfd_agreement_error_t *from);

typedef struct sfd_agreement {
  bool here;        /* the members of this node have come */
  bool reported;    /* the parent, or the other of two nodes, has been told */
  uint8_t children; /* bit i: the subtree of child i has come */
  int32_t lowest;   /* lowest member so far, -1: none, and its flags */
  uint32_t flags;
  bool differ; /* not all flags are the same: the lowest member with others than these, and its flags */
  int32_t odd;
  uint32_t odd_flags;
  uint64_t id;    /* of two nodes: what the first one proposes */
  uint64_t again; /* GRAPH_AGAIN: the earlier graph; 0: nobody has named one yet */
  int64_t nroots; /* sums of what has come */
  int64_t nleaves;
  int64_t npairs;              /* of distinct ranks with edges */
  bool two_rounds;             /* GRAPH_EDGES: somewhere the graph isn't ready without the second one */
  sfd_agreement_error_t error; /* of all that came */
} sfd_agreement_t;

/* What is agreed on: one table for each kind of Arrive, listed in life.h. */
#define SFD_AGREEMENT_KINDS (SFPEER__ARRIVE__KIND__GRAPH_AGAIN + 1)
typedef struct sfd_agreement_ops {
  /* The agreement of which a node, a child in the tree, tells, and its group; begun if need be. NULL: it has ended or
   * can't come about any more. SF_ERR_NOMEM: it can't be begun. */
  sf_status_t (*find)(struct sfd_job *job, int32_t node, const Sfpeer__Arrive *arrive, struct sfd_group **group_p,
                      sfd_agreement_t **agreement_p);
  /* The agreement of which the parent has been told, and now answers; NULL if it has ended. */
  sfd_agreement_t *(*find_reported)(struct sfd_job *job, const Sfpeer__Release *release, struct sfd_group **group_p);
  /* A subtree has come. Whether this node goes on with it; otherwise the child is refused. NULL: it does. */
  bool (*added)(struct sfd_group *group, uint64_t number);
  /* All nodes have agreed, or the agreement's error says why not. id: of the new object, if the kind has one. */
  void (*agreed)(struct sfd_group *group, uint64_t number, uint64_t id);
} sfd_agreement_ops_t;

/* Adds what members of this node, or a subtree, said. Different flags become an error that names the lowest
 * member and the lowest that differs from it, when all have come. */
void sfd_agreement_add_flags(sfd_agreement_t *agreement, int32_t member, uint32_t flags);
/* Different earlier graphs are an error, too. */
void sfd_agreement_add_again(sfd_agreement_t *agreement, uint64_t again);
void sfd_agreement_add_counts(sfd_agreement_t *agreement, int64_t nroots, int64_t nleaves, int64_t npairs);

/* Whether the group is on two nodes, and agrees without a tree. */
bool sfd_agreement_is_pair(const struct sfd_group *group);

/* Whether the subtree of a child has come; also true of a node that is no child. */
bool sfd_agreement_has_arrived(const struct sfd_group *group, const sfd_agreement_t *agreement, int32_t node);

/* The members of this node have come. */
void sfd_agreement_arrive(struct sfd_group *group, Sfpeer__Arrive__Kind kind, uint64_t number,
                          sfd_agreement_t *agreement);

/* Answers the children that have said their part with an error, before the members of this node have come. */
void sfd_agreement_refuse(struct sfd_group *group, Sfpeer__Arrive__Kind kind, uint64_t number,
                          const sfd_agreement_t *agreement);

sf_status_t sfd_agreement_handle_arrive(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_agreement_handle_release(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif
