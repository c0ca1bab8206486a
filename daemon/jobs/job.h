/* Jobs and their ranks: the programs that the daemon serves.
 *
 *   JOINING ---all came---> RUNNING
 *      |                       |
 *      \----- a rank died -----+----> FAILED
 *
 * The home of a job over nodes (coordinator_client.h) has the job's first node start it, and is needed no longer then.
 * The start goes down the tree of the job's nodes, which by that are connected; others are connected as they need each
 * other. A node that notices a failure, or loses another node, tells all others, and each of them passes it on over the
 * channels that are open. So all hear of it, whichever links are cut.
 *
 * A job is there while a session is attached to it. A job whose ranks waited too long, and one of which a rank has
 * left, is forgotten: who comes with its name founds another one. A failed job takes nobody in. */
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

/* Bounds on what ranks can make the daemon keep, beside the options. */
#define SFD_MAX_PENDING 1024 /* requests of a rank that wait for others */
#define SFD_MAX_GROUPS 16384 /* of a job */
#define SFD_MAX_GRAPHS 65536 /* of a job */
#define SFD_MAX_REGION_BYTES (UINT64_C(1) << 46)

struct sfd_segment;
struct sfd_region;
struct sfd_offers_rank;
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
  sfd_session_t *session; /* NULL when it is closed */
  pid_t pid;              /* as the daemon sees it, else as the client said */
  int32_t client_pid;     /* as the client sees it */
  uint64_t probe_address;
  uint64_t probe_value;
  uint64_t hello_request;
  int32_t npending; /* requests that wait for others */
  char program[SFD_NAME_SIZE];
  sfd_cpus_t cpus;
  int counters_fd;
  sfshm_region_t counters;             /* mapped when somebody looks into them often */
  sfshm_region_t inbox;                /* mapped when the rank is to be woken */
  sfshm_wake_t *wake;                  /* in it; NULL before */
  struct sfd_submit_ring *submit_ring; /* NULL: it has no ring */
  struct sfd_offers_rank *offers;      /* NULL: it offers no work */
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
  uint64_t serial; /* no other job here has had it: tells apart those of one name, for their home */
  uid_t uid;
  char name[SFD_NAME_SIZE];
  char key[SFD_NAME_SIZE];
  sfd_job_state_t state;
  char detail[SFD_TEXT_SIZE]; /* FAILED: why */
  bool forgotten;             /* no longer to be found by name */
  bool stalled;               /* a rank here waits for longer than stall-after, when that was last looked at */
  uint64_t created_ms;
  uv_timer_t
      timer; /* joining alone: until the earliest deadline of those who wait; running: see sfd_groups_sweep_later */
  int32_t size;
  int32_t njoined;          /* ranks that came, to this node */
  bool *left;               /* by rank, of all nodes */
  int32_t *rank_nodes;      /* by rank; NULL: all are here */
  uint64_t *incarnations;   /* serials of the job on its nodes, in their order; NULL: all ranks are here */
  int32_t coordinator_node; /* node; see coordinator_client.h */
  bool coordinator_knows;   /* that ranks have come here */
  int32_t nattached;        /* sessions */
  int64_t nheld_fds;        /* that its ranks make the daemon keep */
  uint64_t device_bytes;    /* of devices, that the daemon has allocated */
  struct sfd_group *world;  /* NULL once all have left */
  void *groups_by_id;       /* tsearch */
  struct sfd_group_list groups;
  struct sfd_group_list forming; /* waiting for members, in order of creation */
  int32_t ngroups;               /* both */
  void *graphs_by_id;            /* tsearch */
  struct sfd_graph_list graphs;  /* by id */
  int32_t ngraphs;
  struct sfd_trunk_regions *trunk_regions; /* NULL: none yet */
  sfd_rank_t *ranks[];                     /* NULL: did not come, or is on another node */
} sfd_job_t;

TAILQ_HEAD(sfd_job_list, sfd_job);

/* The jobs of a daemon. */
typedef struct sfd_jobs {
  void *by_name;            /* tsearch */
  void *by_id;              /* tsearch; those that run */
  struct sfd_job_list list; /* by serial number */
  sfd_ended_jobs_t ended;
} sfd_jobs_t;

/* The job of that user and name, or NULL. */
sfd_job_t *sfd_job_find(const sfd_server_t *server, uid_t uid, const char *name);

/* The running job of that id, or NULL. */
sfd_job_t *sfd_job_find_id(const sfd_server_t *server, uint64_t id);

/* Whether the job, NULL if it is not here any more, has not failed. */
bool sfd_job_goes_well(const sfd_server_t *server, const sfd_job_t *job, uint64_t id);

/* SF_ERR_NOMEM with nothing left behind. */
sf_status_t sfd_job_create(sfd_server_t *server, uid_t uid, const char *name, const char *key, int32_t size,
                           sfd_job_t **job_p);

/* Makes rank number the session's. */
sf_status_t sfd_job_attach(sfd_job_t *job, int32_t number, sfd_session_t *session, sfd_rank_t **rank_p);

/* The session is gone; the last one takes the job with it. */
void sfd_job_detach(sfd_rank_t *rank);

/* As if it had never come; the same for the last one. */
void sfd_job_withdraw(sfd_rank_t *rank);

/* The rank takes part in nothing any more. */
void sfd_job_retire_rank(sfd_rank_t *rank, sfd_rank_state_t state);

/* The rank's session ends: a failure unless the rank has left. reason "": it died. */
void sfd_job_rank_lost(sfd_rank_t *rank, const char *reason);

/* Goodbye. */
void sfd_leave_handle_goodbye(sfd_session_t *session, const Sfproto__Message *message);

/* All ranks have come: rank_nodes is taken over (NULL: all are here). SF_ERR_NOMEM. */
sf_status_t sfd_job_start(sfd_job_t *job, uint64_t id, int32_t *rank_nodes);

/* On which node a rank is. */
int32_t sfd_job_node_of(const sfd_job_t *job, int32_t number);

/* To all other nodes that have ranks of the running job. */
void sfd_job_send_to_nodes(const sfd_job_t *job, const Sfpeer__Message *message);

/* Something made the job impossible: all are told, and nothing new can begin. */
void sfd_job_fail(sfd_job_t *job, const char *detail);

/* For the listeners of failure (life.h): an alert to all ranks here; the answer to the Hello of those that are joining.
 */
void sfd_job_alert_failed(sfd_job_t *job);
void sfd_job_dismiss_joining(sfd_job_t *job);

/* Fails the jobs that run here and have ranks on the node: whether there are any. */
bool sfd_jobs_fail_on(sfd_server_t *server, int32_t node, const char *detail);

sf_status_t sfd_job_handle_peer_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_leave_handle_peer_left(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Lets go of the name: who comes with it from now on founds a new job. */
void sfd_job_forget(sfd_job_t *job);

/* Counts a descriptor that is kept for the job, of memory of its ranks or of the daemon. SF_ERR_LIMIT: the job, or all
 * jobs, have so many that others would come too short. */
sf_status_t sfd_job_hold_fd(sfd_job_t *job);

/* Closes it; -1 is accepted. */
void sfd_job_close_fd(sfd_job_t *job, int fd);

/* Counts it no longer, after it was closed. job: NULL if that is over. */
void sfd_job_drop_fd(sfd_server_t *server, sfd_job_t *job);

/* Whether the job has failed; if so the request has been answered with the reason. */
bool sfd_job_answer_failed(sfd_rank_t *rank, uint64_t request);

/* Whether the rank may have one more request that waits for others; if not the request has been answered. */
bool sfd_rank_may_wait(sfd_rank_t *rank, uint64_t request);

/* Whether a rank has a session that can be told something. */
bool sfd_rank_connected(const sfd_rank_t *rank);

/* The same for any rank of the job; of one on another node less is known. */
void sfd_job_describe_rank(const sfd_job_t *job, int32_t number, char *text, size_t text_size);

/* "rank 3 (pid 1234, cg) of job "x"" */
void sfd_rank_describe(const sfd_rank_t *rank, char *text, size_t text_size);

#endif
