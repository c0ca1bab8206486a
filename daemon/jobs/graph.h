/* Graphs: members, state, failure.
 *
 *   GATHERING ---all sent edges---> COMMITTING ---all sent lanes---> READY ---all destroyed it---> gone
 *       |                                |                               \--GraphFail--> FAILED --> gone
 *       \--- error: all are answered     \--- error: each is answered when it commits
 *
 * GATHERING and COMMITTING belong to set-up (setup.h); COMMITTING is passed at once if round 2 is not needed
 * (proposal.h). Each node of the group has its own part of a graph, which is gone when all members there have destroyed
 * the graph. Lists of a job's graphs are in order of their serial numbers. */
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
struct sfd_array;

typedef enum sfd_graph_state {
  SFD_GRAPH_GATHERING,
  SFD_GRAPH_COMMITTING,
  SFD_GRAPH_READY,
  SFD_GRAPH_FAILED,
} sfd_graph_state_t;

typedef struct sfd_graph {
  uint64_t id; /* first: the key; the same on all nodes; 0 until round 1 is over */
  TAILQ_ENTRY(sfd_graph) entry;
  TAILQ_ENTRY(sfd_graph) setups_entry; /* of the group */
  uint64_t serial;
  sfd_group_t *group;
  uint64_t number; /* among the graphs of the group */
  sfd_graph_state_t state;
  struct sfd_setup *setup;     /* NULL after set-up */
  struct sfd_trunks *trunks;   /* NULL: no edges to other nodes */
  struct sfd_offers *offers;   /* NULL: nothing is offloaded */
  struct sfd_calls *calls;     /* NULL: calls are not known */
  struct sfd_barrier *barrier; /* NULL: no rank is in a barrier */
  struct sfd_array *array;     /* NULL: the graph belongs to no array, or no rank here has described it */
  int64_t nroots;              /* of all ranks */
  int64_t nleaves;
  int64_t npairs; /* ordered pairs of distinct ranks with edges */
  int32_t ndestroyed;
  uint64_t stall_told; /* number of the operation whose stall was logged last */
  sf_status_t failure; /* FAILED: status, */
  char *detail;        /* and text; NULL: there was no memory for it */
  bool destroyed[];    /* by local member; set also when it has left */
} sfd_graph_t;

/* A new graph in state GATHERING; NULL without memory. */
sfd_graph_t *sfd_graph_create(sfd_group_t *group);

/* Sets the id. SF_ERR_NOMEM. */
sf_status_t sfd_graph_number(sfd_graph_t *graph, uint64_t id);

/* Ends the set-up. */
void sfd_graph_set_up(sfd_graph_t *graph);

/* Fails a graph on all its nodes. Only the first failure counts. */
void sfd_graph_fail(sfd_graph_t *graph, sf_status_t status, const char *text);

/* Another node has failed the graph. */
void sfd_graph_hear_failure(sfd_graph_t *graph, sf_status_t status, const char *text);

sf_status_t sfd_graph_handle_peer_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Frees the graph without messages, and its group if no id leads to that any more. */
void sfd_graph_free(sfd_graph_t *graph);

sfd_graph_t *sfd_graph_find(const sfd_job_t *job, uint64_t id);

/* The graph of that id. If it is in set-up, or the session's rank has destroyed it: NULL, and the request has been
 * answered. */
sfd_graph_t *sfd_graph_find_ready(sfd_session_t *session, uint64_t request, uint64_t id, int32_t *local_p);

void sfd_graphs_free(sfd_job_t *job);

/* Sends the alert to the members on this node. */
void sfd_graph_alert_members(const sfd_graph_t *graph, Sfproto__Alert *alert,
                             void (*send)(sfd_session_t *session, Sfproto__Alert *alert));

/* Listener of failures (life.h): alerts the members here. */
void sfd_graph_alert_failed(sfd_graph_t *graph, const char *detail);

#endif
