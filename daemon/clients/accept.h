/* Accepting connections, and the lists of open ones. Accepting pauses while connections or descriptors run out. The
 * daemon's thread. */
#ifndef SFD_CLIENTS_ACCEPT_H
#define SFD_CLIENTS_ACCEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/clients/admission.h"
#include "proto/conn.h"

/* Why a connection is refused; printf formats for the limit as long long. */
#define SFD_TOO_MANY_CLIENTS "the daemon serves at most %lld connections (option max-clients)"
#define SFD_TOO_MANY_FILES "the daemon may have %lld open files (ulimit -n), and those that are left are for tools"

struct sfd_session;
TAILQ_HEAD(sfd_session_list, sfd_session);

typedef struct sfd_clients {
  void (*received)(struct sfd_session *session, sfproto_incoming_t *incoming);
  int listen_fd;
  uv_poll_t listen_poll;
  uv_timer_t retry; /* runs while accepting is paused */
  bool accepting;
  struct sfd_session_list sessions;
  struct sfd_session_list attention; /* marked in this turn of the loop, see session.h */
  struct sfd_admission_list unadmitted;
  int32_t nsessions;
} sfd_clients_t;

/* Creates server->clients for a listening, non-blocking socket of the caller. received handles the messages. */
sf_status_t sfd_clients_create(sfd_server_t *server, int listen_fd,
                               void (*received)(struct sfd_session *session, sfproto_incoming_t *incoming));
void sfd_clients_start(sfd_server_t *server);

/* Closes the handles. After the loop has closed them, destroy is allowed. */
void sfd_clients_close(sfd_server_t *server);
void sfd_clients_destroy(sfd_server_t *server);

/* A connection is gone: continues accepting. */
void sfd_clients_session_freed(sfd_server_t *server);

/* Whether the next read may lack descriptors for those that it receives. */
bool sfd_clients_lack_fds(const sfd_server_t *server);

/* Whether the session has one of the last descriptors, which are for tools of root and of the daemon's user. */
bool sfd_session_is_out_of_fds(const struct sfd_session *session);

#endif
