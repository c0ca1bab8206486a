/* Pool of shared regions for the trunk maps and boards of a job's graphs. A region serves one graph after another:
 * creating it takes longer than writing a map, and ranks keep it mapped. A map has its own region; small boards share
 * regions, in pages of their own, which ranks can pin. SFSHM_TRUNK_IDLE limits the unused regions of each kind. The
 * pool is freed after the job and all messages under way. The daemon's thread. */
#ifndef SFD_DATA_TRUNK_REGIONS_H
#define SFD_DATA_TRUNK_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/jobs.h"
#include "shm/region/region.h"

typedef struct sfd_trunk_regions sfd_trunk_regions_t;
typedef struct sfd_trunk_region sfd_trunk_region_t;

/* Memory of a map or board. */
typedef struct sfd_trunk_memory {
  void *base; /* NULL: none */
  size_t length_bytes;
  sfd_trunk_region_t *region; /* NULL: base is private memory, freed when given back */
  uint64_t parts;             /* bits of the region's parts */
} sfd_trunk_memory_t;

/* A map of at least length_bytes with these pieces: see sfshm_region_compose. */
sf_status_t sfd_trunk_regions_take_map(sfd_job_t *job, const sfshm_region_piece_t pieces[], size_t npieces,
                                       size_t length_bytes, sfd_trunk_memory_t *memory_p);

/* Zeroed memory of a board. */
sf_status_t sfd_trunk_regions_take_board(sfd_job_t *job, size_t length_bytes, sfd_trunk_memory_t *memory_p);

/* Gives memory back that no rank uses any more. Zeroed *memory is accepted. */
void sfd_trunk_regions_give(sfd_trunk_memory_t *memory);

/* Number, descriptor (-1: private memory) and offset, by which ranks map the memory. */
uint64_t sfd_trunk_memory_number(const sfd_trunk_memory_t *memory);
int sfd_trunk_memory_fd(const sfd_trunk_memory_t *memory);
uint64_t sfd_trunk_memory_offset(const sfd_trunk_memory_t *memory);

/* The job ends. NULL is accepted. */
void sfd_trunk_regions_release(sfd_trunk_regions_t *regions);

#endif
