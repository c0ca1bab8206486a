/* Packed counters: see counters_pack.h. One thread. */
#include "proto/report/counters_pack.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/observe/counters_read.h"

#define HEAD_BYTES offsetof(sfshm_counters_t, graphs)

sf_status_t sfreport_counters_pack(int fd, size_t max_bytes, void **packed_p, size_t *length_p)
{
  sfshm_counters_t *copy;
  bool torn;
  sf_status_t status = sfshm_counters_copy(fd, &copy, &torn);
  if (status != SF_OK)
    return status;
  size_t fixed = HEAD_BYTES + copy->graphs_used * sizeof copy->graphs[0];
  size_t room = max_bytes > fixed ? (max_bytes - fixed) / sizeof copy->lanes[0] : 0;
  if (copy->lanes_used > room)
    copy->lanes_used = (uint32_t)room;
  size_t lanes = copy->lanes_used * sizeof copy->lanes[0], far = copy->far_used * sizeof copy->far[0];
  if (fixed + lanes + far > max_bytes)
    far = copy->far_used = 0;
  size_t length = fixed + lanes + far;
  char *packed = length <= max_bytes ? malloc(length) : NULL;
  if (packed == NULL) {
    status = sfshm_error(SF_ERR_LIMIT, "counters of %zu bytes, at most %zu", length, max_bytes);
  } else {
    memcpy(packed, copy, fixed);
    memcpy(packed + fixed, copy->lanes, lanes);
    memcpy(packed + fixed + lanes, copy->far, far);
    *packed_p = packed;
    *length_p = length;
  }
  sfshm_counters_free(copy);
  return status;
}

static uint32_t word_at(const char *packed, size_t offset)
{
  uint32_t word;
  memcpy(&word, packed + offset, sizeof word);
  return word;
}

static sf_status_t check(const char *packed, size_t length, uint32_t *graphs_p, uint32_t *lanes_p, uint32_t *far_p)
{
  if (length < HEAD_BYTES)
    return sfshm_error(SF_ERR_PROTO, "counters of %zu bytes, expected %zu at least", length, HEAD_BYTES);
  uint32_t version = word_at(packed, offsetof(sfshm_counters_t, header) + offsetof(sfshm_region_header_t, version));
  if (version != SFSHM_LAYOUT_VERSION)
    return sfshm_error(SF_ERR_VERSION, "counters of layout version %u, expected %u", version, SFSHM_LAYOUT_VERSION);
  *graphs_p = word_at(packed, offsetof(sfshm_counters_t, graphs_used));
  *lanes_p = word_at(packed, offsetof(sfshm_counters_t, lanes_used));
  *far_p = word_at(packed, offsetof(sfshm_counters_t, far_used));
  if (*graphs_p > SFSHM_COUNTED_GRAPHS || *lanes_p > SFSHM_COUNTED_LANES || *far_p > SFSHM_COUNTED_FAR ||
      length != HEAD_BYTES + *graphs_p * sizeof(sfshm_graph_counters_t) + *lanes_p * sizeof(sfshm_lane_counters_t) +
                    *far_p * sizeof(sfshm_far_counters_t))
    return sfshm_error(SF_ERR_PROTO, "counters of %zu bytes with %u graphs, %u lanes and %u far ranks", length,
                       *graphs_p, *lanes_p, *far_p);
  return SF_OK;
}

/* Graphs must not refer to lanes that were left out. */
static void bound_lanes(sfshm_counters_t *copy)
{
  for (uint32_t i = 0; i < copy->graphs_used; i++) {
    sfshm_graph_counters_t *graph = &copy->graphs[i];
    if (graph->first_lane > copy->lanes_used)
      graph->first_lane = graph->nlanes = 0;
    else if (graph->nlanes > copy->lanes_used - graph->first_lane)
      graph->nlanes = copy->lanes_used - graph->first_lane;
    if (graph->first_far > copy->far_used || graph->nfar > copy->far_used - graph->first_far)
      graph->first_far = graph->nfar = 0;
  }
}

sf_status_t sfreport_counters_unpack(const void *packed, size_t length, sfshm_counters_t **copy_p)
{
  uint32_t graphs = 0, lanes = 0, far = 0;
  const char *bytes = packed;
  sf_status_t status = check(packed, length, &graphs, &lanes, &far);
  if (status != SF_OK)
    return status;
  sfshm_counters_t *copy = aligned_alloc(_Alignof(sfshm_counters_t), sizeof *copy);
  if (copy == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the counters of a rank");
  size_t fixed = HEAD_BYTES + graphs * sizeof copy->graphs[0], far_bytes = far * sizeof copy->far[0];
  memcpy(copy, bytes, fixed);
  memcpy(copy->lanes, bytes + fixed, length - fixed - far_bytes);
  memcpy(copy->far, bytes + length - far_bytes, far_bytes);
  bound_lanes(copy);
  *copy_p = copy;
  return SF_OK;
}
