/* Groups: ordered subsets of a job's ranks. While it is forming, a group waits for all members to ask for it. A group
 * is known by its id until all its members have destroyed it or left; it is there until its last graph is gone, too. */
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
  bool here;        /* forming: of this node, has asked for it; later: has not destroyed it, nor left */
  uint64_t request; /* forming: to be answered */
  uint64_t ngraphs; /* graph creations that it has taken part in, to match them by order */
} sfd_group_member_t;

typedef struct sfd_group {
  uint64_t id; /* first: the key */
  TAILQ_ENTRY(sfd_group) entry;
  sfd_job_t *job;
  uint32_t hash; /* of tag and ranks */
  int32_t tag;
  int32_t size;
  int32_t nhere;
  int32_t references; /* its table's, and one of each graph */
  int32_t *nodes;     /* on which it has members, ascending */
  int32_t nnodes;
  int32_t node_position; /* of this one among them */
  int32_t *locals;       /* members of this node: their places, ascending */
  int32_t nlocals;
  sfd_agreement_t forming;          /* while it is */
  struct sfd_graph_list setups;     /* graphs that are being set up, in order of creation */
  struct sfd_barrier_list barriers; /* of graphs on it, see barrier.h */
  struct sfd_kept_plan_list kept;   /* trunks for graphs that are made again, see proposal.h */
  int32_t nkept;
  sfd_group_member_t members[];
} sfd_group_t;

/* The group of all ranks, with the job's id. */
sf_status_t sfd_group_create_world(sfd_job_t *job);

sfd_group_t *sfd_group_find(const sfd_job_t *job, uint64_t id);

/* A job rank's number in the group, -1 if it is no member. */
int32_t sfd_group_rank_of(const sfd_group_t *group, int32_t job_rank);

/* The job's rank at that place; NULL if it is on another node. */
sfd_rank_t *sfd_group_member(const sfd_group_t *group, int32_t group_rank);

/* The number of a place among those of this node; -1 if it is on another one. */
int32_t sfd_group_local(const sfd_group_t *group, int32_t group_rank);

/* The job ranks of the members, to be given back; NULL without memory. */
int32_t *sfd_group_ranks(const sfd_group_t *group);
void sfd_group_free_ranks(int32_t *ranks);

void sfd_group_retain(sfd_group_t *group);
void sfd_group_release(sfd_group_t *group);

/* Whether all members can still take part in something new; if not the request has been answered, naming one. */
bool sfd_group_complete(const sfd_group_t *group, sfd_rank_t *rank, uint64_t request);

/* A rank of this node leaves, with the text that says so. */
void sfd_groups_leave(sfd_rank_t *rank, const char *text);

/* A rank of another node has left. Who waits for it is told later, by sfd_groups_sweep_later: what the rank took
 * part in before it left may not be known here yet. */
void sfd_groups_peer_left(sfd_job_t *job, int32_t number);
void sfd_groups_sweep_later(sfd_job_t *job);

/* Groups that are being formed. */
extern const sfd_agreement_ops_t sfd_group_agreement;

sf_status_t sfd_group_handle_peer_left(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Answers all who wait. */
void sfd_groups_fail(sfd_job_t *job, sf_status_t status, const char *detail);

/* Frees everything, silently; the job's graphs are gone. */
void sfd_groups_free(sfd_job_t *job);

void sfd_group_handle_create(sfd_session_t *session, const Sfproto__Message *message);
void sfd_group_handle_destroy(sfd_session_t *session, const Sfproto__Message *message);

#endif
