/* Edge lists for offloading: see routes.h. */
#include "daemon/data/routes.h"

#include <search.h>
#include <stdlib.h>

#include "daemon/base.h"
#include "daemon/data/data.h"
#include "daemon/data/edge_block.h"
#include "daemon/jobs.h"
#include "shm/base/error.h"

/* of all graphs: the kernel allows 65530 mappings per process, and others need some */
#define MAPPED_MAX 16384

/* Edge list of one member of this node. */
typedef struct list {
  sfd_shared_mapping_t *mapping; /* NULL: not sent */
  sfd_edge_block_t *blocks;
  int32_t nblocks;
} list_t;

typedef struct way {
  uint64_t key; /* first */
  sfd_route_t *route;
} way_t;

struct sfd_routes {
  const sfd_group_t *group;
  void *ways; /* tsearch */
  int32_t n;
  list_t of[]; /* by local member */
};

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

sfd_routes_t *sfd_routes_create(const sfd_group_t *group)
{
  sfd_routes_t *lists = calloc(1, sizeof *lists + (size_t)group->nlocals * sizeof lists->of[0]);
  if (lists == NULL)
    return NULL;
  lists->group = group;
  lists->n = group->nlocals;
  return lists;
}

static void free_way(void *opaque)
{
  way_t *way = opaque;
  sfd_route_release(way->route);
  free(way);
}

void sfd_routes_free(sfd_routes_t *lists)
{
  if (lists == NULL)
    return;
  tdestroy(lists->ways, free_way);
  for (int32_t i = 0; i < lists->n; i++) {
    lists->group->job->server->data->nlists -= lists->of[i].mapping != NULL;
    sfd_shared_mapping_release(lists->of[i].mapping);
    free(lists->of[i].blocks);
  }
  free(lists);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* Checks the message; workers open and check the blocks that they use. */
static sf_status_t check(const sfd_routes_t *lists, const list_t *list, int32_t group_rank,
                         const Sfproto__GraphEdges *edges, int fd)
{
  if (list->mapping != NULL)
    return sfshm_error(SF_ERR_PROTO, "second GraphEdges of group rank %d", group_rank);
  sf_status_t status =
      sfd_edge_blocks_check("GraphEdges", edges->blocks, edges->n_blocks, INT64_MAX, lists->group->size, group_rank);
  if (status != SF_OK)
    return status;
  return sfd_edge_blocks_check_list("GraphEdges", edges->blocks, edges->n_blocks, group_rank, fd);
}

static sf_status_t map(sfd_server_t *server, int fd, sfd_shared_mapping_t **mapping_p)
{
  sfshm_region_t region;
  if (server->data->nlists >= MAPPED_MAX || server->data->nlists >= server->max_held_fds / 4)
    return sfshm_error(SF_ERR_LIMIT, "the daemon has %lld edge lists", (long long)server->data->nlists);
  sf_status_t status = sfshm_region_map(fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, SFSHM_READ_ONLY, &region);
  if (status != SF_OK)
    return status;
  *mapping_p = sfd_shared_mapping_create(&region);
  if (*mapping_p != NULL) {
    server->data->nlists++;
    return SF_OK;
  }
  sfshm_region_destroy(&region);
  return sfshm_error(SF_ERR_NOMEM, "no memory for an edge list");
}

sf_status_t sfd_routes_add_list(sfd_routes_t *lists, int32_t group_rank, const Sfproto__GraphEdges *edges, int fd)
{
  list_t *list = &lists->of[sfd_group_local(lists->group, group_rank)];
  sf_status_t status = check(lists, list, group_rank, edges, fd);
  if (status == SF_OK)
    status = sfd_edge_blocks_copy(edges->blocks, edges->n_blocks, &list->blocks);
  if (status != SF_OK)
    return status;
  list->nblocks = (int32_t)edges->n_blocks;
  status = map(lists->group->job->server, fd, &list->mapping);
  if (status == SF_OK)
    return SF_OK;
  free(list->blocks);
  *list = (list_t){.mapping = NULL};
  return status;
}

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

static const sfd_edge_block_t *find_block(const list_t *list, int32_t owner)
{
  int32_t low = 0, high = list->nblocks;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (list->blocks[middle].rank < owner)
      low = middle + 1;
    else
      high = middle;
  }
  return low < list->nblocks && list->blocks[low].rank == owner ? &list->blocks[low] : NULL;
}

static sfd_route_t *make_route(sfd_routes_t *lists, int32_t owner, int32_t leaf, sfshm_operation_t operation)
{
  const list_t *list = &lists->of[sfd_group_local(lists->group, leaf)];
  const sfd_edge_block_t *block = find_block(list, owner);
  if (block == NULL)
    return NULL;
  sfd_route_t *route =
      sfd_route_create(sfd_shared_mapping_hold(list->mapping), block->offset, block->nedges, block->nvalues, operation);
  if (route == NULL)
    sfd_shared_mapping_release(list->mapping);
  return route;
}

uint64_t sfd_routes_key(int32_t writer, int32_t reader, sfshm_operation_t operation)
{
  return (uint64_t)operation << 62 | (uint64_t)(uint32_t)writer << 31 | (uint32_t)reader;
}

sfd_route_t *sfd_routes_find(sfd_routes_t *lists, int32_t writer, int32_t reader, sfshm_operation_t operation)
{
  uint64_t key = sfd_routes_key(writer, reader, operation);
  way_t *way = sfd_id_map_find(lists->ways, key);
  if (way != NULL)
    return way->route;
  bool bcast = operation == SFSHM_BCAST;
  sfd_route_t *route = make_route(lists, bcast ? writer : reader, bcast ? reader : writer, operation);
  way = route != NULL ? malloc(sizeof *way) : NULL;
  if (way == NULL) {
    sfd_route_release(route);
    return NULL;
  }
  *way = (way_t){key, route};
  if (sfd_id_map_insert(&lists->ways, way))
    return route;
  free_way(way);
  return NULL;
}
