/* Memory for trunk maps: see trunk_maps.h. The daemon's thread. */
#include "daemon/trunk_maps.h"

#include <stdlib.h>

#include "shm/error.h"
#include "shm/trunk.h"

#define SLACK 16 /* a region is longer than its first map by a part of so many */

struct sfd_trunk_maps {
  sfd_server_t *server;
  sfd_job_t *job;   /* for which descriptors are counted; NULL: it is over */
  int32_t nholders; /* the job, and each map */
  int32_t nfree;
  sfshm_region_t free[SFSHM_TRUNK_MAPS_IDLE];
};

static sfd_trunk_maps_t *maps_of(sfd_job_t *job)
{
  if (job->trunk_maps == NULL) {
    job->trunk_maps = calloc(1, sizeof *job->trunk_maps);
    if (job->trunk_maps != NULL)
      *job->trunk_maps = (sfd_trunk_maps_t){.server = job->server, .job = job, .nholders = 1};
  }
  return job->trunk_maps;
}

static void destroy(const sfd_trunk_maps_t *maps, sfshm_region_t *map)
{
  sfshm_region_destroy(map);
  sfd_job_drop_fd(maps->server, maps->job);
}

static void release(sfd_trunk_maps_t *maps)
{
  if (--maps->nholders > 0)
    return;
  while (maps->nfree > 0)
    destroy(maps, &maps->free[--maps->nfree]);
  free(maps);
}

void sfd_trunk_maps_let_go(sfd_trunk_maps_t *maps)
{
  if (maps == NULL)
    return;
  maps->job = NULL;
  release(maps);
}

static sf_status_t make(sfd_job_t *job, const sfshm_region_piece_t pieces[], size_t npieces, uint64_t bytes,
                        sfshm_region_t *map_p)
{
  sf_status_t status = sfd_job_hold_fd(job);
  if (status != SF_OK)
    return status;
  status = sfshm_region_compose("sf-trunks", SFSHM_REGION_TRUNK_MAP, pieces, npieces, (size_t)(bytes + bytes / SLACK),
                                map_p);
  if (status != SF_OK)
    sfd_job_drop_fd(job->server, job);
  return status;
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
    sf_status_t status = make(job, pieces, npieces, bytes, map_p);
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
  destroy(maps, &maps->free[0]);
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
    destroy(maps, map);
  *map = (sfshm_region_t){.fd = -1};
  release(maps);
}
