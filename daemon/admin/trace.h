/* Tracing: whether ranks are to write events, the daemon's own, and telling both. The daemon's thread; one trace for
 * the process. */
#ifndef SFD_TRACE_H
#define SFD_TRACE_H

#include "daemon/clients/session.h"
#include "daemon/jobs/job.h"
#include "daemon/net/channel.h"
#include "shm/observe/trace.h"

/* NULL: the daemon writes no events. Changed by the functions below only. */
extern sfshm_trace_t *sfd_trace_ring;

/* Ranks and daemon write events from now on, and no longer. SF_ERR_NOMEM. */
sf_status_t sfd_trace_start(sfd_server_t *server);
void sfd_trace_stop(sfd_server_t *server);

/* A rank goes: what it has written is kept until the next trace begins, of the last SFD_TRACES_KEPT. */
#define SFD_TRACES_KEPT 64
void sfd_trace_keep(sfd_rank_t *rank);

/* Frees what the daemon has written. */
void sfd_trace_forget(sfd_server_t *server);

/* The time, if the daemon writes events; else 0. */
static inline uint64_t sfd_trace_now_ns(void)
{
  return sfd_trace_ring != NULL ? sfshm_trace_now_ns() : 0;
}

/* A trunk's message was given to the channel, or has come. flags of its head: the role of the side that receives. */
void sfd_trace_message(sfshm_trace_kind_t kind, int32_t node, const sfd_message_head_t *head, uint64_t message);

/* A frame of so many messages; since when it has been with the fabric. */
void sfd_trace_frame(sfshm_trace_kind_t kind, int32_t node, uint32_t number, unsigned messages, uint64_t bytes,
                     uint64_t since_ns);

/* For queries: the next TraceInfo. */
bool sfd_trace_tell_next(sfd_query_t *query);

#endif
