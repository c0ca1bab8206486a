/* Answering sfctl: what there is, as far as the asking user may see it. Long answers are told in portions, each when
 * the one before has been read, so that nothing piles up here and nobody else waits. */
#ifndef SFD_QUERY_H
#define SFD_QUERY_H

#include "daemon/clients/session.h"

struct sfd_job;
struct sfd_graph;

void sfd_query_handle(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* Tells the next portion of the active query. */
void sfd_query_continue(sfd_session_t *session);

/* Whether what is asked can be answered; who asks and whom to tell are in *query. SF_ERR_UNSUPPORTED; SF_ERR_NOT_FOUND:
 * no such graph. */
sf_status_t sfd_query_begin(sfd_query_t *query, const Sfproto__Query *asked);

/* Ends the active query of a session. */
void sfd_query_tell_end(sfd_session_t *session);

/* Tells the next message of the answer; whether there was one left. */
bool sfd_query_tell_next(sfd_query_t *query);

/* ---- For query_nodes.c and trace.c ---- */

/* One message of the answer. */
void sfd_query_tell(sfd_query_t *query, Sfproto__Message *message, const int fds[], int nfds);

/* The first job from that serial number on that who asks may see; NULL: there is none. */
struct sfd_job *sfd_query_visible_job(const sfd_query_t *query, uint64_t serial);

/* The next rank here, from the query's place on, of the jobs that who asks may see: the query stands there then. NULL:
 * there is none. */
struct sfd_rank *sfd_query_next_rank(sfd_query_t *query);

/* setup, ready, failed, retiring */
char *sfd_query_graph_state(const struct sfd_graph *graph);

#endif
