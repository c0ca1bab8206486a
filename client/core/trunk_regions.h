/* Cache of mapped regions of trunk maps and trunk boards. The daemon reuses a region for later graphs
 * (daemon/data/trunk_regions.h), so mappings are kept. Any thread. */
#ifndef SFC_CORE_TRUNK_REGIONS_H
#define SFC_CORE_TRUNK_REGIONS_H

#include <pthread.h>

#include <sf/sf_status.h>

#include "shm/region/region.h"

typedef struct sfc_trunk_region sfc_trunk_region_t;

/* The regions of a context. */
typedef struct sfc_trunk_regions {
  pthread_mutex_t lock;
  sfc_trunk_region_t *mapped; /* most recent first */
} sfc_trunk_regions_t;

void sfc_trunk_regions_init(sfc_trunk_regions_t *regions);
void sfc_trunk_regions_destroy(sfc_trunk_regions_t *regions);

/* Takes the region of a map, mapped if necessary; the caller keeps the descriptor. Contents of an earlier graph are
 * gone. */
sf_status_t sfc_trunk_regions_take_map(sfc_trunk_regions_t *regions, int fd, sfc_trunk_region_t **region_p);

/* Takes the region of boards with that number at the daemon: if it is mapped, else NULL; or mapped from a descriptor.
 */
sfc_trunk_region_t *sfc_trunk_regions_find_boards(sfc_trunk_regions_t *regions, uint64_t number);
sf_status_t sfc_trunk_regions_take_boards(sfc_trunk_regions_t *regions, uint64_t number, int fd,
                                          sfc_trunk_region_t **region_p);

const sfshm_region_t *sfc_trunk_region(const sfc_trunk_region_t *region);

/* Gives a region back; NULL is accepted. It stays mapped until there are more than SFSHM_TRUNK_IDLE unused ones of its
 * kind. */
void sfc_trunk_regions_give(sfc_trunk_regions_t *regions, sfc_trunk_region_t *region);

#endif
