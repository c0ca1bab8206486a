/* A rank's counters as bytes, for who can't get the descriptor of their region: of another node. The head of the region
 * (up to its first graph), the entries of graphs in use, those of lanes in use, those of ranks of other nodes in use.
 */
#ifndef SFREPORT_COUNTERS_PACK_H
#define SFREPORT_COUNTERS_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include <sf/sf_status.h>

#include "shm/observe/counters.h"

/* Reads them; what of lanes, and of ranks of other nodes, does not fit is left out: the graphs' sums are then too low.
 * *packed_p is to be freed. Errors as sfshm_counters_copy; SF_ERR_LIMIT: not even the graphs fit. */
sf_status_t sfreport_counters_pack(int fd, size_t max_bytes, void **packed_p, size_t *length_p);

/* The copy that they were made of, to be freed with sfshm_counters_free. SF_ERR_PROTO: they are none; SF_ERR_VERSION:
 * of another layout; SF_ERR_NOMEM. */
sf_status_t sfreport_counters_unpack(const void *packed, size_t length, sfshm_counters_t **copy_p);

#endif
