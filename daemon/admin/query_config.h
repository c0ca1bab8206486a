/* Answers to sfctl config: the options in effect. */
#ifndef SFD_ADMIN_QUERY_CONFIG_H
#define SFD_ADMIN_QUERY_CONFIG_H

#include <stdbool.h>

#include "daemon/admin/query.h"

/* Sends the next option; false: there was none left. */
bool sfd_query_send_next_option(sfd_query_t *query);

#endif
