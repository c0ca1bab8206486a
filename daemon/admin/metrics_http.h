/* Metrics over HTTP, at a Unix socket or a loopback port (option metrics): GET /metrics, one request per connection.
 * Number, size and time of connections are bounded. */
#ifndef SFD_ADMIN_METRICS_HTTP_H
#define SFD_ADMIN_METRICS_HTTP_H

#include <sf/sf_status.h>

#include "daemon/base.h"

typedef struct sfd_metrics_http sfd_metrics_http_t;

/* Listens as the option says: a path, PORT, 127.0.0.1:PORT or [::1]:PORT; *metrics_p is NULL without it. SF_ERR_ARG:
 * anything else, or not loopback; SF_ERR_EXISTS: in use; SF_ERR_SYS; SF_ERR_NOMEM. */
sf_status_t sfd_metrics_http_create(sfd_server_t *server, sfd_metrics_http_t **metrics_p);

/* Ends all connections; memory is freed when the loop has closed the handles. NULL is accepted. */
void sfd_metrics_http_close(sfd_metrics_http_t *metrics);

#endif
