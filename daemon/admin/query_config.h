/* Answering sfctl config: the daemon's options as they are in effect. */
#ifndef SFD_ADMIN_QUERY_CONFIG_H
#define SFD_ADMIN_QUERY_CONFIG_H

#include <stdbool.h>

#include "daemon/admin/query.h"

/* Tells of the next option. Whether there was one left. */
bool sfd_query_send_next_option(sfd_query_t *query);

#endif
