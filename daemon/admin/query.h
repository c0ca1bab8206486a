/* Answers to queries of sfctl, about what the asking user may see. Long answers are sent in portions, each when the
 * last one has been read, so that nothing piles up and others are served meanwhile. */
#ifndef SFD_ADMIN_QUERY_H
#define SFD_ADMIN_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "proto/sf_control.pb-c.h"

struct sfd_job;
struct sfd_graph;

/* A query, and how far it is answered. */
typedef struct sfd_query {
  sfd_server_t *server;
  uid_t uid; /* of the asking user */
  void (*send)(void *context, const Sfproto__Message *message, const int fds[],
               int nfds); /* descriptors are not taken over */
  void *context;
  bool active;
  Sfproto__Query__What what;
  uint64_t request;
  uint64_t next_job; /* lowest serial number of jobs not sent yet */
  uint64_t next_graph;
  int32_t next_rank;
  int32_t count;
  bool self_contained;             /* counters are sent as bytes, not as descriptors */
  struct sfd_remote_query *remote; /* NULL: about this node only */
} sfd_query_t;

/* Begins a query; uid and send of *query are set. SF_ERR_UNSUPPORTED; SF_ERR_NOT_FOUND: no such graph. */
sf_status_t sfd_query_begin(sfd_query_t *query, const Sfproto__Query *asked);

/* Sends the next message; false: there was none left. */
bool sfd_query_send_next(sfd_query_t *query);

/* ---- For query_nodes.c and trace.c ---- */

/* Sends one message of the answer. */
void sfd_query_send(sfd_query_t *query, Sfproto__Message *message, const int fds[], int nfds);

/* The first job from that serial number on that the user may see; NULL: none. */
struct sfd_job *sfd_query_visible_job(const sfd_query_t *query, uint64_t serial);

/* Moves the query to the next rank here of jobs that the user may see; NULL: none. */
struct sfd_rank *sfd_query_next_rank(sfd_query_t *query);

/* setup, ready, failed, retiring */
char *sfd_query_graph_state_name(const struct sfd_graph *graph);

#endif
