/* Mapped regions of trunk maps: see trunk_maps.h. */
#include "client/trunk_maps.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "client/device.h"
#include "shm/error.h"
#include "shm/trunk.h"

#define MAX_MAP_BYTES ((uint64_t)1 << 44)

struct sfc_trunk_map {
  sfc_trunk_map_t *next;
  dev_t device; /* the region, as the kernel knows it: nobody else has this number as long as it is mapped */
  ino_t inode;
  int32_t nholders;
  sfshm_region_t region;
};

void sfc_trunk_maps_init(sfc_trunk_maps_t *maps)
{
  *maps = (sfc_trunk_maps_t){.mapped = NULL};
  pthread_mutex_init(&maps->lock, NULL);
}

static void unmap(sfc_trunk_map_t *map)
{
  sfc_device_destroy_region(&map->region);
  free(map);
}

void sfc_trunk_maps_destroy(sfc_trunk_maps_t *maps)
{
  while (maps->mapped != NULL) {
    sfc_trunk_map_t *map = maps->mapped;
    maps->mapped = map->next;
    unmap(map);
  }
  pthread_mutex_destroy(&maps->lock);
}

const sfshm_region_t *sfc_trunk_map_region(const sfc_trunk_map_t *map)
{
  return &map->region;
}

/* Under the lock. Copies that devices have of what stood there are of no use any more. */
static sfc_trunk_map_t *find_mapped(sfc_trunk_maps_t *maps, const struct stat *info)
{
  sfc_trunk_map_t **link = &maps->mapped, *map;
  while (*link != NULL && ((*link)->device != info->st_dev || (*link)->inode != info->st_ino))
    link = &(*link)->next;
  map = *link;
  if (map == NULL)
    return NULL;
  *link = map->next;
  sfc_device_forget_region(&map->region);
  return map;
}

static sf_status_t map_region(int fd, const struct stat *info, sfc_trunk_map_t **map_p)
{
  sfc_trunk_map_t *map = calloc(1, sizeof *map);
  if (map == NULL)
    return sfshm_error(SF_ERR_NOMEM, "trunk map");
  map->device = info->st_dev;
  map->inode = info->st_ino;
  sf_status_t status = sfshm_region_map(fd, SFSHM_REGION_TRUNK_MAP, MAX_MAP_BYTES, SFSHM_READ_ONLY, &map->region);
  if (status == SF_OK)
    *map_p = map;
  else
    free(map);
  return status;
}

sf_status_t sfc_trunk_map_take(sfc_trunk_maps_t *maps, int fd, sfc_trunk_map_t **map_p)
{
  struct stat info;
  if (fstat(fd, &info) != 0)
    return sfshm_error_errno(SF_ERR_PROTO, "trunk map: fstat");
  pthread_mutex_lock(&maps->lock);
  sfc_trunk_map_t *map = find_mapped(maps, &info);
  sf_status_t status = map != NULL ? SF_OK : map_region(fd, &info, &map);
  if (status == SF_OK) {
    map->nholders++;
    map->next = maps->mapped;
    maps->mapped = map;
    *map_p = map;
  }
  pthread_mutex_unlock(&maps->lock);
  return status;
}

/* Under the lock: takes the oldest of those that nobody needs out of the list if they are too many, or too long. */
static sfc_trunk_map_t *take_oldest(sfc_trunk_maps_t *maps)
{
  sfc_trunk_map_t **oldest = NULL;
  size_t nidle = 0, bytes = 0;
  for (sfc_trunk_map_t **link = &maps->mapped; *link != NULL; link = &(*link)->next) {
    if ((*link)->nholders > 0)
      continue;
    oldest = link;
    nidle++;
    bytes += (*link)->region.length_bytes;
  }
  if (nidle <= SFSHM_TRUNK_MAPS_IDLE && bytes <= SFSHM_TRUNK_MAPS_IDLE_BYTES)
    return NULL;
  sfc_trunk_map_t *map = *oldest;
  *oldest = map->next;
  return map;
}

static void give(sfc_trunk_map_t *map)
{
  if (--map->nholders == 0)
    sfc_device_forget_region(&map->region);
}

void sfc_trunk_map_give(sfc_trunk_maps_t *maps, sfc_trunk_map_t *map)
{
  sfc_trunk_map_t *oldest;
  pthread_mutex_lock(&maps->lock);
  give(map);
  while ((oldest = take_oldest(maps)) != NULL)
    unmap(oldest);
  pthread_mutex_unlock(&maps->lock);
}
