/* Answering sfctl about other nodes: the channels to them, and what a graph sends there. */
#ifndef SFD_ADMIN_QUERY_NODES_H
#define SFD_ADMIN_QUERY_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/admin/query.h"
#include "daemon/net.h"

/* channels NULL: the daemon is alone. */
const char *sfd_query_fabric(const sfd_channels_t *channels);

/* Tells of the next peer. Whether there was one left. */
bool sfd_query_send_next_peer(sfd_query_t *query, const sfd_channels_t *channels);

/* Whether who asks may see a graph with that number, and there is one. */
bool sfd_query_has_graph(const sfd_query_t *query, uint64_t graph);

/* The next portion of the plan of the graph that the query is about. Whether there was something left to tell. */
bool sfd_query_send_next_plan(sfd_query_t *query);

#endif
