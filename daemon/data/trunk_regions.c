/* Pool of regions: see trunk_regions.h. The daemon's thread. */
#include "daemon/data/trunk_regions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "shm/base/error.h"
#include "shm/trunk/trunk.h"

#define BOARD_PARTS 16u /* of a region for boards; the first one has the header */
#define SLACK 16        /* the region of a map is longer than its first map by 1/16 */

typedef enum kind { MAP, BOARDS } kind_t;

/* A region is used in parts: one part for a map; for boards BOARD_PARTS parts of at least one page. */
struct sfd_trunk_region {
  TAILQ_ENTRY(sfd_trunk_region) entry;
  sfd_trunk_regions_t *pool;
  kind_t kind;
  uint64_t number;
  size_t part_bytes;
  uint64_t used; /* bits of parts, without the header's */
  sfshm_region_t region;
};

struct sfd_trunk_regions {
  sfd_server_t *server;
  sfd_job_t *job;                            /* counts the descriptor; NULL: the job has ended */
  int32_t nholders;                          /* the job, and each map and board */
  TAILQ_HEAD(, sfd_trunk_region) regions[2]; /* by kind; the last created or given back first */
};

static void destroy(sfd_trunk_region_t *region)
{
  sfd_trunk_regions_t *pool = region->pool;
  TAILQ_REMOVE(&pool->regions[region->kind], region, entry);
  sfshm_region_destroy(&region->region);
  sfd_job_drop_fd(pool->server, pool->job);
  free(region);
}

static void release(sfd_trunk_regions_t *pool)
{
  if (--pool->nholders > 0)
    return;
  for (kind_t kind = MAP; kind <= BOARDS; kind++)
    while (!TAILQ_EMPTY(&pool->regions[kind]))
      destroy(TAILQ_FIRST(&pool->regions[kind]));
  free(pool);
}

void sfd_trunk_regions_release(sfd_trunk_regions_t *pool)
{
  if (pool == NULL)
    return;
  pool->job = NULL;
  release(pool);
}

/* ---- Taking ------------------------------------------------------------------------------------------------------ */

static size_t divide_up(size_t bytes, size_t by)
{
  return (bytes + by - 1) / by;
}

/* The first unused parts in a row with so many bytes, or 0. A map must need half of its region. */
static uint64_t find_parts(const sfd_trunk_region_t *region, size_t bytes)
{
  size_t n = divide_up(bytes, region->part_bytes);
  if (region->kind == MAP)
    return region->used == 0 && n == 1 && bytes >= region->part_bytes / 2 ? 1 : 0;
  for (size_t first = 1; first + n <= BOARD_PARTS; first++) {
    uint64_t row = ((UINT64_C(1) << n) - 1) << first;
    if ((region->used & row) == 0)
      return row;
  }
  return 0;
}

/* The shortest region that fits, or NULL. */
static sfd_trunk_region_t *find_region(const sfd_trunk_regions_t *pool, kind_t kind, size_t bytes)
{
  sfd_trunk_region_t *found = NULL, *region;
  TAILQ_FOREACH (region, &pool->regions[kind], entry)
    if (find_parts(region, bytes) != 0 && (found == NULL || region->part_bytes < found->part_bytes))
      found = region;
  return found;
}

static sf_status_t create(sfd_trunk_region_t *region, const sfshm_region_piece_t pieces[], size_t npieces, size_t bytes)
{
  sf_status_t status;
  if (region->kind == MAP) {
    status = sfshm_region_compose("sf-trunks", SFSHM_REGION_TRUNK_MAP, pieces, npieces, bytes + bytes / SLACK,
                                  &region->region);
    region->part_bytes = region->region.length_bytes;
  } else {
    region->part_bytes = divide_up(bytes, (BOARD_PARTS - 1) * sfshm_page_bytes()) * sfshm_page_bytes();
    status = sfshm_region_create("sf-trunk-boards", SFSHM_REGION_TRUNK_BOARD, BOARD_PARTS * region->part_bytes,
                                 SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL, &region->region);
  }
  return status;
}

static sf_status_t add_region(sfd_trunk_regions_t *pool, kind_t kind, const sfshm_region_piece_t pieces[],
                              size_t npieces, size_t bytes)
{
  sfd_trunk_region_t *region = calloc(1, sizeof *region);
  if (region == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a region of trunks");
  region->pool = pool;
  region->kind = kind;
  region->number = sfd_server_new_serial(pool->server);
  sf_status_t status = sfd_job_hold_fd(pool->job);
  if (status != SF_OK)
    goto err_free;
  status = create(region, pieces, npieces, bytes);
  if (status != SF_OK)
    goto err_fd;
  TAILQ_INSERT_HEAD(&pool->regions[kind], region, entry);
  return SF_OK;
err_fd:
  sfd_job_drop_fd(pool->server, pool->job);
err_free:
  free(region);
  return status;
}

static sfd_trunk_regions_t *pool_of(sfd_job_t *job)
{
  sfd_trunk_regions_t *pool = job->trunk_regions;
  if (pool == NULL && (pool = calloc(1, sizeof *pool)) != NULL) {
    *pool = (sfd_trunk_regions_t){.server = job->server, .job = job, .nholders = 1};
    TAILQ_INIT(&pool->regions[MAP]);
    TAILQ_INIT(&pool->regions[BOARDS]);
    job->trunk_regions = pool;
  }
  return pool;
}

static sf_status_t take(sfd_job_t *job, kind_t kind, const sfshm_region_piece_t pieces[], size_t npieces, size_t bytes,
                        sfd_trunk_memory_t *memory_p)
{
  sfd_trunk_regions_t *pool = pool_of(job);
  if (pool == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the regions of trunks");
  sfd_trunk_region_t *region = find_region(pool, kind, bytes);
  if (region != NULL) {
    if (kind == MAP)
      sfshm_region_recompose(&region->region, pieces, npieces);
  } else {
    sf_status_t status = add_region(pool, kind, pieces, npieces, bytes);
    if (status != SF_OK)
      return status;
    region = TAILQ_FIRST(&pool->regions[kind]);
  }
  uint64_t parts = find_parts(region, bytes);
  pool->nholders++;
  region->used |= parts;
  *memory_p = (sfd_trunk_memory_t){.length_bytes = bytes, .region = region, .parts = parts};
  memory_p->base = (char *)region->region.base + sfd_trunk_memory_offset(memory_p);
  return SF_OK;
}

sf_status_t sfd_trunk_regions_take_map(sfd_job_t *job, const sfshm_region_piece_t pieces[], size_t npieces,
                                       size_t length_bytes, sfd_trunk_memory_t *memory_p)
{
  size_t page = sfshm_page_bytes();
  return take(job, MAP, pieces, npieces, divide_up(length_bytes, page) * page, memory_p);
}

sf_status_t sfd_trunk_regions_take_board(sfd_job_t *job, size_t length_bytes, sfd_trunk_memory_t *memory_p)
{
  sf_status_t status = take(job, BOARDS, NULL, 0, length_bytes, memory_p);
  if (status == SF_OK)
    memset(memory_p->base, 0, length_bytes);
  return status;
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

/* An unused region beyond the limit, or too long, or NULL. */
static sfd_trunk_region_t *find_superfluous(const sfd_trunk_regions_t *pool, kind_t kind)
{
  sfd_trunk_region_t *region;
  size_t nidle = 0, bytes = 0;
  TAILQ_FOREACH (region, &pool->regions[kind], entry)
    if (region->used == 0 &&
        (++nidle > SFSHM_TRUNK_IDLE || (bytes += region->region.length_bytes) > SFSHM_TRUNK_IDLE_BYTES))
      break;
  return region;
}

void sfd_trunk_regions_give(sfd_trunk_memory_t *memory)
{
  sfd_trunk_region_t *region = memory->region;
  if (region != NULL) {
    sfd_trunk_regions_t *pool = region->pool;
    kind_t kind = region->kind;
    region->used &= ~memory->parts;
    TAILQ_REMOVE(&pool->regions[kind], region, entry);
    TAILQ_INSERT_HEAD(&pool->regions[kind], region, entry);
    while ((region = find_superfluous(pool, kind)) != NULL)
      destroy(region);
    release(pool);
  } else {
    free(memory->base);
  }
  *memory = (sfd_trunk_memory_t){.base = NULL};
}

/* ---- Where it is ------------------------------------------------------------------------------------------------- */

uint64_t sfd_trunk_memory_number(const sfd_trunk_memory_t *memory)
{
  return memory->region->number;
}

int sfd_trunk_memory_fd(const sfd_trunk_memory_t *memory)
{
  return memory->region != NULL ? memory->region->region.fd : -1;
}

uint64_t sfd_trunk_memory_offset(const sfd_trunk_memory_t *memory)
{
  return (uint64_t)__builtin_ctzll(memory->parts) * memory->region->part_bytes;
}
