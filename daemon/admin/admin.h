/* State of the daemon for tools: questions to other nodes, metrics, stalls, traces. */
#ifndef SFD_ADMIN_ADMIN_H
#define SFD_ADMIN_ADMIN_H

#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/base.h"

struct sfd_remote_query;
struct sfd_metrics_http;
LIST_HEAD(sfd_remote_query_list, sfd_remote_query);

typedef struct sfd_admin {
  struct sfd_remote_query_list remotes;
  uint8_t *unanswered;              /* by node: questions to it, see remote_query.c; NULL: none yet */
  struct sfd_metrics_http *metrics; /* NULL: not served */
  uv_timer_t stalls;                /* see stall.h */
  uint64_t trace_since_ns;          /* start of the last trace; 0: none yet */
  uint64_t trace_until_ns;          /* its end; 0: it goes on */
  char logged_by[SFD_TEXT_SIZE];    /* who changed the log levels; "": nobody */
} sfd_admin_t;

#endif
