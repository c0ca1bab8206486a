/* The regions of trunk maps that this process has mapped. The daemon lets a region serve one graph after another
 * (daemon/trunk_maps.h), so what is mapped already need not be mapped again. Any thread. */
#ifndef SFC_TRUNK_MAPS_H
#define SFC_TRUNK_MAPS_H

#include <pthread.h>

#include <sf/sf_status.h>

#include "shm/region.h"

typedef struct sfc_trunk_map sfc_trunk_map_t;

/* Those of a context. */
typedef struct sfc_trunk_maps {
  pthread_mutex_t lock;
  sfc_trunk_map_t *mapped; /* the latest first */
} sfc_trunk_maps_t;

void sfc_trunk_maps_init(sfc_trunk_maps_t *maps);
void sfc_trunk_maps_destroy(sfc_trunk_maps_t *maps);

/* Maps the region unless it is mapped; the descriptor stays the caller's. What was found in it for an earlier graph is
 * not there any more. */
sf_status_t sfc_trunk_map_take(sfc_trunk_maps_t *maps, int fd, sfc_trunk_map_t **map_p);

const sfshm_region_t *sfc_trunk_map_region(const sfc_trunk_map_t *map);

/* A graph, or a plan, needs it no more. It stays mapped, also if the daemon has dropped the region, up to
 * SFSHM_TRUNK_MAPS_IDLE such ones. */
void sfc_trunk_map_give(sfc_trunk_maps_t *maps, sfc_trunk_map_t *map);

#endif
