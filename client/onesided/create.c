/* Creation and destruction of arrays.
 *
 * All ranks create the array's graph, with the errors of their arguments: graph creation agrees on these. Then each
 * rank compares its arguments with those of rank 0, creates its part, and enters a barrier; maps the parts of the other
 * ranks of its node, and enters a second barrier. A rank that fails in one of these steps fails the graph for all
 * ranks, so that all ranks get the array or none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"
#include "client/onesided/array.h"
#include "client/onesided/window.h"
#include "client/setup.h"
#include "shm/base/error.h"

/* ---- Barrier and checks ------------------------------------------------------------------------------------------ */

/* Each function has its own unit: the graph compares units, so different functions give SF_ERR_MISMATCH. */
sf_status_t sfc_array_barrier(sf_array_t *array, sfc_array_collective_t collective)
{
  const sf_type_t *const units[SFC_ARRAY_COLLECTIVES] = {SF_INT32, SF_UINT32, SF_INT16,  SF_UINT16, SF_INT8,
                                                         SF_UINT8, SF_INT64,  SF_UINT64, SF_FLOAT};
  uint64_t own = 0, all = 0;
  sf_status_t status = sf_reduce(array->graph, units[collective], &own, &all, SF_SUM);
  return status == SF_OK ? sf_bcast(array->graph, units[collective], &all, &own, SF_REPLACE) : status;
}

sf_status_t sfc_array_refuse(const sf_array_t *array, const char *function)
{
  if (array == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: array is NULL", function);
  if (array->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "%s: in a child of the process that called sf_init", function);
  return sfc_graph_failure(array->graph);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Called at the end of the graph or the context. */
static void free_array(sfc_attachment_t *attachment)
{
  sf_array_t *array = (sf_array_t *)attachment;
  for (int32_t r = 0; array->parts != NULL && r < array->shape.nranks; r++)
    if (array->parts[r].pinned.mapped != NULL)
      sfc_peer_unpin(&array->context->peers, &array->parts[r].pinned);
  sfshm_region_destroy(&array->region);
  free(array->nodes);
  free(array->by_node);
  free(array->parts);
  free(array->bounds);
  free(array);
}

static const sfc_attachment_ops_t array_ops = {.free = free_array};

/* Other ranks unmap the own part when the daemon tells them of the removal. */
static void remove_segment(sf_array_t *array)
{
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(SEGMENT_REMOVE, segment_remove, .segment = sfshm_array_segment(array->graph->number));
  if (array->is_known)
    (void)sfc_daemon_tell(&array->context->control, &message, NULL, 0); /* a lost daemon has no segments */
}

static sf_status_t add_segment(sf_array_t *array)
{
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(SEGMENT_ADD, segment_add, .segment = sfshm_array_segment(array->graph->number),
                         .length = array->region.length_bytes, SFPROTO_HAS(array, true));
  sf_status_t status = sfc_daemon_tell(&array->context->control, &message, &array->region.fd, 1);
  array->is_known = status == SF_OK;
  close(array->region.fd);
  array->region.fd = -1;
  return status;
}

/* Sends shape and distribution to the daemon. */
static sf_status_t open_at_daemon(const sf_array_t *array)
{
  const sfshm_array_t *shape = &array->shape;
  int64_t extents[SFSHM_ARRAY_DIMS], blocks[SFSHM_ARRAY_DIMS];
  int32_t grid[SFSHM_ARRAY_DIMS];
  size_t ndims = (size_t)shape->ndims;
  Sfproto__ArrayOpen open = SFPROTO_BODY(array_open, .graph = array->graph->number, .unit = shape->base,
                                         .n_extents = ndims, .extents = extents, .n_grid = ndims, .grid = grid,
                                         .n_blocks = ndims, .blocks = blocks, .bounds = array->bounds);
  Sfproto__Message message = SFPROTO_MESSAGE(ARRAY_OPEN, array_open, &open);
  for (int32_t d = 0; d < shape->ndims; d++) {
    const sfshm_array_dim_t *dim = &shape->dims[d];
    extents[d] = dim->extent;
    grid[d] = dim->procs;
    blocks[d] = dim->bounds == NULL ? dim->block : 0;
    open.n_bounds += dim->bounds != NULL ? (size_t)dim->procs + 1 : 0;
  }
  return sfc_daemon_tell(&array->context->control, &message, NULL, 0);
}

static size_t part_bytes(const sf_array_t *array, int32_t rank)
{
  int64_t extents[SFSHM_ARRAY_DIMS];
  return SFSHM_ARRAY_DATA + (size_t)sfshm_array_part(&array->shape, rank, extents) * array->shape.unit_bytes;
}

static sf_status_t make_own_part(sf_array_t *array)
{
  sfc_array_part_t *part = &array->parts[array->rank];
  sf_status_t status = sfshm_region_create("sf-array", SFSHM_REGION_ARRAY, part_bytes(array, array->rank),
                                           SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL, &array->region);
  if (status != SF_OK)
    return status;
  part->data = (char *)array->region.base + SFSHM_ARRAY_DATA;
  array->counters = &((sfshm_array_head_t *)array->region.base)->counters;
  status = add_segment(array);
  return status == SF_OK ? open_at_daemon(array) : status;
}

static sf_status_t map_part(sf_array_t *array, int32_t rank)
{
  sfc_peers_t *peers = &array->context->peers;
  sfc_array_part_t *part = &array->parts[rank];
  sfc_peer_t *peer;
  sf_status_t status = sfc_peers_find(peers, sfc_group_job_rank(array->graph->group, rank), &peer);
  if (status == SF_OK)
    status = sfc_peer_pin(peers, peer, sfshm_array_segment(array->graph->number), &part->pinned);
  if (status != SF_OK)
    return status;
  if (part->pinned.length_bytes < part_bytes(array, rank))
    return sfshm_error(SF_ERR_PROTO, "part of rank %d: %zu bytes expected, %zu found", rank, part_bytes(array, rank),
                       part->pinned.length_bytes);
  part->data = (char *)part->pinned.base + SFSHM_ARRAY_DATA;
  part->way = SFSHM_ARRAY_NODE;
  return SF_OK;
}

static sf_status_t map_parts(sf_array_t *array)
{
  const sf_group_t *group = array->graph->group;
  sf_status_t status = SF_OK;
  for (int32_t r = 0; r < group->size && status == SF_OK; r++)
    if (r != array->rank && sfc_group_node_of(group, r) == array->context->node)
      status = map_part(array, r);
  return status;
}

/* Lists the other nodes, ascending, and the ranks of each. */
static sf_status_t find_nodes(sf_array_t *array)
{
  const sf_group_t *group = array->graph->group;
  int32_t n = 0, before = -1;
  if (sfc_group_is_local(group))
    return SF_OK;
  array->nodes = calloc((size_t)group->size, sizeof *array->nodes);
  array->by_node = malloc((size_t)group->size * sizeof *array->by_node);
  if (array->nodes == NULL || array->by_node == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d ranks", group->size);
  for (;;) {
    int32_t next = INT32_MAX;
    for (int32_t r = 0; r < group->size; r++) {
      int32_t node = sfc_group_node_of(group, r);
      if (node > before && node < next && node != array->context->node)
        next = node;
    }
    if (next == INT32_MAX)
      return SF_OK;
    sfc_array_node_t *node = &array->nodes[array->nnodes++];
    int64_t extents[SFSHM_ARRAY_DIMS], offset = 0;
    *node = (sfc_array_node_t){.node = before = next, .first = n};
    for (int32_t r = 0; r < group->size; r++) {
      if (sfc_group_node_of(group, r) != next)
        continue;
      array->by_node[n++] = r;
      node->nranks++;
      array->parts[r].node = node;
      array->parts[r].way = SFSHM_ARRAY_DAEMON;
      array->parts[r].node_offset = offset;
      offset += sfshm_array_part(&array->shape, r, extents);
    }
  }
}

static sf_status_t make_parts(sf_array_t *array)
{
  const sfshm_array_t *shape = &array->shape;
  array->parts = calloc((size_t)shape->nranks, sizeof *array->parts);
  if (array->parts == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d ranks", shape->nranks);
  for (int32_t r = 0; r < shape->nranks; r++) {
    int64_t extents[SFSHM_ARRAY_DIMS], step = 1;
    (void)sfshm_array_part(shape, r, extents);
    for (int32_t d = shape->ndims - 1; d >= 0; d--) {
      array->parts[r].step[d] = step;
      step *= extents[d];
    }
  }
  sf_status_t status = find_nodes(array);
  if (status == SF_OK && array->nodes != NULL)
    status = sfc_window_open(array->context);
  return status == SF_OK ? make_own_part(array) : status;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* Compares the arguments with those of rank 0. */
static sf_status_t compare_words(sf_array_t *array)
{
  uint64_t own[SFC_ARRAY_WORDS], first[SFC_ARRAY_WORDS];
  char own_text[160], first_text[160];
  const sf_type_t *unit;
  sfc_array_words(&array->shape, own);
  sf_status_t status = sf_type_create_block(SFC_ARRAY_WORDS, SF_UINT64, &unit);
  if (status != SF_OK)
    return status;
  status = sf_bcast(array->graph, unit, own, first, SF_REPLACE);
  (void)sf_type_destroy(unit);
  if (status != SF_OK || memcmp(own, first, sizeof own) == 0)
    return status;
  sfc_array_text(own, own_text, sizeof own_text);
  sfc_array_text(first, first_text, sizeof first_text);
  return sfshm_error(SF_ERR_MISMATCH, "%s; rank 0 gave %s", own_text, first_text);
}

/* Fails the graph for all ranks if status is an error. */
static sf_status_t fail_on_error(sf_array_t *array, sf_status_t status)
{
  char detail[SFSHM_DETAIL_BYTES];
  if (status == SF_OK || sfc_graph_is_failed(array->graph))
    return status;
  snprintf(detail, sizeof detail, "sf_array_create: rank %d: %.400s", array->rank, sfshm_error_detail());
  sfc_graph_fail_everywhere(array->graph, status, detail);
  return sfc_graph_failure(array->graph);
}

static sf_status_t set_up(sf_array_t *array)
{
  sf_status_t status = fail_on_error(array, compare_words(array));
  if (status == SF_OK)
    status = fail_on_error(array, make_parts(array));
  if (status == SF_OK)
    status = sfc_array_barrier(array, SFC_ARRAY_CREATE);
  if (status == SF_OK)
    status = fail_on_error(array, map_parts(array));
  return status == SF_OK ? sfc_array_barrier(array, SFC_ARRAY_CREATE) : status;
}

/* Frees the array and returns status with its detail, or, if status is SF_OK, the error of freeing. */
static sf_status_t end_array(sf_array_t *array, sf_status_t status)
{
  char detail[SFSHM_DETAIL_BYTES];
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  remove_segment(array);
  sf_status_t ended = sf_graph_destroy(array->graph); /* frees the array */
  return status == SF_OK ? ended : sfshm_error(status, "%s", detail);
}

sf_status_t(sf_array_create)(sf_group_t *group, const sf_type_t *unit, int32_t ndims, const int64_t extent[],
                             const sf_array_distribution_t *distribution, sf_array_t **array_p)
{
  static const int32_t root_rank;
  static const int64_t root_index;
  if (group == NULL) /* no ranks to agree with */
    return sfshm_error(SF_ERR_ARG, "sf_array_create: group is NULL");
  sf_status_t status = sfc_context_check(group->context, __func__);
  if (status != SF_OK)
    return status;
  sf_graph_t *graph;
  sf_array_t *array = calloc(1, sizeof *array);
  status = array != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "array");
  if (status == SF_OK)
    status = sfc_array_describe(unit, ndims, extent, distribution, group->size, &array->shape, &array->bounds);
  if (status == SF_OK && array_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "array_p is NULL");
  sfc_setup_caller_t caller = {.caller = "sf_array_create",
                               .status = status,
                               .leaf = -1,
                               .detail = sfshm_error_detail(),
                               .own_flags = SFSHM_GRAPH_ARRAY};
  sfc_edge_input_t input = {group->rank == 0, 1, NULL, &root_rank, &root_index, true};
  status = sfc_graph_create(group, &input, SFSHM_GRAPH_ARRAY, &caller, &graph);
  if (status != SF_OK) {
    if (array != NULL)
      free(array->bounds);
    free(array);
    return status;
  }
  array->region.fd = -1;
  array->graph = graph;
  array->context = group->context;
  array->generation = group->context->generation;
  array->unit = unit;
  array->rank = group->rank;
  sfc_graph_attach(graph, &array->attachment, &array_ops);
  status = set_up(array);
  if (status != SF_OK)
    return end_array(array, status);
  *array_p = array;
  return SF_OK;
}

sf_status_t sf_array_destroy(sf_array_t *array)
{
  if (array == NULL)
    return SF_OK;
  if (array->generation != sfc_process_generation)
    return sfc_array_refuse(array, __func__);
  if (sfc_graph_is_busy(array->graph))
    return sfshm_error(SF_ERR_STATE, "sf_array_destroy: requests of the array have not been ended");
  sf_status_t status = sfc_window_flush(array, -1);
  sf_status_t barrier_status = sfc_array_barrier(array, SFC_ARRAY_DESTROY);
  return end_array(array, barrier_status != SF_OK ? barrier_status : status);
}
