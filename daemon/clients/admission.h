/* Strangers: connections that have not said Hello, or said what is none and are being dismissed. Without a bound one
 * process could hold all connections that the daemon serves for as long as it waits for a Hello. There may be an eighth
 * of the option max-clients, but 64 at least and 4096 at most; of these a user may have three quarters, and a process
 * half. One more takes the place of the longest-waiting one of the same process, user, or of all. Of several processes
 * those with more than one stranger suffer first. So whoever makes one connection and says Hello gets in. */
#ifndef SFD_CLIENTS_ADMISSION_H
#define SFD_CLIENTS_ADMISSION_H

#include <sys/queue.h>

struct sfd_session;
LIST_HEAD(sfd_admission_list, sfd_session); /* the newest first */

/* A new connection. Returns the one that has to go for it; NULL: there is room. */
struct sfd_session *sfd_admission_add(struct sfd_session *session);

/* It has said Hello, or goes. May be told more than once. */
void sfd_admission_remove(struct sfd_session *session);

#endif
