/* Trunks of graphs: creation, members, end. The daemon's thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base.h"
#include "daemon/data/slots.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/jobs.h"
#include "daemon/memory.h"
#include "daemon/net.h"
#include "shm/base/error.h"

/* ---- Map --------------------------------------------------------------------------------------------------------- */

static uint64_t align(uint64_t bytes)
{
  return (bytes + 127) & ~UINT64_C(127);
}

static sf_status_t describe_side(const sfd_trunk_source_t *source, sfshm_trunk_side_t *told)
{
  bool as_root = source->role == SFSHM_AS_ROOT;
  sfshm_image_t image;
  sf_status_t status = sfshm_image_open(source->image, source->image_bytes,
                                        as_root ? SFSHM_ROOT_IMAGE_MAGIC : SFSHM_LEAF_IMAGE_MAGIC, &image);
  if (status != SF_OK)
    return status;
  const sfshm_image_header_t *header = &image.header;
  *told = (sfshm_trunk_side_t){
      .node = source->node,
      .role = source->role,
      .nmembers = (int32_t)header->nparts,
      .send_values = as_root ? header->bcast_values : header->reduce_values,
      .send_units = as_root ? header->bcast_values : header->reduce_values + header->staged,
      .receive_values = as_root ? header->reduce_values : header->bcast_values,
      .image_bytes = source->image_bytes,
  };
  return SF_OK;
}

static void copy_piece(const sfshm_region_piece_t *piece, void *to)
{
  memcpy((char *)to + piece->offset, piece->bytes, piece->length_bytes);
}

/* Short maps stay in private memory: copying one takes less time than mapping. */
static sf_status_t compose_map(sfd_trunks_t *trunks, const sfshm_region_piece_t pieces[], size_t npieces,
                               uint64_t bytes)
{
  sfd_trunk_plan_t *plan = trunks->plan;
  if (bytes > SFSHM_TRUNK_MAP_MAX_TOLD)
    return sfd_trunk_regions_take_map(trunks->graph->group->job, pieces, npieces, bytes, &plan->map);
  void *memory = calloc(1, bytes);
  if (memory == NULL)
    return sfshm_error(SF_ERR_NOMEM, "trunk map of %" PRIu64 " bytes", bytes);
  for (size_t i = 0; i < npieces; i++)
    copy_piece(&pieces[i], memory);
  plan->map = (sfd_trunk_memory_t){.base = memory, .length_bytes = bytes};
  return SF_OK;
}

static sf_status_t make_map(sfd_trunks_t *trunks, const sfd_trunk_source_t sources[])
{
  uint32_t n = trunks->nsides;
  size_t head_bytes = sizeof(sfshm_trunk_map_t) + n * sizeof(sfshm_trunk_side_t);
  uint64_t bytes = align(head_bytes);
  sfshm_trunk_map_t *head = aligned_alloc(_Alignof(sfshm_trunk_map_t), bytes);
  sfshm_region_piece_t *pieces = calloc((size_t)n + 1, sizeof *pieces);
  sf_status_t status =
      head != NULL && pieces != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "no memory for %u sides of trunks", n);
  if (status == SF_OK) {
    memset(head, 0, head_bytes);
    head->nsides = n;
    pieces[0] = (sfshm_region_piece_t){0, head, head_bytes};
  }
  for (uint32_t i = 0; i < n && status == SF_OK; i++) {
    status = describe_side(&sources[i], &head->sides[i]);
    head->sides[i].image = bytes;
    pieces[i + 1] = (sfshm_region_piece_t){bytes, sources[i].image, sources[i].image_bytes};
    bytes += align(sources[i].image_bytes);
  }
  if (status == SF_OK)
    status = compose_map(trunks, pieces, (size_t)n + 1, bytes);
  free(pieces);
  free(head);
  return status;
}

/* ---- Members ----------------------------------------------------------------------------------------------------- */

/* Group ranks here that take part in a side. */
static sf_status_t find_members(const sfd_group_t *group, const sfd_trunk_source_t *source, int32_t **members_p)
{
  sfshm_image_t image;
  sf_status_t status =
      sfshm_image_open(source->image, source->image_bytes,
                       source->role == SFSHM_AS_ROOT ? SFSHM_ROOT_IMAGE_MAGIC : SFSHM_LEAF_IMAGE_MAGIC, &image);
  if (status != SF_OK)
    return status;
  *members_p = calloc(image.header.nparts, sizeof **members_p);
  if (*members_p == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %u members of a trunk", image.header.nparts);
  for (uint32_t i = 0; i < image.header.nparts; i++) {
    int32_t member = sfshm_image_rank(&image, i);
    if (member < 0 || member >= group->size || sfd_group_member(group, member) == NULL)
      return sfshm_error(SF_ERR_PROTO, "trunk to node %d names group rank %d, which is not here", source->node, member);
    (*members_p)[i] = member;
  }
  return SF_OK;
}

static sf_status_t find_wakes(const sfd_trunks_t *trunks)
{
  sf_status_t status = SF_OK;
  for (uint32_t i = 0; i < trunks->nsides; i++)
    for (int32_t k = 0; k < trunks->sides[i].told.nmembers && status == SF_OK; k++)
      status = sfd_segment_find_wake(sfd_group_member(trunks->graph->group, trunks->sides[i].members[k]));
  return status;
}

void sfd_trunk_side_wake(const sfd_trunks_t *trunks, const sfd_trunk_side_t *side)
{
  sfshm_publish_barrier();
  for (int32_t i = 0; i < side->told.nmembers; i++) {
    const sfd_rank_t *rank = sfd_group_member(trunks->graph->group, side->members[i]);
    if (rank != NULL && rank->wake != NULL)
      sfshm_wake(rank->wake);
  }
}

uint32_t sfd_trunks_nsides(const sfd_trunks_t *trunks)
{
  return trunks->nsides;
}

uint32_t sfd_trunks_sides_of(const sfd_trunks_t *trunks, int32_t member, uint32_t sides[])
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < trunks->nsides; i++)
    for (int32_t k = 0; k < trunks->sides[i].told.nmembers; k++)
      if (trunks->sides[i].members[k] == member)
        sides[n++] = i;
  return n;
}

/* ---- Board ------------------------------------------------------------------------------------------------------- */

static sf_status_t make_board(sfd_trunks_t *trunks)
{
  sf_status_t status =
      sfd_trunk_regions_take_board(trunks->graph->group->job, sfshm_trunk_board_bytes(trunks->nsides), &trunks->board);
  if (status != SF_OK)
    return status;
  sfshm_trunk_board_t *board = trunks->board.base;
  for (uint32_t i = 0; i < trunks->nsides; i++) {
    trunks->sides[i].flow = &board->flows[i];
    atomic_store_explicit(&trunks->sides[i].flow->granted, SFSHM_TRUNK_SLOTS, memory_order_relaxed);
  }
  return SF_OK;
}

int sfd_trunks_describe_map(const sfd_trunks_t *trunks, protobuf_c_boolean *has_map_p, ProtobufCBinaryData *map_p)
{
  const sfd_trunk_memory_t *map = &trunks->plan->map;
  int fd = sfd_trunk_memory_fd(map);
  *has_map_p = fd < 0;
  if (*has_map_p)
    *map_p = (ProtobufCBinaryData){.len = map->length_bytes, .data = map->base};
  return fd;
}

void sfd_trunks_describe_board(const sfd_trunks_t *trunks, uint64_t *region_p, uint64_t *offset_p)
{
  *region_p = sfd_trunk_memory_number(&trunks->board);
  *offset_p = sfd_trunk_memory_offset(&trunks->board);
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

static void free_trunks(sfd_trunks_t *trunks)
{
  sfd_trunk_exchanges_free(trunks);
  sfd_trunk_plan_release(trunks->plan);
  sfd_trunk_regions_give(&trunks->board);
  free(trunks->departures);
  free(trunks);
}

/* All but the plan. */
static sfd_trunks_t *alloc_trunks(sfd_graph_t *graph, uint32_t nsides)
{
  sfd_trunks_t *trunks = calloc(1, sizeof *trunks + nsides * sizeof trunks->sides[0]);
  if (trunks == NULL)
    return NULL;
  trunks->departures = calloc(nsides, sizeof trunks->departures[0]);
  if (trunks->departures == NULL) {
    free(trunks);
    return NULL;
  }
  trunks->graph = graph;
  trunks->server = graph->group->job->server;
  trunks->nsides = nsides;
  for (uint32_t i = 0; i < nsides; i++)
    trunks->departures[i] = (sfd_departure_t){trunks, i};
  return trunks;
}

static sf_status_t make_plan(sfd_trunks_t *trunks, const sfd_trunk_source_t sources[])
{
  sfd_trunk_plan_t *plan = calloc(1, sizeof *plan + trunks->nsides * sizeof plan->members[0]);
  if (plan == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %u sides of trunks", trunks->nsides);
  plan->nholders = 1;
  plan->nsides = trunks->nsides;
  trunks->plan = plan;
  sf_status_t status = make_map(trunks, sources);
  for (uint32_t i = 0; i < plan->nsides && status == SF_OK; i++)
    status = find_members(trunks->graph->group, &sources[i], &plan->members[i]);
  return status;
}

static void take_plan(sfd_trunks_t *trunks)
{
  const sfshm_trunk_map_t *map = trunks->plan->map.base;
  for (uint32_t i = 0; i < trunks->nsides; i++) {
    trunks->sides[i].told = map->sides[i];
    trunks->sides[i].members = trunks->plan->members[i];
  }
}

static sf_status_t finish(sfd_trunks_t *trunks, sf_status_t status)
{
  if (status == SF_OK) {
    take_plan(trunks);
    status = find_wakes(trunks);
  }
  if (status == SF_OK)
    status = make_board(trunks);
  if (status != SF_OK)
    free_trunks(trunks);
  else
    trunks->graph->trunks = trunks;
  return status;
}

sf_status_t sfd_trunks_create(sfd_graph_t *graph, const sfd_trunk_source_t sources[], uint32_t nsources)
{
  if (nsources == 0)
    return SF_OK;
  sfd_trunks_t *trunks = alloc_trunks(graph, nsources);
  if (trunks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %u sides of trunks", nsources);
  return finish(trunks, make_plan(trunks, sources));
}

sf_status_t sfd_trunks_create_again(sfd_graph_t *graph, sfd_trunk_plan_t *plan)
{
  if (plan == NULL)
    return SF_OK;
  sfd_trunks_t *trunks = alloc_trunks(graph, plan->nsides);
  if (trunks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %u sides of trunks", plan->nsides);
  trunks->plan = plan;
  plan->nholders++;
  return finish(trunks, SF_OK);
}

sfd_trunk_plan_t *sfd_trunks_hold_plan(const sfd_trunks_t *trunks)
{
  if (trunks == NULL)
    return NULL;
  trunks->plan->nholders++;
  return trunks->plan;
}

void sfd_trunk_plan_release(sfd_trunk_plan_t *plan)
{
  if (plan == NULL || --plan->nholders > 0)
    return;
  for (uint32_t i = 0; i < plan->nsides; i++)
    free(plan->members[i]);
  sfd_trunk_regions_give(&plan->map);
  free(plan);
}

void sfd_trunks_free(sfd_trunks_t *trunks)
{
  if (trunks == NULL)
    return;
  sfd_trunk_exchanges_retire(trunks);
  trunks->graph = NULL;
  if (trunks->nunder_way == 0)
    free_trunks(trunks);
}

void sfd_trunks_hold(sfd_trunks_t *trunks)
{
  trunks->nunder_way++;
}

void sfd_trunks_release(sfd_trunks_t *trunks)
{
  if (--trunks->nunder_way == 0 && trunks->graph == NULL)
    free_trunks(trunks);
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

static void release_streams(const sfd_trunks_t *trunks)
{
  sfshm_trunk_board_t *board = trunks->board.base;
  for (uint32_t i = 0; i < trunks->nsides; i++)
    if (trunks->sides[i].done < trunks->sides[i].sent || trunks->sides[i].parts_done < trunks->sides[i].parts_sent)
      return;
  atomic_store(&board->released, 1); /* first: see shm/trunk/trunk.h */
  for (uint32_t i = 0; i < trunks->nsides; i++)
    sfshm_flow_release(trunks->sides[i].flow, trunks->sides[i].sent, trunks->sides[i].arrived);
}

/* Only after a failure: other boards must not look released. */
void sfd_trunks_departed(sfd_trunks_t *trunks)
{
  const sfshm_trunk_board_t *board = trunks->board.base;
  if (trunks->letting_go && atomic_load(&board->on_streams) != 0)
    release_streams(trunks);
}

void sfd_trunks_let_go(sfd_trunks_t *trunks)
{
  if (trunks == NULL)
    return;
  trunks->letting_go = true;
  sfd_trunks_departed(trunks);
}

void sfd_trunks_fail_job(sfd_job_t *job)
{
  const sfd_graph_t *graph;
  TAILQ_FOREACH (graph, &job->graphs, entry)
    sfd_trunks_let_go(graph->trunks);
}

void sfd_trunks_fail(sfd_trunks_t *trunks, sf_status_t status, const char *detail)
{
  if (trunks->graph != NULL)
    sfd_graph_fail(trunks->graph, status, detail);
}
