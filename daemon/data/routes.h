/* Edge lists for offloading: those that members of a graph on this node have given (GraphEdges), and the ways that
 * workers go along them. They live as long as the graph. The daemon's thread. */
#ifndef SFD_DATA_ROUTES_H
#define SFD_DATA_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/copy.h"
#include "daemon/jobs.h"

typedef struct sfd_routes sfd_routes_t;

/* No lists yet. NULL: there is no memory. */
sfd_routes_t *sfd_routes_create(const sfd_group_t *group);
void sfd_routes_free(sfd_routes_t *lists); /* NULL is accepted */

/* Takes the list of the member at that place of the group. SF_ERR_PROTO: it is malformed, or the second one;
 * SF_ERR_LIMIT: the daemon has as many as it may have; SF_ERR_NOMEM. */
sf_status_t sfd_routes_add_list(sfd_routes_t *lists, int32_t group_rank, const Sfproto__GraphEdges *edges, int fd);

/* The way from the roots of one rank to the leaves of another or back, both by place in the group; made at first use,
 * and the lists'. NULL: there is none, or the leaves' owner has not given its list. */
sfd_route_t *sfd_routes_find(sfd_routes_t *lists, int32_t writer, int32_t reader, sfshm_operation_t operation);

/* What a pair of ranks is found by in search trees, per operation. */
uint64_t sfd_routes_key(int32_t writer, int32_t reader, sfshm_operation_t operation);

#endif
