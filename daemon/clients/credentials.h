/* Credentials: what the kernel knows of the other end of a socket. */
#ifndef SFD_CLIENTS_CREDENTIALS_H
#define SFD_CLIENTS_CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

/* User and process that connected. If they can't be found out: a user without rights, and pid 0; pid 0 also for
 * processes in pid namespaces that can't be seen from here. */
void sfd_credentials_read(int fd, uid_t *uid_p, pid_t *pid_p);

/* A descriptor that becomes readable when the process ends; -1: none. */
int sfd_credentials_pidfd(pid_t pid);

bool sfd_credentials_is_unix_stream(int fd);

#endif
