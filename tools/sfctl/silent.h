/* Reading the counters of ranks when the daemon does not answer: it holds their descriptors, and its user may open them
 * again through /proc. */
#ifndef SFCTL_SILENT_H
#define SFCTL_SILENT_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

/* Adds a RankState for each region of counters that the process holds at the other end of the socket, which need not
 * answer: whoever has last listened there. Of what is no region, or of another layout, nothing. SF_ERR_NO_DAEMON;
 * SF_ERR_SYS: its process can't be seen from here; SF_ERR_PERM: it is another user's, or hides what it holds. */
sf_status_t sfctl_silent_collect(const char *socket_path, sfreport_list_t *list);

#endif
