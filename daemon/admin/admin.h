/* What a daemon keeps for tools: questions to other nodes, metrics, the watch for stalls, traces. */
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
  uint8_t *unanswered;              /* by node: questions to it, see remote_query.c; NULL: none was asked yet */
  struct sfd_metrics_http *metrics; /* NULL: they are not served */
  uv_timer_t stalls;                /* see stall.h */
  uint64_t trace_since_ns;          /* when the last trace was started; 0: never */
  uint64_t trace_until_ns;          /* and stopped; 0: it goes on */
  char logged_by[SFD_TEXT_SIZE];    /* who changed what is logged; "": nobody */
} sfd_admin_t;

#endif
