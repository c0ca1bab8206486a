/* Commands of sfctl: drain, kill a job, change log levels, shut down. Root and the daemon's user may do everything,
 * other users may kill their jobs. */
#ifndef SFD_ADMIN_CONTROL_H
#define SFD_ADMIN_CONTROL_H

#include "daemon/clients.h"

/* Who sent a command. */
typedef struct sfd_requester {
  uid_t uid;
  pid_t pid;
  int32_t node; /* of sfctl; -1: this one */
} sfd_requester_t;

/* Executes the command and writes the result as text. SF_ERR_PERM; SF_ERR_NOT_FOUND, SF_ERR_EXISTS: no such job, or
 * several; SF_ERR_STATE: it has failed already, or there are jobs that shutdown would end; SF_ERR_ARG. */
sf_status_t sfd_control_apply(sfd_server_t *server, const sfd_requester_t *asker, const Sfproto__Control *control,
                              char text[SFD_TEXT_SIZE]);

/* Whether the daemon ends after its answer, if the command succeeded. */
static inline bool sfd_control_ends(const Sfproto__Control *control)
{
  return control->action == SFPROTO__CONTROL__ACTION__SHUTDOWN;
}

/* Fills in the answer. */
void sfd_control_answer(const sfd_server_t *server, char text[SFD_TEXT_SIZE], Sfproto__Controlled *controlled);

void sfd_control_handle(sfd_session_t *session, const Sfproto__Message *message);

#endif
