/* Daemons of this user, such as those of sfrun, whose sockets are in private directories. */
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

/* Chooses a socket if none is named by option or SF_SOCKET, and no daemon answers at the default one: that of the
 * user's only daemon, or of the lowest node that answers if all are nodes of one cluster, in static storage; else NULL,
 * the choice of sfproto_connect. SF_ERR_ARG: several daemons, which the detail names. */
sf_status_t sfctl_daemons_choose(const char *given, const char **socket_p);

/* sfctl daemons: prints the daemons, their jobs, and how to choose one. SF_ERR_NO_DAEMON: none. */
sf_status_t sfctl_daemons(const sfctl_options_t *options, FILE *file);

#endif
