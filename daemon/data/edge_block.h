/* Blocks of an edge list, one for each rank to whose roots the edges of a rank lead: checking and copying them. */
#ifndef SFD_DATA_EDGE_BLOCK_H
#define SFD_DATA_EDGE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

/* Edges that lead from one rank to one root rank, in its edge list. */
typedef struct sfd_edge_block {
  int32_t rank; /* of the group */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
  int64_t root_max; /* as the rank says; -1: it does not */
  uint64_t segment; /* an inbox of the rank in which the block is, at offset; */
  uint64_t length;  /* 0: it is in the edge list */
} sfd_edge_block_t;

/* Checks the blocks that a message, which is named, has of a rank with so many leaves at that place of a group of that
 * size. SF_ERR_PROTO. */
sf_status_t sfd_edge_blocks_check(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n, int64_t nleaves,
                                  int32_t size, int32_t group_rank);

/* Checks the sealed edge list in which they lie. */
sf_status_t sfd_edge_blocks_check_list(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n,
                                       int32_t group_rank, int fd);

/* Copies blocks; SF_ERR_NOMEM. *blocks_p: malloc, NULL without blocks. */
sf_status_t sfd_edge_blocks_copy(Sfproto__EdgeBlock *const blocks[], size_t n, sfd_edge_block_t **blocks_p);

#endif
