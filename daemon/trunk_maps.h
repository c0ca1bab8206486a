/* Memory for the trunk maps of a job's graphs that are not told in messages: regions that serve one graph after
 * another. Making one, filling its pages and freeing them again takes longer than writing a map; and ranks that still
 * have a region mapped need not map it again. Regions that no graph uses are kept as long as the job. */
#ifndef SFD_TRUNK_MAPS_H
#define SFD_TRUNK_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/job.h"
#include "shm/region.h"

typedef struct sfd_trunk_maps sfd_trunk_maps_t;

/* A region that holds these pieces, with at least so many bytes: see sfshm_region_compose. *maps_p: whose it is. */
sf_status_t sfd_trunk_map_take(sfd_job_t *job, const sfshm_region_piece_t pieces[], size_t npieces, uint64_t bytes,
                               sfd_trunk_maps_t **maps_p, sfshm_region_t *map_p);

/* Gives it back: no rank will look at this map any more, or use what it found in it. */
void sfd_trunk_map_give(sfd_trunk_maps_t *maps, sfshm_region_t *map);

/* The job ends. NULL is accepted. */
void sfd_trunk_maps_let_go(sfd_trunk_maps_t *maps);

#endif
