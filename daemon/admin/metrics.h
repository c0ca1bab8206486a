/* Metrics of the daemon as OpenMetrics text, the same as sfctl metrics prints. */
#ifndef SFD_ADMIN_METRICS_H
#define SFD_ADMIN_METRICS_H

#include <stddef.h>

#include <sf/sf_status.h>

#include "daemon/base.h"

/* Free *text_p. SF_ERR_NOMEM. */
sf_status_t sfd_metrics_text(sfd_server_t *server, char **text_p, size_t *length_p);

#endif
