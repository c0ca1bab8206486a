/* Unpacking by workers: see offload_unpack.h. */
#include "daemon/offload_unpack.h"

#include <stdlib.h>

#include "daemon/graph.h"
#include "daemon/group.h"
#include "daemon/job.h"
#include "daemon/offload.h"
#include "daemon/setup.h"
#include "daemon/trunk_devices.h"
#include "shm/error.h"

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

/* What the route is made of: a member's blocks that lead to the node, and its part of the leaf image. */
struct sfd_unpack_plan {
  const void *image;
  size_t image_bytes;
  int32_t place;
  int64_t nvalues;
  int64_t nedges;
  int32_t nblocks;
  sfd_block_t blocks[]; /* by root rank */
};

/* Arrays of values and extra edges over all blocks. */
typedef struct joined {
  int64_t *leaf;
  int64_t *extra_value;
  int64_t *extra_leaf;
  int64_t *extra_from;
  int64_t nvalues;
  int64_t nextras;
} joined_t;

static sf_status_t join_block(const sfd_route_t *route, const sfd_block_t *block, joined_t *joined)
{
  sfshm_edges_t edges;
  int64_t bad_leaf, bad_root;
  sf_status_t status = sfshm_edges_open(&route->list->region, block->offset, block->nedges, block->nvalues, INT64_MAX,
                                        &edges, &bad_leaf, &bad_root);
  if (status != SF_OK)
    return status;
  int64_t n = edges.value_root.n;
  for (int64_t i = 0; i < n; i++)
    joined->leaf[joined->nvalues + i] = sfshm_pattern_at(&edges.leaf, i);
  for (int64_t e = 0; e < edges.extra_value.n; e++) {
    joined->extra_value[joined->nextras] = joined->nvalues + sfshm_pattern_at(&edges.extra_value, e);
    joined->extra_leaf[joined->nextras++] = sfshm_pattern_at(&edges.leaf, n + e);
  }
  joined->nvalues += n;
  sfshm_edges_close(&edges);
  return SF_OK;
}

/* The patterns refer to the route's memory. */
static void set_paths(sfd_route_t *route, const joined_t *joined, const sfshm_pattern_t *from)
{
  for (int64_t e = 0; e < joined->nextras; e++)
    joined->extra_from[e] = sfshm_pattern_at(from, joined->extra_value[e]);
  route->paths = (sfshm_paths_t){
      .nvalues = joined->nvalues,
      .from = *from,
      .to = sfshm_pattern_from_index64(joined->leaf, joined->nvalues),
  };
  if (joined->nextras > 0) {
    route->paths.extra_value = sfshm_pattern_from_index64(joined->extra_value, joined->nextras);
    route->paths.extra_from = sfshm_pattern_from_index64(joined->extra_from, joined->nextras);
    route->paths.extra_to = sfshm_pattern_from_index64(joined->extra_leaf, joined->nextras);
  }
  route->from_max = sfshm_pattern_max(from);
  route->to_max = sfshm_pattern_max(&route->paths.to);
  if (joined->nextras > 0 && sfshm_pattern_max(&route->paths.extra_to) > route->to_max)
    route->to_max = sfshm_pattern_max(&route->paths.extra_to);
}

/* Leaves that nobody has looked at may be negative. */
static bool are_sound(const joined_t *joined)
{
  for (int64_t i = 0; i < joined->nvalues; i++)
    if (joined->leaf[i] < 0)
      return false;
  for (int64_t e = 0; e < joined->nextras; e++)
    if (joined->extra_leaf[e] < 0)
      return false;
  return true;
}

sf_status_t sfd_unpack_open(sfd_route_t *route)
{
  const sfd_unpack_plan_t *plan = route->plan;
  sfshm_image_t image;
  sfshm_leaf_positions_t positions;
  int64_t nextras = plan->nedges - plan->nvalues;
  sf_status_t status = sfshm_image_open(plan->image, plan->image_bytes, SFSHM_LEAF_IMAGE_MAGIC, &image);
  int64_t part = status == SF_OK ? sfshm_image_find(&image, plan->place) : -1;
  if (part < 0)
    return sfshm_error(SF_ERR_PROTO, "no part of group rank %d", plan->place);
  status = sfshm_leaf_part_open(&image, (uint32_t)part, plan->nvalues, plan->nedges, &positions);
  if (status != SF_OK)
    return status;
  route->memory = malloc((size_t)(plan->nvalues + 3 * nextras) * sizeof(int64_t));
  if (route->memory == NULL)
    return sfshm_error(SF_ERR_NOMEM, "ways of %lld values", (long long)plan->nvalues);
  int64_t *extras = (int64_t *)route->memory + plan->nvalues;
  joined_t joined = {route->memory, extras, extras + nextras, extras + 2 * nextras, 0, 0};
  for (int32_t b = 0; b < plan->nblocks && status == SF_OK; b++)
    status = join_block(route, &plan->blocks[b], &joined);
  if (status == SF_OK && !are_sound(&joined))
    status = sfshm_error(SF_ERR_PROTO, "edge list: negative leaf");
  if (status == SF_OK)
    set_paths(route, &joined, &positions.from);
  return status;
}

/* ---- Offers ------------------------------------------------------------------------------------------------------ */

/* Of one member of a side. */
typedef struct sfd_unpack {
  sfd_route_t *route; /* NULL: not needed yet, or impossible */
  bool tried;
  sfd_offer_t offers[SFSHM_TRUNK_SLOTS]; /* by operation */
} sfd_unpack_t;

void sfd_unpacks_free(sfd_side_t *side)
{
  for (int32_t i = 0; side->unpacks != NULL && i < side->told.nmembers; i++)
    sfd_route_release(side->unpacks[i].route);
  free(side->unpacks);
}

static sfd_route_t *make_route(const sfd_trunks_t *trunks, const sfd_side_t *side, int32_t place)
{
  const sfd_group_t *group = trunks->graph->group;
  sfd_mapping_t *list;
  const sfd_block_t *blocks;
  int32_t nblocks = sfd_offload_blocks(trunks->graph->offload, place, &blocks, &list);
  sfd_unpack_plan_t *plan = calloc(1, sizeof *plan + (size_t)nblocks * sizeof plan->blocks[0]);
  if (plan == NULL || list == NULL) {
    free(plan);
    return NULL;
  }
  plan->image = (const char *)trunks->plan->map.base + side->told.image;
  plan->image_bytes = side->told.image_bytes;
  plan->place = place;
  for (int32_t b = 0; b < nblocks; b++) {
    if (sfd_job_node_of(group->job, group->members[blocks[b].rank].rank) != side->told.node)
      continue;
    plan->nvalues += blocks[b].nvalues;
    plan->nedges += blocks[b].nedges;
    plan->blocks[plan->nblocks++] = blocks[b];
  }
  sfd_route_t *route = sfd_route_create(sfd_mapping_hold(list), 0, 0, 0, SFSHM_BCAST);
  if (route == NULL) {
    sfd_mapping_release(list);
    free(plan);
    return NULL;
  }
  route->plan = plan;
  return route;
}

static void start(sfd_trunks_t *trunks, const sfd_side_t *side, int32_t member, uint64_t message, sfd_offer_t *offer)
{
  sfd_unpack_t *unpack = &side->unpacks[member];
  sfd_exchange_t *exchange;
  uint64_t unit_bytes = side->arrived_units[message % SFSHM_TRUNK_SLOTS];
  const sfd_rank_t *rank = sfd_group_member(trunks->graph->group, side->members[member]);
  uint32_t number = (uint32_t)(side - trunks->sides);
  offer->sequence = 0;
  if (sfd_trunk_devices_slot(trunks, number, SFSHM_SLOTS_RECEIVE, unit_bytes, message) != NULL)
    return; /* only kernels of members read it */
  if (!unpack->tried)
    unpack->route = make_route(trunks, side, side->members[member]);
  unpack->tried = true;
  if (unpack->route == NULL || rank == NULL || sfshm_unit_size(sfshm_desc_unit(offer->desc)) != unit_bytes ||
      sfd_trunks_exchange(trunks, sfshm_exchange_class(unit_bytes), &exchange) != SF_OK)
    return;
  sfd_extent_t source = {(char *)exchange->region.base + sfshm_receive_slot(&exchange->slots[number], message),
                         (uint64_t)side->told.receive_values * unit_bytes};
  sfd_offload_start_unpack(trunks, unpack->route, &source, rank, offer);
}

static int32_t find_member(const sfd_side_t *side, int32_t place)
{
  for (int32_t i = 0; i < side->told.nmembers; i++)
    if (side->members[i] == place)
      return i;
  return -1;
}

void sfd_unpack_submit(sfd_graph_t *graph, int32_t place, const sfshm_ring_entry_t *entry)
{
  sfd_trunks_t *trunks = graph->trunks;
  if (trunks == NULL || entry->a >= trunks->nsides || trunks->sides[entry->a].told.role != SFSHM_AS_LEAF)
    return;
  sfd_side_t *side = &trunks->sides[entry->a];
  int32_t member = find_member(side, place);
  if (side->unpacks == NULL)
    side->unpacks = calloc((uint32_t)side->told.nmembers, sizeof side->unpacks[0]);
  if (member < 0 || side->unpacks == NULL)
    return;
  sfd_offer_t *offer = &side->unpacks[member].offers[entry->message % SFSHM_TRUNK_SLOTS];
  *offer = sfd_offload_offer(entry);
  for (uint64_t message = side->consumed + 1; message <= side->arrived; message++)
    if (side->arrived_descs[message % SFSHM_TRUNK_SLOTS] == offer->desc && offer->sequence != 0)
      start(trunks, side, member, message, offer);
}

void sfd_unpack_arrived(sfd_trunks_t *trunks, sfd_side_t *side, uint64_t message, uint64_t desc, uint64_t unit_bytes)
{
  side->arrived_descs[message % SFSHM_TRUNK_SLOTS] = desc & SFSHM_DESC_MATCH_MASK;
  side->arrived_units[message % SFSHM_TRUNK_SLOTS] = unit_bytes;
  for (int32_t member = 0; side->unpacks != NULL && member < side->told.nmembers; member++)
    for (uint32_t i = 0; i < SFSHM_TRUNK_SLOTS; i++) {
      sfd_offer_t *offer = &side->unpacks[member].offers[i];
      if (offer->sequence != 0 && offer->desc == (desc & SFSHM_DESC_MATCH_MASK))
        start(trunks, side, member, message, offer);
    }
}
