/* Packed counters of a rank, for readers on other nodes, which can't get the region's descriptor: head of the region
 * (up to the first graph), then used entries of graphs, lanes, and ranks of other nodes. */
#ifndef SFREPORT_COUNTERS_PACK_H
#define SFREPORT_COUNTERS_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include <sf/sf_status.h>

#include "shm/observe/counters.h"

/* Packs the counters; lanes and ranks of other nodes that do not fit are left out, and sums of graphs are too low then.
 * Free *packed_p. Errors of sfshm_counters_copy; SF_ERR_LIMIT: the graphs do not fit. */
sf_status_t sfreport_counters_pack(int fd, size_t max_bytes, void **packed_p, size_t *length_p);

/* A copy of the counters; free with sfshm_counters_free. SF_ERR_PROTO: malformed; SF_ERR_VERSION: another layout;
 * SF_ERR_NOMEM. */
sf_status_t sfreport_counters_unpack(const void *packed, size_t length, sfshm_counters_t **copy_p);

#endif
