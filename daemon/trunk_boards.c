/* Memory for trunk boards: see trunk_boards.h. The daemon's thread. */
#include "daemon/trunk_boards.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shm/error.h"

#define PAGES 16u /* of an ordinary region, the first of which is for the header */

typedef struct sfd_board_region {
  struct sfd_board_region *next;
  uint64_t number;
  uint64_t used; /* bits; of a region for one large board all or none, beside the header's */
  sfshm_region_t region;
} sfd_board_region_t;

struct sfd_trunk_boards {
  sfd_server_t *server;
  sfd_job_t *job;   /* for which descriptors are counted; NULL: it is over */
  int32_t nholders; /* the job, and each board */
  sfd_board_region_t *regions;
};

static sfd_trunk_boards_t *boards_of(sfd_job_t *job)
{
  if (job->trunk_boards == NULL) {
    job->trunk_boards = calloc(1, sizeof *job->trunk_boards);
    if (job->trunk_boards != NULL)
      *job->trunk_boards = (sfd_trunk_boards_t){.server = job->server, .job = job, .nholders = 1};
  }
  return job->trunk_boards;
}

static void release(sfd_trunk_boards_t *boards)
{
  if (--boards->nholders > 0)
    return;
  while (boards->regions != NULL) {
    sfd_board_region_t *region = boards->regions;
    boards->regions = region->next;
    sfshm_region_destroy(&region->region);
    sfd_job_drop_fd(boards->server, boards->job);
    free(region);
  }
  free(boards);
}

void sfd_trunk_boards_let_go(sfd_trunk_boards_t *boards)
{
  if (boards == NULL)
    return;
  boards->job = NULL;
  release(boards);
}

static bool is_large(size_t pages)
{
  return pages > PAGES - 1;
}

/* The first n pages in a row that are not used, or 0. */
static uint64_t find_pages(uint64_t used, size_t n)
{
  uint64_t row = (UINT64_C(1) << n) - 1;
  for (size_t first = 1; first + n <= PAGES; first++)
    if ((used & row << first) == 0)
      return row << first;
  return 0;
}

static uint64_t find_room(const sfd_board_region_t *region, size_t pages)
{
  size_t room = region->region.length_bytes / sfshm_page_bytes() - 1;
  if (!is_large(pages))
    return is_large(room) ? 0 : find_pages(region->used, pages);
  return is_large(room) && region->used == 1 && pages <= room ? UINT64_MAX - 1 : 0;
}

static sf_status_t add_region(sfd_job_t *job, sfd_trunk_boards_t *boards, size_t pages)
{
  size_t length = (is_large(pages) ? pages + 1 : PAGES) * sfshm_page_bytes();
  sfd_board_region_t *region = calloc(1, sizeof *region);
  if (region == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for trunk boards");
  sf_status_t status = sfd_job_hold_fd(job);
  if (status != SF_OK)
    goto err_free;
  status = sfshm_region_create("sf-trunk-boards", SFSHM_REGION_TRUNK_BOARD, length, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL,
                               &region->region);
  if (status != SF_OK)
    goto err_fd;
  region->number = sfd_server_new_serial(job->server);
  region->used = 1;
  region->next = boards->regions;
  boards->regions = region;
  return SF_OK;
err_fd:
  sfd_job_drop_fd(job->server, job);
err_free:
  free(region);
  return status;
}

static void take(sfd_trunk_boards_t *boards, sfd_board_region_t *region, uint64_t pages, size_t bytes,
                 sfd_trunk_board_t *board_p)
{
  *board_p = (sfd_trunk_board_t){.boards = boards, .region = region, .pages = pages};
  region->used |= pages;
  boards->nholders++;
  board_p->memory = (sfshm_trunk_board_t *)(void *)((char *)region->region.base + sfd_trunk_board_offset(board_p));
  memset(board_p->memory, 0, bytes);
}

sf_status_t sfd_trunk_board_take(sfd_job_t *job, uint32_t nsides, sfd_trunk_board_t *board_p)
{
  size_t bytes = sfshm_trunk_board_bytes(nsides), pages = (bytes + sfshm_page_bytes() - 1) / sfshm_page_bytes();
  sfd_trunk_boards_t *boards = boards_of(job);
  if (boards == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for trunk boards");
  sfd_board_region_t *region = boards->regions;
  while (region != NULL && find_room(region, pages) == 0)
    region = region->next;
  if (region == NULL) {
    sf_status_t status = add_region(job, boards, pages);
    if (status != SF_OK)
      return status;
    region = boards->regions; /* the new one, with room for it */
  }
  take(boards, region, find_room(region, pages), bytes, board_p);
  return SF_OK;
}

void sfd_trunk_board_give(sfd_trunk_board_t *board)
{
  if (board->memory == NULL)
    return;
  board->region->used &= ~board->pages;
  release(board->boards);
  *board = (sfd_trunk_board_t){.memory = NULL};
}

uint64_t sfd_trunk_board_region(const sfd_trunk_board_t *board)
{
  return board->region->number;
}

int sfd_trunk_board_fd(const sfd_trunk_board_t *board)
{
  return board->region->region.fd;
}

uint64_t sfd_trunk_board_offset(const sfd_trunk_board_t *board)
{
  return (uint64_t)__builtin_ctzll(board->pages) * sfshm_page_bytes();
}
