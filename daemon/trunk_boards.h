/* Memory for the trunk boards of a job's graphs: regions that serve one graph after another, so that making a graph
 * costs no region, and ranks map each region once. A region lives as long as the job, and as messages that are under
 * way for one of its graphs. */
#ifndef SFD_TRUNK_BOARDS_H
#define SFD_TRUNK_BOARDS_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/job.h"
#include "shm/trunk.h"

typedef struct sfd_trunk_boards sfd_trunk_boards_t;

/* The board of one graph. */
typedef struct sfd_trunk_board {
  sfshm_trunk_board_t *memory; /* NULL: none */
  sfd_trunk_boards_t *boards;
  struct sfd_board_region *region;
  uint64_t pages; /* of the region, as bits */
} sfd_trunk_board_t;

/* A board of so many sides, zeroed, in pages of its own, so that ranks can pin it. SF_ERR_NOMEM. */
sf_status_t sfd_trunk_board_take(sfd_job_t *job, uint32_t nsides, sfd_trunk_board_t *board_p);

/* Gives it back: nobody touches it any more. Accepts what is zeroed. */
void sfd_trunk_board_give(sfd_trunk_board_t *board);

/* Where it is: number and descriptor of the region, and the offset there. */
uint64_t sfd_trunk_board_region(const sfd_trunk_board_t *board);
int sfd_trunk_board_fd(const sfd_trunk_board_t *board);
uint64_t sfd_trunk_board_offset(const sfd_trunk_board_t *board);

/* The job ends. NULL is accepted. */
void sfd_trunk_boards_let_go(sfd_trunk_boards_t *boards);

#endif
