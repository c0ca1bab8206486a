/* One-sided arrays: see array.h. */
#include "daemon/onesided/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/memory.h"
#include "daemon/onesided/target.h"
#include "shm/array/layout.h"
#include "shm/base/error.h"

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

static sf_status_t check_counts(const Sfproto__ArrayOpen *open, const sfd_group_t *group)
{
  size_t n = open->n_extents;
  if (n < 1 || n > SFSHM_ARRAY_DIMS || open->n_grid != n || open->n_blocks != n)
    return sfshm_error(SF_ERR_PROTO, "ArrayOpen with %zu extents, %zu grid and %zu blocks", n, open->n_grid,
                       open->n_blocks);
  size_t nbounds = 0;
  for (size_t d = 0; d < n; d++) {
    if (open->grid[d] < 1 || open->grid[d] > group->size)
      return sfshm_error(SF_ERR_PROTO, "ArrayOpen with %d ranks along dimension %zu", open->grid[d], d);
    nbounds += open->blocks[d] == 0 ? (size_t)open->grid[d] + 1 : 0;
  }
  if (open->n_bounds != nbounds)
    return sfshm_error(SF_ERR_PROTO, "ArrayOpen with %zu bounds, %zu expected", open->n_bounds, nbounds);
  return SF_OK;
}

/* The bounds of *shape_p point into the message. */
static sf_status_t read_shape(const Sfproto__ArrayOpen *open, const sfd_group_t *group, sfshm_array_t *shape_p)
{
  sfshm_array_t shape = {.ndims = (int32_t)open->n_extents, .base = (sfshm_base_t)open->unit};
  const int64_t *bounds = open->bounds;
  sf_status_t status = check_counts(open, group);
  for (int32_t d = 0; status == SF_OK && d < shape.ndims; d++) {
    shape.dims[d] = (sfshm_array_dim_t){.extent = open->extents[d], .block = open->blocks[d], .procs = open->grid[d]};
    if (open->blocks[d] == 0) {
      shape.dims[d].bounds = bounds;
      bounds += open->grid[d] + 1;
    }
  }
  if (status == SF_OK)
    status = sfshm_array_check(&shape);
  if (status == SF_OK && shape.nranks != group->size)
    status = sfshm_error(SF_ERR_PROTO, "ArrayOpen for %d ranks, the group has %d", shape.nranks, group->size);
  if (status == SF_OK)
    *shape_p = shape;
  return status;
}

static bool is_same_dim(const sfshm_array_dim_t *a, const sfshm_array_dim_t *b)
{
  if (a->extent != b->extent || a->procs != b->procs || (a->bounds == NULL) != (b->bounds == NULL))
    return false;
  return a->bounds == NULL ? a->block == b->block
                           : memcmp(a->bounds, b->bounds, ((size_t)a->procs + 1) * sizeof a->bounds[0]) == 0;
}

static bool is_same(const sfshm_array_t *a, const sfshm_array_t *b)
{
  bool same = a->ndims == b->ndims && a->base == b->base;
  for (int32_t d = 0; same && d < a->ndims; d++)
    same = is_same_dim(&a->dims[d], &b->dims[d]);
  return same;
}

static sf_status_t copy_shape(sfd_array_t *array, const sfshm_array_t *shape, const Sfproto__ArrayOpen *open)
{
  array->shape = *shape;
  if (open->n_bounds == 0)
    return SF_OK;
  array->bounds = malloc(open->n_bounds * sizeof array->bounds[0]);
  if (array->bounds == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu bounds of an array", open->n_bounds);
  memcpy(array->bounds, open->bounds, open->n_bounds * sizeof array->bounds[0]);
  for (int32_t d = 0; d < shape->ndims; d++)
    if (shape->dims[d].bounds != NULL)
      array->shape.dims[d].bounds = array->bounds + (shape->dims[d].bounds - open->bounds);
  return SF_OK;
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

void sfd_array_hold(sfd_array_t *array)
{
  array->uses++;
}

void sfd_array_release(sfd_array_t *array)
{
  if (array == NULL || --array->uses > 0)
    return;
  for (int32_t i = 0; i < array->nparts; i++)
    sfd_shared_mapping_release(array->parts[i].mapping);
  free(array->queues);
  free(array->bounds);
  free(array);
}

void sfd_array_graph_freed(sfd_graph_t *graph)
{
  sfd_array_t *array = graph->array;
  graph->array = NULL;
  if (array == NULL)
    return;
  array->graph = NULL;
  sfd_array_drop_queues(array);
  sfd_array_release(array);
}

/* ---- ArrayOpen --------------------------------------------------------------------------------------------------- */

/* The first rank of the node creates the array; the other ranks must send the same shape. */
static sf_status_t find_array(sfd_graph_t *graph, const sfshm_array_t *shape, const Sfproto__ArrayOpen *open)
{
  const sfd_group_t *group = graph->group;
  if (graph->array != NULL)
    return is_same(&graph->array->shape, shape)
               ? SF_OK
               : sfshm_error(SF_ERR_MISMATCH, "ranks sent different shapes of the array of graph %" PRIu64, graph->id);
  sfd_array_t *array = calloc(1, sizeof *array + (size_t)group->nlocals * sizeof array->parts[0]);
  if (array == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an array of %d ranks", group->nlocals);
  array->uses = 1;
  array->graph = graph;
  array->nparts = group->nlocals;
  sf_status_t status = copy_shape(array, shape, open);
  if (status != SF_OK) {
    sfd_array_release(array);
    return status;
  }
  for (int32_t i = 0; i < array->nparts; i++) {
    int64_t extents[SFSHM_ARRAY_DIMS];
    array->parts[i].rank = group->locals[i];
    array->parts[i].count = sfshm_array_part(&array->shape, group->locals[i], extents);
  }
  graph->array = array;
  return SF_OK;
}

static sf_status_t map_part(sfd_array_t *array, sfd_array_part_t *part, const sfd_segment_t *segment)
{
  sfshm_region_t region;
  uint64_t bytes = SFSHM_ARRAY_DATA + (uint64_t)part->count * array->shape.unit_bytes;
  sf_status_t status =
      sfshm_region_map(segment->fd, SFSHM_REGION_ARRAY, SFD_MAX_REGION_BYTES, SFSHM_READ_WRITE, &region);
  if (status != SF_OK)
    return status;
  part->mapping = region.length_bytes >= bytes ? sfd_shared_mapping_create(&region) : NULL;
  if (part->mapping != NULL) {
    part->data = (char *)region.base + SFSHM_ARRAY_DATA;
    array->nmapped++;
    return SF_OK;
  }
  status = region.length_bytes < bytes
               ? sfshm_error(SF_ERR_PROTO, "part of an array: %" PRIu64 " bytes expected, %zu found", bytes,
                             region.length_bytes)
               : sfshm_error(SF_ERR_NOMEM, "no memory for a part of an array");
  sfshm_region_destroy(&region);
  return status;
}

static sf_status_t open_array(sfd_graph_t *graph, int32_t local, const sfd_rank_t *rank, const Sfproto__ArrayOpen *open)
{
  sfshm_array_t shape;
  const sfd_segment_t *segment = sfd_segment_find(rank, sfshm_array_segment(graph->id));
  if (segment == NULL || segment->kind != SFSHM_REGION_ARRAY)
    return sfshm_error(SF_ERR_PROTO, "ArrayOpen without a segment for the part of rank %d", rank->number);
  sf_status_t status = read_shape(open, graph->group, &shape);
  if (status == SF_OK)
    status = find_array(graph, &shape, open);
  if (status != SF_OK || graph->group->nnodes == 1)
    return status;
  sfd_array_part_t *part = &graph->array->parts[local];
  if (part->mapping != NULL)
    return sfshm_error(SF_ERR_PROTO, "second ArrayOpen of rank %d for graph %" PRIu64, rank->number, graph->id);
  return map_part(graph->array, part, segment);
}

void sfd_array_handle_open(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__ArrayOpen *open = message->array_open;
  int32_t local;
  sfd_graph_t *graph = sfd_graph_find_ready(session, message->request, open->graph, &local);
  if (graph == NULL)
    return;
  sf_status_t status = open_array(graph, local, session->rank, open);
  if (status == SF_OK)
    sfd_session_send_done(session, message->request);
  else
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
}
