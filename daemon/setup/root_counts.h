/* How many roots ranks of a node have, as nodes tell each other (message Wanted). */
#ifndef SFD_SETUP_ROOT_COUNTS_H
#define SFD_SETUP_ROOT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/setup/setup.h"

typedef struct sfd_root_counts {
  size_t n;
  int32_t *owners; /* ascending; NULL: nothing is known */
  int64_t *nroots;
} sfd_root_counts_t;

/* Those of these members of this node; INT64_MAX for one whose input is wrong, as its roots do not matter any more.
 * Without memory counts_p stays as it is. */
void sfd_root_counts_collect(const sfd_graph_t *graph, const int32_t owners[], size_t n, sfd_root_counts_t *counts_p);

/* SF_ERR_NOMEM. */
sf_status_t sfd_root_counts_copy(const sfd_root_counts_t *from, sfd_root_counts_t *counts_p);

/* The rank's; INT64_MAX if nothing is known of it: then the rank checks itself what is wanted of it. */
int64_t sfd_root_counts_of(const sfd_root_counts_t *counts, int32_t rank);

/* Tells another node. */
void sfd_root_counts_send(const sfd_graph_t *graph, int32_t node, const sfd_root_counts_t *counts);

void sfd_root_counts_free(const sfd_root_counts_t *counts);

#endif
