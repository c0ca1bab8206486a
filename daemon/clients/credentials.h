/* What the kernel knows about the other end of a socket. */
#ifndef SFD_CLIENTS_CREDENTIALS_H
#define SFD_CLIENTS_CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

/* Who connected it. A user who may do nothing, and pid 0, if that can't be found out; pid 0 also for a process of a pid
 * namespace that can't be seen from here. */
void sfd_credentials_read(int fd, uid_t *uid_p, pid_t *pid_p);

/* A descriptor that becomes readable when the process ends; -1 if there is none. */
int sfd_credentials_pidfd(pid_t pid);

bool sfd_credentials_is_unix_stream(int fd);

#endif
