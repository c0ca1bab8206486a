/* One connection: a client (one rank of a job) or a tool.
 *
 *   NEW ---Hello---> JOINING ---all came---> RUNNING ---Goodbye---> LEFT
 *    |  \--Hello---> TOOL
 *    \___any____> ENDING (last word is on its way; nothing is read any more) ---written, or 1 s---> LOST
 *   NEW or its ENDING ---too many of them---> LOST
 *    any ---closed, died, can't be served---> LOST ---attended to---> CLOSED (handles are closing) ---> freed
 *
 * Only attention (see server.h) takes a session out of its job and to CLOSED. */
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

/* In the order in which a session can go through them; from ENDING on nothing is read or sent any more. */
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

/* What a session does beyond its connection, by what it is: a rank (jobs/job.h) or a tool (admin/tool.h). A function
 * that is not needed is NULL. */
typedef struct sfd_session_role {
  bool (*has_more)(const struct sfd_session *session); /* writable has something to send */
  void (*writable)(struct sfd_session *session);       /* all output has been written */
  void (*lost)(struct sfd_session *session);           /* nothing is read or sent any more; may come several times */
  void (*closed)(struct sfd_session *session);         /* lets go of the session */
} sfd_session_role_t;

typedef struct sfd_session {
  sfd_server_t *server;
  TAILQ_ENTRY(sfd_session) entry;
  TAILQ_ENTRY(sfd_session) attention_entry;
  LIST_ENTRY(sfd_session) admission_entry;
  bool attention;
  bool is_unadmitted; /* see admission.h */
  bool has_sibling;   /* while it was a stranger, its process had another one */
  sfd_session_state_t state;
  sfproto_conn_t *conn;
  sfproto_conn_t *alerts; /* NULL until it is a client */
  uv_poll_t poll;
  uv_poll_t alert_poll;
  uv_poll_t process_poll;
  uv_timer_t timer; /* waiting for Hello, or for the other end to take the last word */
  uv_timer_t retry; /* runs while a connection is crowded, see conn.h, or alerts are held */
  bool paused;      /* nothing is read until retry */
  int events;       /* that poll waits for */
  int alert_events;
  int nheld;    /* alerts that are queued, but need not go yet; 0: all go */
  int nhandles; /* that are not closed yet */
  int pidfd;    /* -1: none */
  uid_t uid;
  pid_t pid;                      /* 0: in a pid namespace that can't be seen from here */
  const sfd_session_role_t *role; /* NULL before Hello */
  struct sfd_rank *rank;      /* its place in a job; NULL for tools, before Hello, and after the job is done with it */
  struct sfd_query *query;    /* a tool's; NULL before the first one */
  char reason[SFD_TEXT_SIZE]; /* why the daemon ended it; "" when the other end did */
} sfd_session_t;

/* Takes over a connected socket. */
sf_status_t sfd_session_create(sfd_server_t *server, int fd, sfd_session_t **session_p);

/* Makes it a client: takes over the alert socket, watches the process. On failure the socket is closed. */
sf_status_t sfd_session_watch_client(sfd_session_t *session, int alert_fd);

/* Sending never blocks and never fails for the caller: who can't be served any more is lost, which shows at the next
 * attention. Nothing is sent from ENDING on. */
void sfd_session_send(sfd_session_t *session, const Sfproto__Message *message, const int fds[], int nfds);
void sfd_session_send_done(sfd_session_t *session, uint64_t request);
void sfd_session_send_error(sfd_session_t *session, uint64_t request, sf_status_t status, const char *detail);
void sfd_session_send_alert(sfd_session_t *session, Sfproto__Alert *alert);

/* An alert that nobody waits for: it goes with another one, after 20 ms, or when so many are held that it is worth
 * waking the client's listener; release sends them all at once. */
void sfd_session_hold_alert(sfd_session_t *session, Sfproto__Alert *alert);
void sfd_session_release_alerts(sfd_session_t *session);

/* sfd_session_send_error with a text in printf's way. */
void sfd_session_send_errorf(sfd_session_t *session, uint64_t request, sf_status_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sends a last Error and ends the connection; refuse, for what it sent or wanted, counts it, logs it, and lets its job
 * fail with that text. */
void sfd_session_dismiss(sfd_session_t *session, uint64_t request, sf_status_t status, const char *detail);
void sfd_session_refuse(sfd_session_t *session, uint64_t request, sf_status_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The other end is gone. */
void sfd_session_lose(sfd_session_t *session);

/* Marks the session for attention in this turn of the loop: its output is written, and it ends if it has to. */
void sfd_session_mark(sfd_session_t *session);

/* Attends to all marked sessions, and to those that are marked meanwhile. */
void sfd_sessions_attend(sfd_server_t *server);
bool sfd_sessions_need_attention(const sfd_server_t *server);

/* Closes at once, without telling its job; only for sfd_server_stop and attention. */
void sfd_session_close(sfd_session_t *session);

#endif
