/* Metrics of the daemon: see metrics.h. The daemon's thread. */
#include "daemon/admin/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/admin/query.h"
#include "proto/report/gather.h"
#include "proto/report/metrics.h"
#include "shm/base/error.h"

typedef struct collecting {
  sfreport_gather_t gather;
  bool counting; /* ranks are read for counters of graphs that are collected already */
  sf_status_t status;
} collecting_t;

/* Copies a message, as it points into the daemon's state. */
static Sfproto__Message *copy_of(const Sfproto__Message *message)
{
  size_t length = sfproto__message__get_packed_size(message);
  uint8_t *packed = malloc(length);
  Sfproto__Message *copy = NULL;
  if (packed != NULL) {
    sfproto__message__pack(message, packed);
    copy = sfproto__message__unpack(NULL, length, packed);
  }
  free(packed);
  return copy;
}

static void take(void *context, const Sfproto__Message *message, const int fds[], int nfds)
{
  collecting_t *collecting = context;
  int fd = nfds > 0 ? fds[0] : -1;
  if (collecting->status != SF_OK)
    return;
  if (collecting->counting) {
    sfreport_gather_count(&collecting->gather, message, fd);
    return;
  }
  Sfproto__Message *copy = copy_of(message);
  collecting->status = copy != NULL ? sfreport_gather_add(&collecting->gather, copy, fd) : SF_ERR_NOMEM;
  if (copy != NULL && collecting->status != SF_OK)
    sfproto__message__free_unpacked(copy, NULL);
}

/* Jobs of all users: access to the socket decides who may look. */
static void ask(sfd_server_t *server, Sfproto__Query__What what, collecting_t *collecting)
{
  sfd_query_t query = {
      .server = server, .uid = server->uid, .active = true, .what = what, .send = take, .context = collecting};
  while (collecting->status == SF_OK && sfd_query_send_next(&query))
    ;
}

static sf_status_t collect(sfd_server_t *server, Sfproto__Query__What what, sfreport_list_t *list)
{
  collecting_t *collecting = calloc(1, sizeof *collecting);
  if (collecting == NULL)
    return SF_ERR_NOMEM;
  ask(server, what, collecting);
  if (collecting->status == SF_OK && what == SFPROTO__QUERY__WHAT__GRAPHS)
    collecting->status = sfreport_gather_begin_counting(&collecting->gather);
  if (collecting->status == SF_OK && what == SFPROTO__QUERY__WHAT__GRAPHS && collecting->gather.list.count > 0) {
    collecting->counting = true;
    ask(server, SFPROTO__QUERY__WHAT__RANKS, collecting);
  }
  sfreport_gather_end(&collecting->gather);
  *list = collecting->gather.list;
  sf_status_t status = collecting->status;
  free(collecting);
  return status;
}

static sf_status_t collect_all(sfd_server_t *server, sfreport_metrics_t *metrics)
{
  const struct {
    Sfproto__Query__What what;
    sfreport_list_t *list;
  } parts[] = {{SFPROTO__QUERY__WHAT__STATUS, &metrics->status}, {SFPROTO__QUERY__WHAT__JOBS, &metrics->jobs},
               {SFPROTO__QUERY__WHAT__RANKS, &metrics->ranks},   {SFPROTO__QUERY__WHAT__GRAPHS, &metrics->graphs},
               {SFPROTO__QUERY__WHAT__ARRAYS, &metrics->arrays}, {SFPROTO__QUERY__WHAT__PEERS, &metrics->peers}};
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == SF_OK; i++)
    status = collect(server, parts[i].what, parts[i].list);
  sfreport_list_drop_unnumbered(&metrics->graphs);
  return status;
}

sf_status_t sfd_metrics_text(sfd_server_t *server, char **text_p, size_t *length_p)
{
  sfreport_metrics_t metrics = {0};
  char *text = NULL;
  sf_status_t status = collect_all(server, &metrics);
  FILE *file = status == SF_OK ? open_memstream(&text, length_p) : NULL;
  if (file != NULL) {
    status = sfreport_metrics_print(&metrics, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
      status = SF_ERR_NOMEM;
  } else {
    status = SF_ERR_NOMEM;
  }
  sfreport_metrics_clear(&metrics);
  if (status != SF_OK) {
    free(text);
    return sfshm_error(SF_ERR_NOMEM, "no memory for the metrics");
  }
  *text_p = text;
  return SF_OK;
}
