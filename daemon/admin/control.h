/* What sfctl makes the daemon do: drain, kill a job, change the log, end. Who may is checked here: root and the
 * daemon's own user may do everything, others may kill their own jobs. */
#ifndef SFD_ADMIN_CONTROL_H
#define SFD_ADMIN_CONTROL_H

#include "daemon/clients.h"

/* Whoever wants something, for permissions and for texts. */
typedef struct sfd_requester {
  uid_t uid;
  pid_t pid;
  int32_t node; /* where sfctl runs; -1: here */
} sfd_requester_t;

/* Does it and writes what has been done, for people. SF_ERR_PERM; SF_ERR_NOT_FOUND, SF_ERR_EXISTS: no such job, or
 * several; SF_ERR_STATE: it has failed already, or there are jobs that shutdown would end; SF_ERR_ARG. */
sf_status_t sfd_control_apply(sfd_server_t *server, const sfd_requester_t *asker, const Sfproto__Control *control,
                              char text[SFD_TEXT_SIZE]);

/* Whether the daemon is to end once its answer has been sent, after SF_OK of the above. */
static inline bool sfd_control_ends(const Sfproto__Control *control)
{
  return control->action == SFPROTO__CONTROL__ACTION__SHUTDOWN;
}

/* The answer; jobs at present. */
void sfd_control_answer(const sfd_server_t *server, char text[SFD_TEXT_SIZE], Sfproto__Controlled *controlled);

void sfd_control_handle(sfd_session_t *session, const Sfproto__Message *message);

#endif
