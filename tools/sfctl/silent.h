/* Reading the counters of ranks when the daemon does not answer: it holds their descriptors, and its user may open them
 * again through /proc. */
#ifndef SFCTL_SILENT_H
#define SFCTL_SILENT_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

/* Process at the other end of the socket, which need not answer: whoever has last listened there. SF_ERR_NO_DAEMON;
 * SF_ERR_SYS: its process can't be seen from here. */
sf_status_t sfctl_silent_find(const char *socket_path, int32_t *pid_p);

/* Hands every counters region that the process holds to take, as an open descriptor, which stays the caller's. Other
 * than SF_OK from take ends it. SF_ERR_PERM: the process is another user's, or hides what it holds. */
sf_status_t sfctl_silent_visit(int32_t pid, sf_status_t (*take)(void *context, int fd), void *context);

/* Adds a RankState for each. Of what is no region, or of another layout, nothing. */
sf_status_t sfctl_silent_collect(const char *socket_path, sfreport_list_t *list);

#endif
