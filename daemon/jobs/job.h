/* Jobs and their ranks.
 *
 *   JOINING ---all ranks came---> RUNNING
 *      |                             |
 *      \------- a rank died ---------+----> FAILED
 *
 * The coordinator of a job over nodes (coordinator_client.h) starts the job, and is not needed any more then. The start
 * goes down the tree of the job's nodes, which connects them; other pairs connect when needed. A node that notices a
 * failure, or loses another node, tells all nodes of the job. Each of them forwards the failure over its open channels,
 * so that all hear of it, whichever links are cut.
 *
 * A job exists while a session is attached to it. When its ranks waited too long, or a rank has left, the job gives up
 * its name: the next rank with that name begins another job. A failed job accepts no ranks. */
#ifndef SFD_JOBS_JOB_H
#define SFD_JOBS_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/clients.h"
#include "daemon/jobs/ended_jobs.h"
#include "proto/sf_peer.pb-c.h"
#include "shm/region/region.h"
#include "shm/region/wait.h"

#define SFD_NAME_SIZE 256

/* Limits of what ranks can make the daemon keep, besides the options. */
#define SFD_MAX_PENDING 1024 /* requests of a rank that wait for other ranks */
#define SFD_MAX_GROUPS 16384 /* of a job */
#define SFD_MAX_GRAPHS 65536 /* of a job */
#define SFD_MAX_REGION_BYTES (UINT64_C(1) << 46)

struct sfd_segment;
struct sfd_region;
struct sfd_offers_rank;
struct sfd_window;
struct sfd_group;
struct sfd_graph;
struct sfd_trunk_regions;
TAILQ_HEAD(sfd_segment_list, sfd_segment);
TAILQ_HEAD(sfd_region_list, sfd_region);
TAILQ_HEAD(sfd_group_list, sfd_group);
TAILQ_HEAD(sfd_graph_list, sfd_graph);

typedef enum sfd_rank_state { SFD_RANK_JOINED, SFD_RANK_LEFT, SFD_RANK_FAILED } sfd_rank_state_t;

/* A rank of this node. */
typedef struct sfd_rank {
  struct sfd_job *job;
  int32_t number;
  sfd_rank_state_t state;
  sfd_session_t *session; /* NULL: closed */
  pid_t pid;              /* as the daemon sees it, or else the client */
  int32_t client_pid;     /* as the client sees it */
  uint64_t probe_address;
  uint64_t probe_value;
  uint64_t hello_request;
  int32_t npending; /* requests that wait for other ranks */
  char program[SFD_NAME_SIZE];
  sfd_cpus_t cpus;
  int32_t cache; /* that they share, as sfd_cpu_cache_of says; -1: none, or it does not matter */
  int counters_fd;
  sfshm_region_t counters;             /* mapped when needed */
  sfshm_region_t inbox;                /* mapped to wake the rank */
  sfshm_wake_t *wake;                  /* in inbox; NULL: not mapped */
  struct sfd_submit_ring *submit_ring; /* NULL: none */
  struct sfd_offers_rank *offers;      /* NULL: no offers */
  struct sfd_window *window;           /* NULL: no requests on arrays of other nodes */
  void *segments_by_number;            /* tsearch */
  struct sfd_segment_list segments;
  int64_t nsegments;
  void *regions_by_number; /* tsearch */
  struct sfd_region_list regions;
  int64_t nregions;
} sfd_rank_t;

typedef enum sfd_job_state { SFD_JOB_JOINING, SFD_JOB_RUNNING, SFD_JOB_FAILED } sfd_job_state_t;

typedef struct sfd_job {
  uint64_t id; /* first: the key; 0 until all ranks have come */
  sfd_server_t *server;
  TAILQ_ENTRY(sfd_job) entry;
  uint64_t serial; /* unique here: tells jobs of one name apart (incarnation) */
  uid_t uid;
  char name[SFD_NAME_SIZE];
  char key[SFD_NAME_SIZE];
  sfd_job_state_t state;
  char detail[SFD_TEXT_SIZE]; /* FAILED: why */
  bool forgotten;             /* not to be found by name */
  bool stalled;               /* at the last look, a rank here waited longer than stall-after */
  uint64_t created_ms;
  uv_timer_t timer; /* joining: earliest deadline of the ranks here; running: see sfd_groups_sweep_later */
  int32_t size;
  int32_t njoined;          /* ranks that came to this node */
  bool *left;               /* by rank, on all nodes */
  int32_t *rank_nodes;      /* by rank; NULL: all here */
  uint64_t *incarnations;   /* serials of the job on its nodes, in order of the nodes; NULL: all ranks are here */
  bool has_namesake;        /* another user has, or had, a job of the name here meanwhile */
  int32_t coordinator_node; /* see coordinator_client.h */
  bool coordinator_knows;   /* has been sent ranks that came here */
  int32_t nattached;        /* sessions */
  int64_t nheld_fds;        /* descriptors kept for its ranks */
  uint64_t device_bytes;    /* device memory that the library has allocated */
  struct sfd_group *world;  /* NULL: all ranks have left */
  void *groups_by_id;       /* tsearch */
  struct sfd_group_list groups;
  struct sfd_group_list forming; /* forming, by creation */
  int32_t ngroups;               /* in both lists */
  void *graphs_by_id;            /* tsearch */
  struct sfd_graph_list graphs;  /* by id */
  int32_t ngraphs;
  struct sfd_trunk_regions *trunk_regions; /* NULL: none yet */
  sfd_rank_t *ranks[];                     /* NULL: did not come, or is on another node */
} sfd_job_t;

TAILQ_HEAD(sfd_job_list, sfd_job);

/* Jobs of a daemon. */
typedef struct sfd_jobs {
  void *by_name;            /* tsearch */
  void *by_id;              /* tsearch; running jobs */
  struct sfd_job_list list; /* by serial number */
  sfd_ended_jobs_t ended;
} sfd_jobs_t;

/* NULL: none. */
sfd_job_t *sfd_job_find(const sfd_server_t *server, uid_t uid, const char *name);

/* The running job of that id; NULL: none. */
sfd_job_t *sfd_job_find_id(const sfd_server_t *server, uint64_t id);

/* Whether the job has not failed; job is NULL if it is not here any more. */
bool sfd_job_goes_well(const sfd_server_t *server, const sfd_job_t *job, uint64_t id);

/* SF_ERR_NOMEM. */
sf_status_t sfd_job_create(sfd_server_t *server, uid_t uid, const char *name, const char *key, int32_t size,
                           sfd_job_t **job_p);

/* The session becomes rank number of the job. */
sf_status_t sfd_job_attach(sfd_job_t *job, int32_t number, sfd_session_t *session, sfd_rank_t **rank_p);

/* The session has closed. The job ends with its last session. */
void sfd_job_detach(sfd_rank_t *rank);

/* Takes a rank out of a joining job, which ends with its last rank. */
void sfd_job_withdraw(sfd_rank_t *rank);

/* The rank takes part in nothing any more. */
void sfd_job_retire_rank(sfd_rank_t *rank, sfd_rank_state_t state);

/* All ranks have come. Takes over rank_nodes (NULL: all are here). SF_ERR_NOMEM. */
sf_status_t sfd_job_start(sfd_job_t *job, uint64_t id, int32_t *rank_nodes);

/* Node of a rank. */
int32_t sfd_job_node_of(const sfd_job_t *job, int32_t number);

/* Sends to all other nodes of the running job. */
void sfd_job_send_to_nodes(const sfd_job_t *job, const Sfpeer__Message *message);

/* Fails the job on all nodes. */
void sfd_job_fail(sfd_job_t *job, const char *detail);

/* Listeners of failures (life.h): alert all ranks here; answer Hello of joining ranks. */
void sfd_job_alert_failed(sfd_job_t *job);
void sfd_job_dismiss_joining(sfd_job_t *job);

/* Fails running jobs with ranks on the lost node. Returns whether there are any. */
bool sfd_jobs_fail_on(sfd_server_t *server, int32_t node, const char *detail);

/* Whether some rank of the job on the node has not left. */
bool sfd_job_needs(const sfd_job_t *job, int32_t node);

sf_status_t sfd_job_handle_peer_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* The job gives up its name. */
void sfd_job_forget(sfd_job_t *job);

/* Counts a descriptor kept for the job. SF_ERR_LIMIT: the job or the user has too many. */
sf_status_t sfd_job_hold_fd(sfd_job_t *job);

/* Closes and uncounts it; -1 is accepted. */
void sfd_job_close_fd(sfd_job_t *job, int fd);

/* Uncounts a descriptor that has been closed; job NULL: the job has ended. */
void sfd_job_drop_fd(sfd_server_t *server, sfd_job_t *job);

/* Whether the job has failed; then the request has been answered. */
bool sfd_job_answer_failed(sfd_rank_t *rank, uint64_t request);

/* Whether the rank may have one more waiting request; if not, the request has been answered. */
bool sfd_rank_may_wait(sfd_rank_t *rank, uint64_t request);

/* Whether the rank has an open session. */
bool sfd_rank_connected(const sfd_rank_t *rank);

/* The same for any rank of the job. */
void sfd_job_describe_rank(const sfd_job_t *job, int32_t number, char *text, size_t text_size);

/* "rank 3 (pid 1234, cg) of job "x"" */
void sfd_rank_describe(const sfd_rank_t *rank, char *text, size_t text_size);

#endif
