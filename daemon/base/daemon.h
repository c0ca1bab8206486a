/* State of one daemon, and the functions on it that every room calls: serial numbers, the end of the daemon. The loop's
 * thread owns all of it. server.h creates it. */
#ifndef SFD_BASE_DAEMON_H
#define SFD_BASE_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/base/idle.h"
#include "daemon/base/options.h"
#include "daemon/base/text.h"
#include "daemon/jobs/ended_jobs.h"
#include "shm/device/device.h"

#define SFD_SOFTWARE "sfd 0.1.0"

struct sfd_clients;
struct sfd_life;
struct sfd_job;
struct sfd_network;
struct sfd_trunks;
struct sfd_refusals;
struct sfd_submission;
struct sfd_workers;
typedef struct sfd_devices sfd_devices_t;
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
  const struct sfd_life *life; /* see jobs/life.h */
  uid_t uid;
  uv_prepare_t attend; /* runs once a turn, before the loop sleeps */
  uv_signal_t terminate;
  uv_signal_t interrupt;
  bool stopping;
  bool ending;  /* to be stopped at the end of this turn of the loop */
  bool drained; /* takes no new jobs; why: */
  char drained_by[SFD_TEXT_SIZE];
  char logged_by[SFD_TEXT_SIZE]; /* who changed what is logged; "": nobody */
  struct sfd_clients *clients;
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
  struct sfd_network *network;   /* NULL: alone */
  struct sfd_fabric *abandoned;  /* over which no network could be made; NULL: none */
  struct sfd_trunks **arriving;  /* by node: of which a message is arriving now, or NULL */
  void **images;                 /* by node: root image that is arriving now, or NULL */
  struct sfd_refusals *refusals; /* NULL: alone */
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
  sfd_idle_t idle;
} sfd_server_t;

/* Whether workers copy for ranks. */
static inline bool sfd_server_offloads(const sfd_server_t *server)
{
  return server->workers != NULL;
}

/* Ends the daemon at the end of this turn of the loop, when all output of the turn has been written. */
void sfd_server_end(sfd_server_t *server);

/* Serial numbers order objects by creation. */
uint64_t sfd_server_new_serial(sfd_server_t *server);

#endif
