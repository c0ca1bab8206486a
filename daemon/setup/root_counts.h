/* Numbers of roots of a node's ranks, as sent to another node (message Wanted). */
#ifndef SFD_SETUP_ROOT_COUNTS_H
#define SFD_SETUP_ROOT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/setup/setup.h"

typedef struct sfd_root_counts {
  size_t n;
  int32_t *owners; /* ascending; NULL: not known */
  int64_t *nroots;
} sfd_root_counts_t;

/* Numbers of roots of these local members; INT64_MAX for a member with wrong input, which fails the set-up anyway.
 * Without memory *counts_p is unchanged. */
void sfd_root_counts_collect(const sfd_graph_t *graph, const int32_t owners[], size_t n, sfd_root_counts_t *counts_p);

/* SF_ERR_NOMEM. */
sf_status_t sfd_root_counts_copy(const sfd_root_counts_t *from, sfd_root_counts_t *counts_p);

/* Number of roots of the rank; INT64_MAX if not known: then the owner checks. */
int64_t sfd_root_counts_of(const sfd_root_counts_t *counts, int32_t rank);

void sfd_root_counts_send(const sfd_graph_t *graph, int32_t node, const sfd_root_counts_t *counts);

void sfd_root_counts_free(const sfd_root_counts_t *counts);

#endif
