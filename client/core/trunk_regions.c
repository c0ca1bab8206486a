/* Cache of the mapped regions of trunk maps and trunk boards: see trunk_regions.h. */
#include "client/core/trunk_regions.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "client/core/device.h"
#include "shm/base/error.h"
#include "shm/trunk/trunk.h"

#define MAX_BYTES ((uint64_t)1 << 44)

struct sfc_trunk_region {
  sfc_trunk_region_t *next;
  sfshm_region_kind_t kind;
  uint64_t key; /* boards: the daemon's number; map: the inode, unique while mapped */
  int32_t nholders;
  sfshm_region_t region;
};

void sfc_trunk_regions_init(sfc_trunk_regions_t *regions)
{
  *regions = (sfc_trunk_regions_t){.mapped = NULL};
  pthread_mutex_init(&regions->lock, NULL);
}

static void unmap(sfc_trunk_region_t *region)
{
  sfc_device_destroy_region(&region->region);
  free(region);
}

void sfc_trunk_regions_destroy(sfc_trunk_regions_t *regions)
{
  while (regions->mapped != NULL) {
    sfc_trunk_region_t *region = regions->mapped;
    regions->mapped = region->next;
    unmap(region);
  }
  pthread_mutex_destroy(&regions->lock);
}

const sfshm_region_t *sfc_trunk_region(const sfc_trunk_region_t *region)
{
  return &region->region;
}

/* With the lock held. Device copies of earlier contents are dropped. */
static sfc_trunk_region_t *find_mapped(sfc_trunk_regions_t *regions, sfshm_region_kind_t kind, uint64_t key)
{
  sfc_trunk_region_t **link = &regions->mapped, *region;
  while (*link != NULL && ((*link)->kind != kind || (*link)->key != key))
    link = &(*link)->next;
  region = *link;
  if (region == NULL)
    return NULL;
  *link = region->next;
  region->next = regions->mapped;
  regions->mapped = region;
  region->nholders++;
  sfc_device_forget_region(&region->region);
  return region;
}

static sf_status_t map_region(sfc_trunk_regions_t *regions, sfshm_region_kind_t kind, uint64_t key, int fd,
                              sfc_trunk_region_t **region_p)
{
  sfc_trunk_region_t *region = calloc(1, sizeof *region);
  if (region == NULL)
    return sfshm_error(SF_ERR_NOMEM, "region of trunks");
  sf_status_t status = sfshm_region_map(
      fd, kind, MAX_BYTES, kind == SFSHM_REGION_TRUNK_MAP ? SFSHM_READ_ONLY : SFSHM_READ_WRITE, &region->region);
  if (status != SF_OK) {
    free(region);
    return status;
  }
  region->kind = kind;
  region->key = key;
  region->nholders = 1;
  region->next = regions->mapped;
  regions->mapped = region;
  *region_p = region;
  return SF_OK;
}

static sf_status_t take(sfc_trunk_regions_t *regions, sfshm_region_kind_t kind, uint64_t key, int fd,
                        sfc_trunk_region_t **region_p)
{
  sf_status_t status = SF_OK;
  pthread_mutex_lock(&regions->lock);
  sfc_trunk_region_t *region = find_mapped(regions, kind, key);
  if (region == NULL)
    status = map_region(regions, kind, key, fd, &region);
  pthread_mutex_unlock(&regions->lock);
  if (status == SF_OK)
    *region_p = region;
  return status;
}

sf_status_t sfc_trunk_regions_take_map(sfc_trunk_regions_t *regions, int fd, sfc_trunk_region_t **region_p)
{
  struct stat info;
  if (fstat(fd, &info) != 0)
    return sfshm_error_errno(SF_ERR_PROTO, "trunk map: fstat");
  return take(regions, SFSHM_REGION_TRUNK_MAP, info.st_ino, fd, region_p);
}

sfc_trunk_region_t *sfc_trunk_regions_find_boards(sfc_trunk_regions_t *regions, uint64_t number)
{
  pthread_mutex_lock(&regions->lock);
  sfc_trunk_region_t *region = find_mapped(regions, SFSHM_REGION_TRUNK_BOARD, number);
  pthread_mutex_unlock(&regions->lock);
  return region;
}

sf_status_t sfc_trunk_regions_take_boards(sfc_trunk_regions_t *regions, uint64_t number, int fd,
                                          sfc_trunk_region_t **region_p)
{
  return take(regions, SFSHM_REGION_TRUNK_BOARD, number, fd, region_p);
}

/* With the lock held: removes an unused region beyond the limits on number or bytes; NULL: none. */
static sfc_trunk_region_t *remove_superfluous(sfc_trunk_regions_t *regions, sfshm_region_kind_t kind)
{
  size_t nidle = 0, bytes = 0;
  for (sfc_trunk_region_t **link = &regions->mapped, *region; (region = *link) != NULL; link = &region->next)
    if (region->kind == kind && region->nholders == 0 &&
        (++nidle > SFSHM_TRUNK_IDLE || (bytes += region->region.length_bytes) > SFSHM_TRUNK_IDLE_BYTES)) {
      *link = region->next;
      return region;
    }
  return NULL;
}

void sfc_trunk_regions_give(sfc_trunk_regions_t *regions, sfc_trunk_region_t *region)
{
  if (region == NULL)
    return;
  sfshm_region_kind_t kind = region->kind;
  pthread_mutex_lock(&regions->lock);
  if (--region->nholders == 0)
    sfc_device_forget_region(&region->region);
  while ((region = remove_superfluous(regions, kind)) != NULL)
    unmap(region);
  pthread_mutex_unlock(&regions->lock);
}
