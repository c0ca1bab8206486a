/* Answering sfctl: what there is, as far as the asking user may see it. Long answers are told in portions, each when
 * the one before has been read, so that nothing piles up here and nobody else waits. */
#ifndef SFD_ADMIN_QUERY_H
#define SFD_ADMIN_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "proto/sf_control.pb-c.h"

struct sfd_job;
struct sfd_graph;

/* A query that is being answered: what has been told, and where to go on. */
typedef struct sfd_query {
  sfd_server_t *server;
  uid_t uid; /* who asks */
  void (*send)(void *context, const Sfproto__Message *message, const int fds[],
               int nfds); /* the descriptors stay here */
  void *context;
  bool active;
  Sfproto__Query__What what;
  uint64_t request;
  uint64_t next_job; /* lowest id that has not been looked at */
  uint64_t next_graph;
  int32_t next_rank;
  int32_t count;
  bool self_contained;             /* counters go as bytes, not as descriptors */
  struct sfd_remote_query *remote; /* NULL: of this node only */
} sfd_query_t;

/* Whether what is asked can be answered; who asks and whom to tell are in *query. SF_ERR_UNSUPPORTED; SF_ERR_NOT_FOUND:
 * no such graph. */
sf_status_t sfd_query_begin(sfd_query_t *query, const Sfproto__Query *asked);

/* Tells the next message of the answer; whether there was one left. */
bool sfd_query_send_next(sfd_query_t *query);

/* ---- For query_nodes.c and trace.c ---- */

/* One message of the answer. */
void sfd_query_send(sfd_query_t *query, Sfproto__Message *message, const int fds[], int nfds);

/* The first job from that serial number on that who asks may see; NULL: there is none. */
struct sfd_job *sfd_query_visible_job(const sfd_query_t *query, uint64_t serial);

/* The next rank here, from the query's place on, of the jobs that who asks may see: the query stands there then. NULL:
 * there is none. */
struct sfd_rank *sfd_query_next_rank(sfd_query_t *query);

/* setup, ready, failed, retiring */
char *sfd_query_graph_state_name(const struct sfd_graph *graph);

#endif
