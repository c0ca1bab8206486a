/* Edge blocks: the edges of a rank's list that lead to roots of one other rank. Checks and copies of their
 * descriptions. */
#ifndef SFD_DATA_EDGE_BLOCK_H
#define SFD_DATA_EDGE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

/* Edges from one rank to the roots of another. */
typedef struct sfd_edge_block {
  int32_t rank; /* group rank of the roots' owner */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
  int64_t root_max; /* highest root index according to the rank; -1: not given */
  uint64_t segment; /* inbox of the rank that has the block, at offset; */
  uint64_t length;  /* 0: the block is in the edge list */
} sfd_edge_block_t;

/* Checks the blocks of the named message, of a group rank with so many leaves. SF_ERR_PROTO. */
sf_status_t sfd_edge_blocks_check(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n, int64_t nleaves,
                                  int32_t size, int32_t group_rank);

/* Checks the sealed edge list that has the blocks. */
sf_status_t sfd_edge_blocks_check_list(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n,
                                       int32_t group_rank, int fd);

/* Copies the blocks; *blocks_p: malloc, NULL without blocks. SF_ERR_NOMEM. */
sf_status_t sfd_edge_blocks_copy(Sfproto__EdgeBlock *const blocks[], size_t n, sfd_edge_block_t **blocks_p);

#endif
