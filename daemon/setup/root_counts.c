/* Numbers of roots: see root_counts.h. The daemon's thread. */
#include "daemon/setup/root_counts.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/net.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

static sf_status_t alloc_counts(size_t n, sfd_root_counts_t *counts)
{
  sfd_root_counts_t made = {.owners = malloc((n + 1) * sizeof *made.owners),
                            .nroots = malloc((n + 1) * sizeof *made.nroots)};
  if (made.owners != NULL && made.nroots != NULL) {
    *counts = made;
    return SF_OK;
  }
  sfd_root_counts_free(&made);
  return sfshm_error(SF_ERR_NOMEM, "numbers of roots of %zu ranks", n);
}

void sfd_root_counts_collect(const sfd_graph_t *graph, const int32_t owners[], size_t n, sfd_root_counts_t *counts_p)
{
  if (alloc_counts(n, counts_p) != SF_OK)
    return;
  for (; counts_p->n < n; counts_p->n++) {
    const sfd_setup_member_t *member = sfd_setup_member(graph, owners[counts_p->n]);
    counts_p->owners[counts_p->n] = owners[counts_p->n];
    counts_p->nroots[counts_p->n] = member->wrong ? INT64_MAX : member->nroots;
  }
}

sf_status_t sfd_root_counts_copy(const sfd_root_counts_t *from, sfd_root_counts_t *counts_p)
{
  sf_status_t status = alloc_counts(from->n, counts_p);
  if (status != SF_OK || from->n == 0)
    return status;
  memcpy(counts_p->owners, from->owners, from->n * sizeof *from->owners);
  memcpy(counts_p->nroots, from->nroots, from->n * sizeof *from->nroots);
  counts_p->n = from->n;
  return SF_OK;
}

int64_t sfd_root_counts_of(const sfd_root_counts_t *counts, int32_t rank)
{
  const int32_t *owner =
      counts->n > 0 ? bsearch(&rank, counts->owners, counts->n, sizeof *owner, sfshm_compare_int32) : NULL;
  return owner != NULL ? counts->nroots[owner - counts->owners] : INT64_MAX;
}

void sfd_root_counts_send(const sfd_graph_t *graph, int32_t node, const sfd_root_counts_t *counts)
{
  Sfpeer__Message message = SFPEER_MESSAGE_OF(WANTED, wanted, .job = graph->group->job->id, .group = graph->group->id,
                                              .number = graph->number, .owners = counts->owners,
                                              .nroots = counts->nroots, .n_owners = counts->n, .n_nroots = counts->n);
  sfd_network_send(graph->group->job->server, node, &message);
}

void sfd_root_counts_free(const sfd_root_counts_t *counts)
{
  free(counts->owners);
  free(counts->nroots);
}
