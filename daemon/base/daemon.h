/* State of one daemon (created by server.h). The loop's thread owns all of it. */
#ifndef SFD_BASE_DAEMON_H
#define SFD_BASE_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <uv.h>

#include "daemon/base/idle.h"
#include "daemon/base/options.h"
#include "daemon/base/text.h"

#define SFD_SOFTWARE "sfd 0.1.0"

/* As sfctl status shows it. */
typedef struct sfd_statistics {
  int32_t njobs;
  int32_t nranks;
  int32_t ngraphs;
  uint64_t jobs_total;
  uint64_t jobs_failed;
  uint64_t refused;
} sfd_statistics_t;

struct sfd_life;
struct sfd_clients;
struct sfd_network;
struct sfd_fabric;
struct sfd_jobs;
struct sfd_data;
struct sfd_onesided;
struct sfd_call_watch;
struct sfd_membership;
struct sfd_refusals;
struct sfd_admin;
struct sfd_workers;

typedef struct sfd_server {
  uv_loop_t *loop;
  const sfd_options_t *options;
  const struct sfd_life *life; /* see jobs/life.h */
  uid_t uid;
  uint64_t started_ms;
  uint64_t last_serial;
  sfd_node_board_t *board;
  struct sfd_workers *workers; /* NULL: nothing is offloaded */
  sfd_statistics_t statistics;

  /* The loop and its end. */
  uv_prepare_t attend; /* runs once a turn, before the loop sleeps */
  uv_idle_t busy;      /* runs while the loop must not sleep */
  sfd_idle_t idle;
  uv_signal_t terminate;
  uv_signal_t interrupt;
  bool stopping;
  bool ending;                /* stops at the end of this turn */
  char failed[SFD_TEXT_SIZE]; /* why the daemon ends by itself; empty: it does not */
  bool drained;               /* accepts no new jobs; why: */
  char drained_by[SFD_TEXT_SIZE];

  /* Descriptors. */
  int64_t max_fds;   /* limit of open files */
  int64_t nheld_fds; /* of segments, edge lists and regions */
  int64_t max_held_fds;

  /* State of the rooms. */
  struct sfd_clients *clients;
  struct sfd_network *network;  /* NULL: alone */
  struct sfd_fabric *abandoned; /* a fabric without network; NULL: none */
  uint64_t last_id;             /* of jobs, groups and graphs; ids are never reused */
  struct sfd_jobs *jobs;
  struct sfd_data *data;
  struct sfd_onesided *onesided; /* NULL: alone */
  struct sfd_call_watch *calls;
  void **images; /* by node: root image that is arriving, or NULL */
  struct sfd_membership *membership;
  struct sfd_refusals *refusals; /* NULL: alone */
  struct sfd_admin *admin;
} sfd_server_t;

/* Whether workers copy for ranks. */
static inline bool sfd_server_offloads(const sfd_server_t *server)
{
  return server->workers != NULL;
}

/* Ends the daemon at the end of this turn of the loop, after its output. */
static inline void sfd_server_end(sfd_server_t *server)
{
  server->ending = true;
}

/* Ends a daemon that can serve no longer; the first reason is its last message. */
static inline void sfd_server_fail(sfd_server_t *server, const char *detail)
{
  if (server->failed[0] == '\0')
    snprintf(server->failed, sizeof server->failed, "%s", detail);
  sfd_server_end(server);
}

/* Serial numbers order objects by creation. */
static inline uint64_t sfd_server_new_serial(sfd_server_t *server)
{
  return ++server->last_serial;
}

#endif
