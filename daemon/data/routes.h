/* Edge lists for offloading (GraphEdges), of members of a graph on this node, and the routes of copies along them;
 * freed with the graph. The daemon's thread. */
#ifndef SFD_DATA_ROUTES_H
#define SFD_DATA_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/copy.h"
#include "daemon/jobs.h"

typedef struct sfd_routes sfd_routes_t;

/* NULL without memory. */
sfd_routes_t *sfd_routes_create(const sfd_group_t *group);
void sfd_routes_free(sfd_routes_t *lists); /* NULL is accepted */

/* Takes the list of that group rank. SF_ERR_PROTO: malformed, or a second one; SF_ERR_LIMIT: too many lists;
 * SF_ERR_NOMEM. */
sf_status_t sfd_routes_add_list(sfd_routes_t *lists, int32_t group_rank, const Sfproto__GraphEdges *edges, int fd);

/* The route from the roots of one group rank to the leaves of another, or back; created at first use and owned by the
 * lists. NULL: there is none, or the list of the leaves has not come. */
sfd_route_t *sfd_routes_find(sfd_routes_t *lists, int32_t writer, int32_t reader, sfshm_operation_t operation);

/* Key of a pair of ranks and an operation, for search trees. */
uint64_t sfd_routes_key(int32_t writer, int32_t reader, sfshm_operation_t operation);

#endif
