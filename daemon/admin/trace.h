/* Tracing: whether ranks and the daemon write events, and both told to tools. The daemon's thread; one trace for the
 * process. */
#ifndef SFD_ADMIN_TRACE_H
#define SFD_ADMIN_TRACE_H

#include "daemon/admin/query.h"
#include "daemon/jobs.h"

/* Ranks and daemon write events from now on, and no longer. SF_ERR_NOMEM. */
sf_status_t sfd_trace_start(sfd_server_t *server);
void sfd_trace_stop(sfd_server_t *server);

/* A rank goes: what it has written is kept until the next trace begins, of the last SFD_TRACES_KEPT. */
#define SFD_TRACES_KEPT 64
void sfd_trace_keep(sfd_rank_t *rank);

/* Frees what the daemon has written. */
void sfd_trace_forget(sfd_server_t *server);

/* For queries: the next TraceInfo. */
bool sfd_trace_send_next(sfd_query_t *query);

#endif
