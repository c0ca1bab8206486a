/* Copies by workers: see copy.h. Any worker at any time; only routes are written, under their locks. */
#include "daemon/data/copy.h"

#include <stdlib.h>

#include "shm/base/error.h"

/* ---- Routes ------------------------------------------------------------------------------------------------------ */

sfd_route_t *sfd_route_create(sfd_shared_mapping_t *list, uint64_t offset, int64_t nedges, int64_t nvalues,
                              sfshm_operation_t operation)
{
  sfd_route_t *route = calloc(1, sizeof *route);
  if (route == NULL)
    return NULL;
  *route = (sfd_route_t){
      .uses = 1, .list = list, .offset = offset, .nedges = nedges, .nvalues = nvalues, .operation = operation};
  pthread_mutex_init(&route->lock, NULL);
  return route;
}

void sfd_route_release(sfd_route_t *route)
{
  if (route == NULL || --route->uses > 0)
    return;
  if (route->tried && route->status == SF_OK)
    sfshm_edges_close(&route->edges);
  sfd_shared_mapping_release(route->list);
  pthread_mutex_destroy(&route->lock);
  free(route);
}

static void set_paths(sfd_route_t *route)
{
  const sfshm_edges_t *edges = &route->edges;
  int64_t nvalues = edges->value_root.n;
  sfshm_pattern_t extra_leaf = sfshm_pattern_slice(&edges->leaf, nvalues, edges->extra_value.n);
  bool bcast = route->operation == SFSHM_BCAST;
  route->paths = (sfshm_paths_t){
      .nvalues = nvalues,
      .from = bcast ? edges->value_root : edges->leaf,
      .to = bcast ? edges->leaf : edges->value_root,
      .extra_value = edges->extra_value,
      .extra_from = bcast ? edges->extra_root : extra_leaf,
      .extra_to = bcast ? extra_leaf : edges->extra_root,
  };
  route->from_max = bcast ? edges->roots.max : edges->leaves.max;
  route->to_max = bcast ? edges->leaves.max : edges->roots.max;
}

/* Checks the whole list, including the leaves. Roots are checked against the buffer later. */
static sf_status_t open_edges(sfd_route_t *route)
{
  int64_t bad_leaf, bad_root;
  sf_status_t status = sfshm_edges_open(&route->list->region, route->offset, route->nedges, route->nvalues, INT64_MAX,
                                        &route->edges, &bad_leaf, &bad_root);
  if (status != SF_OK)
    return status;
  if (route->edges.leaves.max == SFSHM_EDGES_UNKNOWN)
    route->edges.leaves = sfshm_pattern_survey(&route->edges.leaf);
  set_paths(route);
  return SF_OK;
}

static sf_status_t open_route(sfd_route_t *route)
{
  pthread_mutex_lock(&route->lock);
  if (!route->tried)
    route->status = open_edges(route);
  route->tried = true;
  sf_status_t status = route->status;
  pthread_mutex_unlock(&route->lock);
  return status;
}

/* ---- Copying ----------------------------------------------------------------------------------------------------- */

static bool holds(const sfd_extent_t *extent, int64_t last, size_t unit_bytes)
{
  uint64_t need;
  return !__builtin_mul_overflow((uint64_t)last + 1, (uint64_t)unit_bytes, &need) && need <= extent->bytes;
}

/* Whether all vertices of the route lie within both buffers. */
static bool is_within(const sfd_copy_t *copy, size_t unit_bytes)
{
  return holds(&copy->source, copy->route->from_max, unit_bytes) &&
         holds(&copy->target, copy->route->to_max, unit_bytes);
}

/* The last piece is done: tells writer and reader. */
static void wake_writer(const sfd_copy_t *copy)
{
  uint32_t piece;
  if (sfshm_claim_take(copy->writer.claim, copy->writer.ticket, 1, &piece))
    (void)sfshm_claim_finish(copy->writer.claim, 1);
  sfshm_publish_barrier();
  sfshm_wake(copy->writer.wake);
  sfshm_wake(copy->reader.wake);
}

uint64_t sfd_copy_run(const sfd_copy_t *copy)
{
  const sfshm_kernels_t *kernels = sfshm_kernels_find(copy->unit, copy->op);
  size_t unit_bytes = sfshm_unit_size(copy->unit);
  uint64_t bytes = 0;
  uint32_t piece;
  if (kernels == NULL || open_route(copy->route) != SF_OK || !is_within(copy, unit_bytes))
    return 0;
  const sfshm_paths_t *paths = &copy->route->paths;
  sfshm_pieces_t pieces = sfshm_pieces(paths->nvalues, unit_bytes);
  /* counted here as well, as the reader can write the word */
  for (uint32_t left = pieces.npieces; left > 0; left--) {
    if (!sfshm_claim_take(copy->reader.claim, copy->reader.ticket, pieces.npieces, &piece))
      break;
    int64_t n = sfshm_piece_count(&pieces, piece);
    sfshm_paths_apply(paths, copy->unit, kernels, copy->source.base, copy->target.base,
                      sfshm_piece_first(&pieces, piece), n);
    bytes += (uint64_t)n * unit_bytes;
    if (sfshm_claim_finish(copy->reader.claim, pieces.npieces))
      wake_writer(copy);
  }
  return bytes;
}
