/* Cache of the mapped regions of trunk maps and trunk boards. The daemon lets a region serve one graph after another
 * (daemon/data/trunk_regions.h), so a region that is mapped need not be mapped again. Any thread. */
#ifndef SFC_CORE_TRUNK_REGIONS_H
#define SFC_CORE_TRUNK_REGIONS_H

#include <pthread.h>

#include <sf/sf_status.h>

#include "shm/region/region.h"

typedef struct sfc_trunk_region sfc_trunk_region_t;

/* The regions of a context. */
typedef struct sfc_trunk_regions {
  pthread_mutex_t lock;
  sfc_trunk_region_t *mapped; /* the latest first */
} sfc_trunk_regions_t;

void sfc_trunk_regions_init(sfc_trunk_regions_t *regions);
void sfc_trunk_regions_destroy(sfc_trunk_regions_t *regions);

/* The region of a map. It is mapped unless it is mapped already; the descriptor stays the caller's. What an earlier
 * graph found in the region is not there any more. */
sf_status_t sfc_trunk_regions_take_map(sfc_trunk_regions_t *regions, int fd, sfc_trunk_region_t **region_p);

/* The region of boards that has this number at the daemon: if it is mapped, or NULL; and mapped from a descriptor. */
sfc_trunk_region_t *sfc_trunk_regions_find_boards(sfc_trunk_regions_t *regions, uint64_t number);
sf_status_t sfc_trunk_regions_take_boards(sfc_trunk_regions_t *regions, uint64_t number, int fd,
                                          sfc_trunk_region_t **region_p);

const sfshm_region_t *sfc_trunk_region(const sfc_trunk_region_t *region);

/* A graph, or a plan, no longer needs the region; NULL is accepted. The region stays mapped, also if the daemon has
 * dropped it, until there are more than SFSHM_TRUNK_IDLE unused ones of its kind. */
void sfc_trunk_regions_give(sfc_trunk_regions_t *regions, sfc_trunk_region_t *region);

#endif
