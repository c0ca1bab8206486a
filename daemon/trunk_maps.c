/* Memory for trunk maps: see trunk_maps.h. The daemon's thread. */
#include "daemon/trunk_maps.h"

#include <stdlib.h>

#include "shm/error.h"
#include "shm/trunk.h"

#define SLACK 16 /* a region is longer than its first map by a part of so many */

struct sfd_trunk_maps {
  int32_t nholders; /* the job, and each map */
  int32_t nfree;
  sfshm_region_t free[SFSHM_TRUNK_MAPS_IDLE];
};

static sfd_trunk_maps_t *maps_of(sfd_job_t *job)
{
  if (job->trunk_maps == NULL) {
    job->trunk_maps = calloc(1, sizeof *job->trunk_maps);
    if (job->trunk_maps != NULL)
      job->trunk_maps->nholders = 1;
  }
  return job->trunk_maps;
}

void sfd_trunk_maps_let_go(sfd_trunk_maps_t *maps)
{
  if (maps == NULL || --maps->nholders > 0)
    return;
  while (maps->nfree > 0)
    sfshm_region_destroy(&maps->free[--maps->nfree]);
  free(maps);
}

/* The shortest that is long enough and not wasted on it, or -1. */
static int32_t find_free(const sfd_trunk_maps_t *maps, uint64_t bytes)
{
  int32_t found = -1;
  for (int32_t i = 0; i < maps->nfree; i++) {
    uint64_t length = maps->free[i].length_bytes;
    if (length >= bytes && length / 2 <= bytes && (found < 0 || length < maps->free[found].length_bytes))
      found = i;
  }
  return found;
}

sf_status_t sfd_trunk_map_take(sfd_job_t *job, const sfshm_region_piece_t pieces[], size_t npieces, uint64_t bytes,
                               sfd_trunk_maps_t **maps_p, sfshm_region_t *map_p)
{
  sfd_trunk_maps_t *maps = maps_of(job);
  if (maps == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for trunk maps");
  int32_t found = find_free(maps, bytes);
  if (found >= 0) {
    *map_p = maps->free[found];
    maps->free[found] = maps->free[--maps->nfree];
    sfshm_region_recompose(map_p, pieces, npieces);
  } else {
    sf_status_t status = sfshm_region_compose("sf-trunks", SFSHM_REGION_TRUNK_MAP, pieces, npieces,
                                              (size_t)(bytes + bytes / SLACK), map_p);
    if (status != SF_OK)
      return status;
  }
  maps->nholders++;
  *maps_p = maps;
  return SF_OK;
}

static uint64_t count_free_bytes(const sfd_trunk_maps_t *maps)
{
  uint64_t bytes = 0;
  for (int32_t i = 0; i < maps->nfree; i++)
    bytes += maps->free[i].length_bytes;
  return bytes;
}

/* The one that has been there longest. */
static void drop_free(sfd_trunk_maps_t *maps)
{
  sfshm_region_destroy(&maps->free[0]);
  maps->nfree--;
  for (int32_t i = 0; i < maps->nfree; i++)
    maps->free[i] = maps->free[i + 1];
}

static void keep(sfd_trunk_maps_t *maps, const sfshm_region_t *map)
{
  while (maps->nfree == SFSHM_TRUNK_MAPS_IDLE ||
         (maps->nfree > 0 && count_free_bytes(maps) + map->length_bytes > SFSHM_TRUNK_MAPS_IDLE_BYTES))
    drop_free(maps);
  maps->free[maps->nfree++] = *map;
}

void sfd_trunk_map_give(sfd_trunk_maps_t *maps, sfshm_region_t *map)
{
  if (map->length_bytes <= SFSHM_TRUNK_MAPS_IDLE_BYTES)
    keep(maps, map);
  else
    sfshm_region_destroy(map);
  *map = (sfshm_region_t){.fd = -1};
  sfd_trunk_maps_let_go(maps);
}
