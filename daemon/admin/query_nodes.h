/* Answers about other nodes: channels, and what a graph sends over them. */
#ifndef SFD_ADMIN_QUERY_NODES_H
#define SFD_ADMIN_QUERY_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/admin/query.h"
#include "daemon/net.h"

/* channels NULL: alone. */
const char *sfd_query_fabric(const sfd_channels_t *channels);

/* Sends the next peer; false: there was none left. */
bool sfd_query_send_next_peer(sfd_query_t *query, const sfd_channels_t *channels);

/* Whether there is a graph of that id that the user may see. */
bool sfd_query_has_graph(const sfd_query_t *query, uint64_t graph);

/* Sends the next portion of the graph's plan; false: there was none left. */
bool sfd_query_send_next_plan(sfd_query_t *query);

#endif
