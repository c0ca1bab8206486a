/* Groups: ordered subsets of a job's ranks. A forming group waits for GroupCreate of all members. A group can be found
 * until all members have destroyed it or left, and is freed with its last graph. */
#ifndef SFD_JOBS_GROUP_H
#define SFD_JOBS_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/jobs/job.h"
#include "daemon/jobs/tree_agreement.h"

typedef struct sfd_kept_plan sfd_kept_plan_t;
TAILQ_HEAD(sfd_kept_plan_list, sfd_kept_plan);

typedef struct sfd_barrier sfd_barrier_t;
TAILQ_HEAD(sfd_barrier_list, sfd_barrier);

typedef struct sfd_group_member {
  int32_t rank;     /* of the job */
  bool here;        /* forming: has sent GroupCreate to this node; later: has neither destroyed the group nor left */
  uint64_t request; /* forming: the request to answer */
  uint64_t ngraphs; /* graphs that it has created on the group; matches creations by order */
} sfd_group_member_t;

typedef struct sfd_group {
  uint64_t id; /* first: the key */
  TAILQ_ENTRY(sfd_group) entry;
  sfd_job_t *job;
  uint32_t hash; /* of tag and ranks */
  int32_t tag;
  int32_t size;
  int32_t nhere;
  int32_t references; /* one for the table, one for each graph */
  int32_t *nodes;     /* with members, ascending */
  int32_t nnodes;
  int32_t node_position; /* of this node in nodes */
  int32_t *locals;       /* group ranks on this node, ascending */
  int32_t nlocals;
  sfd_agreement_t forming;          /* agreement while forming */
  struct sfd_graph_list setups;     /* graphs in set-up, by creation */
  struct sfd_barrier_list barriers; /* of its graphs, see barrier.h */
  struct sfd_kept_plan_list kept;   /* plans to reuse, see proposal.h */
  int32_t nkept;
  sfd_group_member_t members[];
} sfd_group_t;

/* Creates the group of all ranks, with the job's id. */
sf_status_t sfd_group_create_world(sfd_job_t *job);

sfd_group_t *sfd_group_find(const sfd_job_t *job, uint64_t id);

/* Group rank of a job rank; -1: no member. */
int32_t sfd_group_rank_of(const sfd_group_t *group, int32_t job_rank);

/* The rank with that group rank; NULL: on another node. */
sfd_rank_t *sfd_group_member(const sfd_group_t *group, int32_t group_rank);

/* Index in locals of a group rank; -1: on another node. */
int32_t sfd_group_local(const sfd_group_t *group, int32_t group_rank);

/* Job ranks of the members; free with sfd_group_free_ranks. NULL without memory. */
int32_t *sfd_group_ranks(const sfd_group_t *group);
void sfd_group_free_ranks(int32_t *ranks);

void sfd_group_retain(sfd_group_t *group);
void sfd_group_release(sfd_group_t *group);

/* Whether no member has left or destroyed the group. If one has, the request has been answered. */
bool sfd_group_complete(const sfd_group_t *group, sfd_rank_t *rank, uint64_t request);

/* A rank of this node leaves; text says so. */
void sfd_groups_leave(sfd_rank_t *rank, const char *text);

/* A rank on another node has left. sfd_groups_sweep_later ends what waits for it, as messages for operations that the
 * rank still took part in may be on their way. */
void sfd_groups_peer_left(sfd_job_t *job, int32_t number);
void sfd_groups_sweep_later(sfd_job_t *job);

extern const sfd_agreement_ops_t sfd_group_agreement;

sf_status_t sfd_group_handle_peer_left(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Answers all ranks that wait for a group. */
void sfd_groups_fail(sfd_job_t *job, sf_status_t status, const char *detail);

/* Frees all groups, without messages, after all graphs. */
void sfd_groups_free(sfd_job_t *job);

void sfd_group_handle_create(sfd_session_t *session, const Sfproto__Message *message);
void sfd_group_handle_destroy(sfd_session_t *session, const Sfproto__Message *message);

#endif
