/* The daemon as a whole: its event loop handles, its connections and jobs. One thread runs the loop and owns everything
 * in daemon/.
 *
 * A turn of the loop: callbacks read messages and change state, but write nothing and end no connection; they only mark
 * sessions for attention (sfd_server_attend). Before the loop sleeps, the marked sessions are attended to one by one:
 * their output is written, and those that are to end end, which may mark others. So nothing that a callback works on
 * disappears under its hands. */
#ifndef SFD_SERVER_H
#define SFD_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base/node_board.h"
#include "daemon/base/options.h"
#include "daemon/base/text.h"
#include "daemon/clients/admission.h"
#include "daemon/jobs/ended_jobs.h"
#include "shm/device/device.h"

#define SFD_SOFTWARE "sfd 0.1.0"

/* Why a connection is refused; for printf, with the bound as long long. */
#define SFD_TOO_MANY_CLIENTS "the daemon serves at most %lld connections (option max-clients)"
#define SFD_TOO_MANY_FILES "the daemon may have %lld open files (ulimit -n), and those that are left are for tools"

struct sfd_session;
struct sfd_job;
struct sfd_network;
struct sfd_arrival;
struct sfd_submission;
struct sfd_workers;
typedef struct sfd_devices sfd_devices_t;
TAILQ_HEAD(sfd_session_list, sfd_session);
TAILQ_HEAD(sfd_job_list, sfd_job);
TAILQ_HEAD(sfd_submission_list, sfd_submission);
struct sfd_remote;
struct sfd_metrics_server;
LIST_HEAD(sfd_remote_list, sfd_remote);
LIST_HEAD(sfd_unsent_list, sfd_unsent);
LIST_HEAD(sfd_account_list, sfd_account);
struct sfd_assembly;
TAILQ_HEAD(sfd_assembly_list, sfd_assembly);

/* Devices on which memory has been allocated. */
#define SFD_MAX_STARTED 64
typedef struct sfd_started {
  sfshm_device_identity_t device[SFD_MAX_STARTED];
  int32_t n;
} sfd_started_t;

/* Why a job that was joining has failed here: its home may find that all have come before it hears of that. */
#define SFD_WITHDRAWN 8
typedef struct sfd_withdrawn {
  uint64_t serial; /* of the job */
  char detail[SFD_TEXT_SIZE];
} sfd_withdrawn_t;

/* What sfctl status shows. */
typedef struct sfd_statistics {
  int32_t njobs;
  int32_t nranks;
  int32_t ngraphs;
  uint64_t jobs_total;
  uint64_t jobs_failed;
  uint64_t refused;
} sfd_statistics_t;

typedef struct sfd_server {
  uv_loop_t *loop;
  const sfd_options_t *options;
  uid_t uid;
  int listen_fd;
  uv_poll_t listen_poll;
  uv_prepare_t attend;     /* runs once a turn, before the loop sleeps */
  uv_timer_t accept_retry; /* runs while accepting is paused */
  uv_signal_t terminate;
  uv_signal_t interrupt;
  bool accepting;
  bool stopping;
  bool ending;  /* to be stopped at the end of this turn of the loop */
  bool drained; /* takes no new jobs; why: */
  char drained_by[SFD_TEXT_SIZE];
  char logged_by[SFD_TEXT_SIZE]; /* who changed what is logged; "": nobody */
  struct sfd_session_list sessions;
  struct sfd_session_list attention;
  struct sfd_stranger_list strangers;
  int32_t nsessions;
  void *jobs_by_name;       /* tsearch */
  void *jobs_by_id;         /* tsearch; those that run */
  struct sfd_job_list jobs; /* by serial number */
  uint64_t last_id;         /* of jobs, groups and graphs: never reused */
  uint64_t last_serial;
  uint64_t started_ms;
  int64_t nheld_fds; /* of segments and edge lists */
  int64_t max_held_fds;
  int64_t nlists;  /* edge lists that are mapped for workers: routes.h */
  int64_t max_fds; /* the limit of open files */
  sfd_board_t *board;
  sfd_statistics_t statistics;
  struct sfd_network *network;  /* NULL: alone */
  struct sfd_fabric *abandoned; /* over which no network could be made; NULL: none */
  struct sfd_arrival *arriving; /* by node */
  struct sfd_assembly_list assemblies;
  sfd_withdrawn_t withdrawn[SFD_WITHDRAWN]; /* the last ones */
  unsigned nwithdrawn;                      /* so far */
  sfd_ended_t ended;
  struct sfd_submission_list submissions;
  struct sfd_remote_list remotes;
  struct sfd_unsent_list unsent;      /* see coordinator_quota.h */
  struct sfd_account_list accounts;   /* of users, see slots.c */
  uint8_t *unanswered;                /* by node: questions to it, see remote_query.c; NULL: none was asked yet */
  struct sfd_metrics_server *metrics; /* NULL: they are not served */
  struct sfd_workers *workers;        /* NULL: nothing is offloaded */
  sfd_devices_t *devices;             /* NULL: no work for their driver; see device_driver.h */
  bool devices_lost;                  /* it did not come back */
  sfd_started_t devices_started;      /* the next time they take less long */
  uv_timer_t stalls;                  /* see stall.h */
  uv_timer_t calls;                   /* see call_compare.h; runs while there are graphs of several ranks */
  uint64_t calls_pause_ms;            /* until the next look */
  uint64_t calls_least_ms;            /* and at least, by what the last one took */
  uint64_t calls_look;                /* its number */
  uint64_t trace_since_ns;            /* when the last trace was started; 0: never */
  uint64_t trace_until_ns;            /* and stopped; 0: it goes on */
  uv_idle_t busy;                     /* runs while the loop must not sleep */
  uint64_t last_moved_ns;             /* when something last went to or came from another node */
  uint64_t expected_until_ns;         /* until when the loop looks for what will come soon; 0: nothing will */
  uint64_t yielded_ns;                /* when the loop last had its core back */
  bool yielded_long;                  /* and whether ranks kept it for long */
  uint64_t crowded_for_ns;            /* how long it then sleeps at once; 0: last time nothing had waited for it */
  uint64_t crowded_until_ns;          /* until when it does */
} sfd_server_t;

/* Starts serving a listening, non-blocking socket, which stays the caller's, on a loop that the caller runs. The
 * options must outlive the server. */
sf_status_t sfd_server_create(uv_loop_t *loop, const sfd_options_t *options, int listen_fd, const sfshm_costs_t *costs,
                              sfd_server_t **server_p);

/* Joins the other daemons that the options name, if any, and serves metrics if they say so. Before the loop runs. */
sf_status_t sfd_server_connect(sfd_server_t *server);

/* Closes all connections and handles: when the loop has nothing left to do, the server can be destroyed. SIGTERM and
 * SIGINT do the same. */
void sfd_server_stop(sfd_server_t *server);
void sfd_server_destroy(sfd_server_t *server); /* NULL is accepted */

/* The same at the end of this turn of the loop, when what is to be said has been said. */
void sfd_server_end(sfd_server_t *server);

/* Marks a session for attention in this turn of the loop. */
void sfd_server_attend(sfd_server_t *server, struct sfd_session *session);

/* Something has happened after which more will come soon: data went to or came from another node. */
void sfd_server_moved(sfd_server_t *server);

/* Something will come soon: for so long the loop looks for it without sleeping. 0: nothing will. */
#define SFD_EXPECT_RANKS_NS 50000  /* from ranks of this node, which are making a graph or have just done so */
#define SFD_EXPECT_NODES_NS 200000 /* from other nodes, without which ranks here can't go on */
void sfd_server_expect(sfd_server_t *server, uint64_t for_ns);

/* A connection is gone: its descriptors may let others in. */
void sfd_server_session_freed(sfd_server_t *server);

/* Whether so many descriptors may be open that the next read could find no room for those that come with it. */
bool sfd_server_lacks_fds(const sfd_server_t *server);

/* Whether the session's descriptor is one of the last, which are for tools of root and of the daemon's user. */
bool sfd_server_is_out_of_fds(const sfd_server_t *server, const struct sfd_session *session);

/* Different on all daemons of a cluster. */
uint64_t sfd_server_new_id(sfd_server_t *server);

/* For lists in the order in which things came. */
uint64_t sfd_server_new_serial(sfd_server_t *server);

#endif
