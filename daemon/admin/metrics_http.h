/* Metrics over HTTP, at a Unix socket or a loopback port (option metrics): GET /metrics, one request to a connection,
 * answered with what sfctl metrics prints. Connections, what they send and the time they take are bounded. */
#ifndef SFD_ADMIN_METRICS_HTTP_H
#define SFD_ADMIN_METRICS_HTTP_H

#include <sf/sf_status.h>

#include "daemon/base.h"

typedef struct sfd_metrics_http sfd_metrics_http_t;

/* Listens where the option says: a path, PORT, 127.0.0.1:PORT or [::1]:PORT. *metrics_p is NULL if it says nothing.
 * SF_ERR_ARG: something else, or not loopback; SF_ERR_EXISTS: somebody listens there; SF_ERR_SYS; SF_ERR_NOMEM. */
sf_status_t sfd_metrics_http_create(sfd_server_t *server, sfd_metrics_http_t **metrics_p);

/* Ends all connections, and frees everything when the loop has closed the handles. NULL is accepted. */
void sfd_metrics_http_close(sfd_metrics_http_t *metrics);

#endif
