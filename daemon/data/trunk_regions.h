/* Pool of shared regions for the trunk maps and trunk boards of a job's graphs. A region serves one graph after
 * another: creating it and filling its pages takes longer than writing a map, and ranks that have it mapped need not
 * map it again. A map has a region of its own; small boards share regions, each board in pages of its own, which ranks
 * can pin. SFSHM_TRUNK_IDLE limits the regions of each kind that no graph uses. The pool lives as long as the job and
 * as the messages that are under way for one of its graphs. The daemon's thread. */
#ifndef SFD_DATA_TRUNK_REGIONS_H
#define SFD_DATA_TRUNK_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/jobs.h"
#include "shm/region/region.h"

typedef struct sfd_trunk_regions sfd_trunk_regions_t;
typedef struct sfd_trunk_region sfd_trunk_region_t;

/* Memory of one map or board. */
typedef struct sfd_trunk_memory {
  void *base; /* NULL: none */
  size_t length_bytes;
  sfd_trunk_region_t *region; /* NULL: base is private memory of the daemon, to be freed */
  uint64_t parts;             /* of the region, as bits */
} sfd_trunk_memory_t;

/* A map of at least length_bytes that consists of these pieces: see sfshm_region_compose. */
sf_status_t sfd_trunk_regions_take_map(sfd_job_t *job, const sfshm_region_piece_t pieces[], size_t npieces,
                                       size_t length_bytes, sfd_trunk_memory_t *memory_p);

/* Zeroed memory of a board. */
sf_status_t sfd_trunk_regions_take_board(sfd_job_t *job, size_t length_bytes, sfd_trunk_memory_t *memory_p);

/* Gives the memory back: no rank looks at it any more. Accepts what is zeroed. */
void sfd_trunk_regions_give(sfd_trunk_memory_t *memory);

/* Where the memory is: number and descriptor of the region (-1: private memory), and the offset there. */
uint64_t sfd_trunk_memory_number(const sfd_trunk_memory_t *memory);
int sfd_trunk_memory_fd(const sfd_trunk_memory_t *memory);
uint64_t sfd_trunk_memory_offset(const sfd_trunk_memory_t *memory);

/* The job ends. NULL is accepted. */
void sfd_trunk_regions_release(sfd_trunk_regions_t *regions);

#endif
