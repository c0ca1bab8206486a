/* Reading counters of ranks without the daemon, when it does not answer: its user can open its descriptors through
 * /proc. */
#ifndef SFCTL_SILENT_H
#define SFCTL_SILENT_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

/* Adds a RankState for each counters region of the process that last listened at the socket; it need not answer.
 * SF_ERR_NO_DAEMON; SF_ERR_SYS: the process can't be seen from here; SF_ERR_PERM: it belongs to another user, or hides
 * its descriptors. */
sf_status_t sfctl_silent_collect(const char *socket_path, sfreport_list_t *list);

#endif
