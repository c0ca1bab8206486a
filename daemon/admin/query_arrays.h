/* Answers about arrays, and about requests on them that other nodes have not answered. */
#ifndef SFD_ADMIN_QUERY_ARRAYS_H
#define SFD_ADMIN_QUERY_ARRAYS_H

#include <stdbool.h>

#include "daemon/admin/query.h"
#include "daemon/jobs.h"

/* Sends the array of a graph; false: it belongs to none. */
bool sfd_query_send_array(sfd_query_t *query, const sfd_graph_t *graph);

/* Adds the rank's requests to a state, to be freed with it. SF_ERR_NOMEM. */
sf_status_t sfd_query_add_array_waits(const sfd_rank_t *rank, Sfproto__RankState *state);

#endif
