/* Edge lists for offloading: see offload_lists.h. */
#include "daemon/offload_lists.h"

#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "daemon/group.h"
#include "daemon/job.h"
#include "daemon/key.h"

/* The edges of one member of this node. */
typedef struct list {
  int fd; /* -1: none, or mapped already */
  sfd_mapping_t *mapping;
  sfd_block_t *blocks;
  int32_t nblocks;
  int64_t nroots;
} list_t;

typedef struct way {
  uint64_t key; /* first */
  sfd_route_t *route;
} way_t;

struct sfd_lists {
  int64_t uses;
  const sfd_group_t *group;
  void *ways; /* tsearch */
  int32_t n;
  list_t of[]; /* by member of this node */
};

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

sfd_lists_t *sfd_lists_create(const sfd_graph_t *graph)
{
  const sfd_group_t *group = graph->group;
  sfd_lists_t *lists = calloc(1, sizeof *lists + (size_t)group->nlocals * sizeof lists->of[0]);
  if (lists == NULL)
    return NULL;
  lists->uses = 1;
  lists->group = group;
  lists->n = group->nlocals;
  for (int32_t i = 0; i < lists->n; i++) {
    sfd_setup_member_t *member = &graph->setup->members[i];
    lists->of[i] = (list_t){member->edges_fd, NULL, member->blocks, member->nblocks, member->nroots};
    member->edges_fd = -1;
    member->blocks = NULL;
    member->nblocks = 0;
  }
  return lists;
}

sfd_lists_t *sfd_lists_hold(sfd_lists_t *lists)
{
  if (lists != NULL)
    lists->uses++;
  return lists;
}

static void free_way(void *opaque)
{
  way_t *way = opaque;
  sfd_route_release(way->route);
  free(way);
}

void sfd_lists_release(sfd_lists_t *lists)
{
  if (lists == NULL || --lists->uses > 0)
    return;
  tdestroy(lists->ways, free_way);
  for (int32_t i = 0; i < lists->n; i++) {
    sfd_job_close_fd(lists->group->job, lists->of[i].fd);
    sfd_mapping_release(lists->of[i].mapping);
    free(lists->of[i].blocks);
  }
  free(lists);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* Mapped at first use. */
static sfd_mapping_t *map_list(const sfd_lists_t *lists, list_t *list)
{
  sfshm_region_t region;
  if (list->mapping != NULL || list->fd < 0)
    return list->mapping;
  if (sfshm_region_map(list->fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, SFSHM_READ_ONLY, &region) == SF_OK) {
    list->mapping = sfd_mapping_create(&region);
    if (list->mapping == NULL)
      sfshm_region_destroy(&region);
  }
  sfd_job_close_fd(lists->group->job, list->fd);
  list->fd = -1;
  return list->mapping;
}

bool sfd_lists_are_small(const sfd_lists_t *lists, uint64_t bytes)
{
  struct stat file;
  for (int32_t i = 0; i < lists->n; i++) {
    const list_t *list = &lists->of[i];
    if (list->mapping != NULL && list->mapping->region.length_bytes > bytes)
      return false;
    if (list->fd >= 0 && (fstat(list->fd, &file) != 0 || (uint64_t)file.st_size > bytes))
      return false;
  }
  return true;
}

int32_t sfd_lists_blocks(sfd_lists_t *lists, int32_t place, const sfd_block_t **blocks_p, sfd_mapping_t **list_p)
{
  list_t *list = &lists->of[sfd_group_local(lists->group, place)];
  *blocks_p = list->blocks;
  *list_p = map_list(lists, list);
  return list->nblocks;
}

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

static const sfd_block_t *find_block(const list_t *list, int32_t owner)
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

static sfd_route_t *make_route(sfd_lists_t *lists, int32_t owner, int32_t leaf, sfshm_operation_t operation)
{
  list_t *list = &lists->of[sfd_group_local(lists->group, leaf)];
  const sfd_block_t *block = find_block(list, owner);
  sfd_mapping_t *mapping = block != NULL ? map_list(lists, list) : NULL;
  if (mapping == NULL)
    return NULL;
  sfd_route_t *route = sfd_route_create(sfd_mapping_hold(mapping), block->offset, block->nedges, block->nvalues,
                                        lists->of[sfd_group_local(lists->group, owner)].nroots, operation);
  if (route == NULL)
    sfd_mapping_release(mapping);
  return route;
}

uint64_t sfd_lists_key(int32_t writer, int32_t reader, sfshm_operation_t operation)
{
  return (uint64_t)operation << 62 | (uint64_t)(uint32_t)writer << 31 | (uint32_t)reader;
}

sfd_route_t *sfd_lists_route(sfd_lists_t *lists, int32_t writer, int32_t reader, sfshm_operation_t operation)
{
  uint64_t key = sfd_lists_key(writer, reader, operation);
  way_t *way = sfd_key_find(lists->ways, key);
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
  if (sfd_key_insert(&lists->ways, way))
    return route;
  free_way(way);
  return NULL;
}
