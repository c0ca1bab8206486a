/* Admission of connections: limits on those that have not sent a valid Hello, so that no process can hold all
 * connections of the daemon. At most an eighth of max-clients (64 to 4096) are unadmitted; of these a user may have
 * three quarters, a process half. One more replaces the longest-waiting one of the same process, user, or of all, first
 * of processes with several. A process that makes one connection and sends Hello gets in. */
#ifndef SFD_CLIENTS_ADMISSION_H
#define SFD_CLIENTS_ADMISSION_H

#include <sys/queue.h>

struct sfd_session;
LIST_HEAD(sfd_admission_list, sfd_session); /* the newest first */

/* A new connection. Returns the one that it replaces; NULL: none. */
struct sfd_session *sfd_admission_add(struct sfd_session *session);

/* Hello has come, or the connection goes. Repeated calls are harmless. */
void sfd_admission_remove(struct sfd_session *session);

#endif
