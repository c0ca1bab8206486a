/* Finding the daemons that this user runs, such as those of sfrun, whose sockets are in directories of their own. */
#ifndef SFCTL_DAEMONS_H
#define SFCTL_DAEMONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/un.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

typedef struct sfctl_daemon {
  int32_t pid;
  char socket[sizeof((struct sockaddr_un *)0)->sun_path + 1];
} sfctl_daemon_t;

/* Processes of this user with the name sfd that listen at a socket with a path, by that; *daemons_p is to be freed.
 * root: put before /proc; "" but in tests. SF_ERR_NOMEM; SF_ERR_SYS: /proc can't be read. */
sf_status_t sfctl_daemons_find(const char *root, sfctl_daemon_t **daemons_p, size_t *n_p);

/* If no socket is named, by option or SF_SOCKET, and nobody answers at the default one: the socket of this user's only
 * daemon, or of the lowest node that answers if they are all nodes of one cluster, in static storage; else NULL, that
 * is, what sfproto_connect does. SF_ERR_ARG: there are several, and which. */
sf_status_t sfctl_daemons_choose(const char *given, const char **socket_p);

/* sfctl daemons: prints them, with their jobs, and how to choose one. SF_ERR_NO_DAEMON: there are none. */
sf_status_t sfctl_daemons(const sfctl_options_t *options, FILE *file);

#endif
