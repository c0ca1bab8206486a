/* Arrays: see query_arrays.h. The daemon's thread. */
#include "daemon/admin/query_arrays.h"

#include <stdlib.h>

#include "daemon/memory.h"
#include "daemon/onesided.h"
#include "shm/array/layout.h"
#include "shm/base/error.h"

#define NCOUNTS (SFSHM_ARRAY_WAYS * SFSHM_ARRAY_ACCESSES)

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* A rank that has left, or whose memory cannot be read, is not counted. */
static void count_rank(const sfd_rank_t *rank, uint64_t graph, uint64_t operations[NCOUNTS], uint64_t bytes[NCOUNTS])
{
  const sfd_segment_t *segment = rank != NULL ? sfd_segment_find(rank, sfshm_array_segment(graph)) : NULL;
  uint64_t counts[2][NCOUNTS];
  _Static_assert(sizeof counts == sizeof(sfshm_array_counters_t), "numbers, then bytes");
  if (segment == NULL ||
      sfshm_read(segment->fd, offsetof(sfshm_array_head_t, counters), sizeof counts, counts) != SF_OK)
    return;
  for (int i = 0; i < NCOUNTS; i++) {
    operations[i] += counts[0][i];
    bytes[i] += counts[1][i];
  }
}

static uint32_t count_in_flight(const sfd_rank_t *rank, uint64_t graph)
{
  sfd_window_wait_t waits[SFSHM_WINDOW_SLOTS];
  int32_t n = rank != NULL ? sfd_window_waits(rank->window, waits) : 0;
  uint32_t requests = 0;
  for (int32_t i = 0; i < n; i++)
    requests += waits[i].graph == graph ? waits[i].requests : 0;
  return requests;
}

static void describe_shape(const sfshm_array_t *shape, Sfproto__ArrayInfo *info)
{
  info->n_extents = info->n_grid = info->n_blocks = (size_t)shape->ndims;
  for (int32_t d = 0; d < shape->ndims; d++) {
    info->extents[d] = shape->dims[d].extent;
    info->grid[d] = shape->dims[d].procs;
    info->blocks[d] = shape->dims[d].bounds == NULL ? shape->dims[d].block : 0;
  }
}

bool sfd_query_send_array(sfd_query_t *query, const sfd_graph_t *graph)
{
  const sfd_array_t *array = graph->array;
  uint64_t operations[NCOUNTS] = {0}, bytes[NCOUNTS] = {0};
  int64_t extents[SFSHM_ARRAY_DIMS], blocks[SFSHM_ARRAY_DIMS];
  int32_t grid[SFSHM_ARRAY_DIMS];
  if (array == NULL)
    return false;
  Sfproto__ArrayInfo info = SFPROTO_BODY(array_info, .graph = graph->id, .job_id = graph->group->job->id,
                                         .job = graph->group->job->name, .state = sfd_query_graph_state_name(graph),
                                         .unit = (char *)(uintptr_t)sfshm_base_name(array->shape.base) /* only read */,
                                         .extents = extents, .grid = grid, .blocks = blocks);
  Sfproto__Message message = SFPROTO_MESSAGE(ARRAY_INFO, array_info, &info);
  describe_shape(&array->shape, &info);
  info.here = array->nparts;
  for (int32_t i = 0; i < array->nparts; i++) {
    const sfd_rank_t *rank = sfd_group_member(graph->group, array->parts[i].rank);
    info.length += (uint64_t)array->parts[i].count * array->shape.unit_bytes;
    info.in_flight += count_in_flight(rank, graph->id);
    count_rank(rank, graph->id, operations, bytes);
  }
  info.operations = operations;
  info.bytes = bytes;
  info.n_operations = info.n_bytes = NCOUNTS;
  sfd_query_send(query, &message, NULL, 0);
  return true;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static Sfproto__ArrayWait *make_wait(const sfd_window_wait_t *wait, uint64_t now_ms)
{
  Sfproto__ArrayWait *made = malloc(sizeof *made);
  if (made == NULL)
    return NULL;
  *made =
      (Sfproto__ArrayWait)SFPROTO_BODY(array_wait, .graph = wait->graph, .node = wait->node, .requests = wait->requests,
                                       .waiting_ns = (now_ms - wait->since_ms) * 1000000);
  return made;
}

sf_status_t sfd_query_add_array_waits(const sfd_rank_t *rank, Sfproto__RankState *state)
{
  sfd_window_wait_t waits[SFSHM_WINDOW_SLOTS];
  int32_t n = sfd_window_waits(rank->window, waits);
  if (n == 0)
    return SF_OK;
  state->array_waits = calloc((size_t)n, sizeof state->array_waits[0]);
  for (int32_t i = 0; state->array_waits != NULL && i < n; i++) {
    state->array_waits[i] = make_wait(&waits[i], uv_now(rank->job->server->loop));
    if (state->array_waits[i] == NULL)
      break;
    state->n_array_waits++;
  }
  return state->n_array_waits == (size_t)n ? SF_OK : sfshm_error(SF_ERR_NOMEM, "no memory for requests on arrays");
}
