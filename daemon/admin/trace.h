/* Traces: starts and stops writing of events by ranks and the daemon, and sends the events to tools. One trace per
 * process. The daemon's thread. */
#ifndef SFD_ADMIN_TRACE_H
#define SFD_ADMIN_TRACE_H

#include "daemon/admin/query.h"
#include "daemon/jobs.h"

/* Start and stop. SF_ERR_NOMEM. */
sf_status_t sfd_trace_start(sfd_server_t *server);
void sfd_trace_stop(sfd_server_t *server);

/* A rank goes: its events are kept until the next trace begins; of the last SFD_TRACES_KEPT ranks. */
#define SFD_TRACES_KEPT 64
void sfd_trace_keep(sfd_rank_t *rank);

/* Frees the daemon's events. */
void sfd_trace_forget(sfd_server_t *server);

/* Sends the next TraceInfo; false: there was none left. */
bool sfd_trace_send_next(sfd_query_t *query);

#endif
