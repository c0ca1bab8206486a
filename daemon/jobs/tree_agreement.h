/* Agreement of a group's nodes on a step of all members (nonblocking barrier with data). Reports go up the tree of
 * nodes (node_tree.h) when the members of a node and its children's subtrees have arrived; the root decides, and its
 * decision goes down. The size of messages depends neither on the number of nodes nor of ranks. Two nodes need no tree:
 * each sends its part when its members have arrived, and with both parts each makes the same decision. Agreements are
 * embedded in forming groups, and in set-ups, one for each round. */
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
  int32_t rank;       /* group rank */
  int64_t leaf;
  char detail[SFD_TEXT_SIZE];
} sfd_agreement_error_t;

/* Keeps the error with the lower (rank, leaf); equal ones in an order that is the same on all nodes. */
void sfd_agreement_error_note(sfd_agreement_error_t *error, sf_status_t status, int32_t rank, int64_t leaf,
                              const char *detail);

/* Fills in a message's error, which shares the text; NULL: no error. */
Sfpeer__SetupError *sfd_agreement_error_fill(Sfpeer__SetupError *to, sfd_agreement_error_t *from);

typedef struct sfd_agreement {
  bool here;        /* the members of this node have arrived */
  bool reported;    /* to the parent, or to the other of two nodes */
  uint8_t children; /* bit i: the subtree of child i has arrived */
  int32_t lowest;   /* lowest member so far (-1: none), and its flags */
  uint32_t flags;
  bool differ; /* flags differ: the lowest member with other flags, and these */
  int32_t odd;
  uint32_t odd_flags;
  uint64_t id;    /* two nodes: proposed by the first one */
  uint64_t again; /* GRAPH_AGAIN: the earlier graph; 0: none named yet */
  int64_t nroots; /* sums so far */
  int64_t nleaves;
  int64_t npairs;              /* of distinct ranks with edges */
  bool two_rounds;             /* GRAPH_EDGES: some node needs round 2 */
  sfd_agreement_error_t error; /* lowest so far */
} sfd_agreement_t;

/* Kinds of agreements: one table for each kind of Arrive, listed in life.h. */
#define SFD_AGREEMENT_KINDS (SFPEER__ARRIVE__KIND__GRAPH_AGAIN + 1)
typedef struct sfd_agreement_ops {
  /* The agreement of which a child reports, and its group; begun if needed. NULL: it has ended or cannot be reached.
   * SF_ERR_NOMEM: it can't be begun. */
  sf_status_t (*find)(struct sfd_job *job, int32_t node, const Sfpeer__Arrive *arrive, struct sfd_group **group_p,
                      sfd_agreement_t **agreement_p);
  /* The agreement that the parent's Release answers; NULL: it has ended. */
  sfd_agreement_t *(*find_reported)(struct sfd_job *job, const Sfpeer__Release *release, struct sfd_group **group_p);
  /* A subtree has arrived. Returns whether this node goes on; if not, the child is refused. NULL: it goes on. */
  bool (*added)(struct sfd_group *group, uint64_t number);
  /* All nodes have agreed, or agreement->error says why not. id: of the new object. */
  void (*agreed)(struct sfd_group *group, uint64_t number, uint64_t id);
} sfd_agreement_ops_t;

/* Adds the flags of local members, or of a subtree. If flags differ, the agreement ends with an error that names the
 * lowest member and the lowest one that differs. */
void sfd_agreement_add_flags(sfd_agreement_t *agreement, int32_t member, uint32_t flags);
/* Different earlier graphs are an error. */
void sfd_agreement_add_again(sfd_agreement_t *agreement, uint64_t again);
void sfd_agreement_add_counts(sfd_agreement_t *agreement, int64_t nroots, int64_t nleaves, int64_t npairs);

/* Whether the group is on two nodes, which need no tree. */
bool sfd_agreement_is_pair(const struct sfd_group *group);

/* Whether the subtree of a child has arrived; true of nodes that are no children. */
bool sfd_agreement_has_arrived(const struct sfd_group *group, const sfd_agreement_t *agreement, int32_t node);

/* The members of this node have arrived. */
void sfd_agreement_arrive(struct sfd_group *group, Sfpeer__Arrive__Kind kind, uint64_t number,
                          sfd_agreement_t *agreement);

/* Answers the children that have arrived with an error, before the members of this node have arrived. */
void sfd_agreement_refuse(struct sfd_group *group, Sfpeer__Arrive__Kind kind, uint64_t number,
                          const sfd_agreement_t *agreement);

sf_status_t sfd_agreement_handle_arrive(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_agreement_handle_release(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif
