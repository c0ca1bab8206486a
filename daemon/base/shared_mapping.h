/* Counted mappings of shared memory, unmapped by the last release. The daemon's thread counts; workers use mappings
 * that are held for them. */
#ifndef SFD_BASE_SHARED_MAPPING_H
#define SFD_BASE_SHARED_MAPPING_H

#include "shm/region/region.h"

typedef struct sfd_shared_mapping {
  int64_t uses;
  sfshm_region_t region;
} sfd_shared_mapping_t;

/* Takes over a region, with count 1; NULL without memory: the region stays the caller's. */
sfd_shared_mapping_t *sfd_shared_mapping_create(const sfshm_region_t *region);

/* Both accept NULL. */
sfd_shared_mapping_t *sfd_shared_mapping_hold(sfd_shared_mapping_t *mapping);
void sfd_shared_mapping_release(sfd_shared_mapping_t *mapping);

#endif
