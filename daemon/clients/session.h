/* Session: one connection of a client (one rank of a job) or a tool.
 *
 *   NEW ---Hello---> JOINING ---all ranks came---> RUNNING ---Goodbye---> LEFT
 *    |  \--Hello---> TOOL
 *    \___any____> ENDING (last message on its way; nothing is read any more) ---written, or 1 s---> LOST
 *   NEW, or its ENDING ---too many (admission.h)---> LOST
 *    any ---closed, died, error---> LOST ---attended to---> CLOSED (handles are closing) ---> freed
 *
 * Only attention (server.h) takes a session out of its job and to CLOSED. */
#ifndef SFD_CLIENTS_SESSION_H
#define SFD_CLIENTS_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "proto/conn.h"

struct sfd_session;
struct sfd_rank;
struct sfd_query;

/* In order; from ENDING on nothing is read or sent. */
typedef enum sfd_session_state {
  SFD_SESSION_NEW,
  SFD_SESSION_TOOL,
  SFD_SESSION_JOINING,
  SFD_SESSION_RUNNING,
  SFD_SESSION_LEFT,
  SFD_SESSION_ENDING,
  SFD_SESSION_LOST,
  SFD_SESSION_CLOSED,
} sfd_session_state_t;

/* Functions of a session by role: rank (jobs/job.h) or tool (admin/tool.h). NULL: not needed. */
typedef struct sfd_session_role {
  bool (*has_more)(const struct sfd_session *session); /* whether writable has more to send */
  void (*writable)(struct sfd_session *session);       /* all output has been written */
  void (*lost)(struct sfd_session *session);   /* nothing is read or sent any more; may be called several times */
  void (*closed)(struct sfd_session *session); /* releases the session */
} sfd_session_role_t;

typedef struct sfd_session {
  sfd_server_t *server;
  TAILQ_ENTRY(sfd_session) entry;
  TAILQ_ENTRY(sfd_session) attention_entry;
  LIST_ENTRY(sfd_session) admission_entry;
  bool attention;
  bool is_unadmitted; /* see admission.h */
  bool has_sibling;   /* its process had another unadmitted connection meanwhile */
  sfd_session_state_t state;
  sfproto_conn_t *conn;
  sfproto_conn_t *alerts; /* NULL before Hello */
  uv_poll_t poll;
  uv_poll_t alert_poll;
  uv_poll_t process_poll;
  uv_timer_t timer; /* for Hello, or for the last message to be read */
  uv_timer_t retry; /* while a connection is crowded, see conn.h, or alerts are held */
  bool paused;      /* reads nothing until retry */
  int events;       /* of poll */
  int alert_events;
  int nheld;    /* alerts queued without urgency; 0: all are sent */
  int nhandles; /* not closed yet */
  int pidfd;    /* -1: none */
  uid_t uid;
  pid_t pid;                      /* 0: in a pid namespace that can't be seen from here */
  const sfd_session_role_t *role; /* NULL before Hello */
  struct sfd_rank *rank;          /* NULL: tool, before Hello, or the job has released it */
  struct sfd_query *query;        /* of a tool; NULL before the first */
  char reason[SFD_TEXT_SIZE];     /* why the daemon ended it; "": the other end did */
} sfd_session_t;

/* Takes over a connected socket. */
sf_status_t sfd_session_create(sfd_server_t *server, int fd, sfd_session_t **session_p);

/* Makes it a client's: takes over the alert socket (closed on failure), watches the process. */
sf_status_t sfd_session_watch_client(sfd_session_t *session, int alert_fd);

/* Sending never blocks and does not fail: a session that can't be served is lost at the next attention. From ENDING on
 * nothing is sent. */
void sfd_session_send(sfd_session_t *session, const Sfproto__Message *message, const int fds[], int nfds);
void sfd_session_send_done(sfd_session_t *session, uint64_t request);
void sfd_session_send_error(sfd_session_t *session, uint64_t request, sf_status_t status, const char *detail);
void sfd_session_send_alert(sfd_session_t *session, Sfproto__Alert *alert);

/* An alert without urgency: is sent with another alert, after 20 ms, or when several are held; release sends all held
 * ones. */
void sfd_session_hold_alert(sfd_session_t *session, Sfproto__Alert *alert);
void sfd_session_release_alerts(sfd_session_t *session);

/* sfd_session_send_error with a printf format. */
void sfd_session_send_errorf(sfd_session_t *session, uint64_t request, sf_status_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sends a last Error and ends the connection. refuse is for wrong messages: it also counts, logs, and fails the job
 * with that text. */
void sfd_session_dismiss(sfd_session_t *session, uint64_t request, sf_status_t status, const char *detail);
void sfd_session_refuse(sfd_session_t *session, uint64_t request, sf_status_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Marks the session for attention in this turn of the loop: output is written, and it may end. */
void sfd_session_mark(sfd_session_t *session);

/* Attends to all marked sessions, also those marked meanwhile. */
void sfd_sessions_attend(sfd_server_t *server);
bool sfd_sessions_need_attention(const sfd_server_t *server);

/* Closes at once, without its role's functions; for sfd_server_stop and attention. */
void sfd_session_close(sfd_session_t *session);

#endif
