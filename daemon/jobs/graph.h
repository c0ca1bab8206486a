/* Graphs, as far as the daemon knows them: who is in them, and how far their life has come.
 *
 *   GATHERING ---all sent their edges---> COMMITTING ---all sent their lanes---> READY ---all destroyed it---> gone
 *       |                                     |                                    \--GraphFail--> FAILED --> gone
 *       \--- error: all are told, gone        \--- error: each is told when it commits, then gone
 *
 * The first two are set-up (setup.h); in COMMITTING it is only for a moment if nothing is left to be told (proposal.h).
 * Every node of a graph's group has its own part of it, which is gone when the members there have destroyed it. Lists
 * of a job's graphs are in order of their serial numbers. */
#ifndef SFD_JOBS_GRAPH_H
#define SFD_JOBS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/jobs/group.h"
#include "daemon/jobs/job.h"

struct sfd_setup;
struct sfd_trunks;
struct sfd_offers;
struct sfd_calls;
struct sfd_barrier;

typedef enum sfd_graph_state {
  SFD_GRAPH_GATHERING,
  SFD_GRAPH_COMMITTING,
  SFD_GRAPH_READY,
  SFD_GRAPH_FAILED,
} sfd_graph_state_t;

typedef struct sfd_graph {
  uint64_t id; /* first: the key; the same on all nodes; 0 until round 1 of its set-up is over */
  TAILQ_ENTRY(sfd_graph) entry;
  TAILQ_ENTRY(sfd_graph) setups_entry; /* of its group */
  uint64_t serial;
  sfd_group_t *group;
  uint64_t number; /* among the graphs of its group */
  sfd_graph_state_t state;
  struct sfd_setup *setup;     /* NULL when set-up is over */
  struct sfd_trunks *trunks;   /* NULL: it has no edges between this node and others */
  struct sfd_offers *offers;   /* NULL: nothing of it is offloaded */
  struct sfd_calls *calls;     /* NULL: nothing is known of what its ranks called */
  struct sfd_barrier *barrier; /* NULL: nobody waits there */
  int64_t nroots;              /* of all ranks */
  int64_t nleaves;
  int64_t npairs; /* ordered pairs of distinct ranks with edges */
  int32_t ndestroyed;
  uint64_t stall_told; /* number of the operation of which the log has told last that it is stuck */
  sf_status_t failure; /* FAILED: why, */
  char *detail;        /* in words; NULL: there was no memory for them */
  bool destroyed[];    /* by member of this node; also when it has left */
} sfd_graph_t;

/* A new graph of the group, in state GATHERING; NULL without memory. */
sfd_graph_t *sfd_graph_create(sfd_group_t *group);

/* Gives it its id. SF_ERR_NOMEM. */
sf_status_t sfd_graph_number(sfd_graph_t *graph, uint64_t id);

/* Set-up is over. */
void sfd_graph_set_up(sfd_graph_t *graph);

/* Fails a graph on all its nodes; only the first reason counts. */
void sfd_graph_fail(sfd_graph_t *graph, sf_status_t status, const char *text);

/* The same where another node has told of it. */
void sfd_graph_hear_failure(sfd_graph_t *graph, sf_status_t status, const char *text);

sf_status_t sfd_graph_handle_peer_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Takes it out of all tables and frees it, silently; with it its group if that is not known any more. */
void sfd_graph_free(sfd_graph_t *graph);

sfd_graph_t *sfd_graph_find(const sfd_job_t *job, uint64_t id);

/* The graph of that id that is set up and that the session's rank has not destroyed, or NULL: then the request has been
 * answered. */
sfd_graph_t *sfd_graph_find_ready(sfd_session_t *session, uint64_t request, uint64_t id, int32_t *local_p);

void sfd_graphs_free(sfd_job_t *job);

/* Sends an alert about the graph to its members on this node. */
void sfd_graph_alert_members(const sfd_graph_t *graph, Sfproto__Alert *alert,
                             void (*send)(sfd_session_t *session, Sfproto__Alert *alert));

/* For the listeners of failure (life.h): an alert to the members here. */
void sfd_graph_alert_failed(sfd_graph_t *graph, const char *detail);

#endif
