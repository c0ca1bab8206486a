/* Edge blocks: see edge_block.h. The daemon's thread. */
#include "daemon/data/edge_block.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/jobs.h"
#include "shm/base/error.h"
#include "shm/region/region.h"

static sf_status_t check_block(const char *what, const Sfproto__EdgeBlock *block, int32_t previous, int32_t size,
                               int32_t group_rank)
{
  if (block->rank < 0 || block->rank >= size || block->rank == group_rank)
    return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: block for rank %d of a group of %d", what, group_rank,
                       block->rank, size);
  if (block->rank <= previous)
    return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: block for rank %d after that for rank %d", what, group_rank,
                       block->rank, previous);
  if (block->nedges < 1 || block->nvalues < 1 || block->nvalues > block->nedges)
    return sfshm_error(SF_ERR_PROTO,
                       "%s of group rank %d: block for rank %d with %" PRId64 " edges and %" PRId64 " values", what,
                       group_rank, block->rank, block->nedges, block->nvalues);
  return SF_OK;
}

sf_status_t sfd_edge_blocks_check(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n, int64_t nleaves,
                                  int32_t size, int32_t group_rank)
{
  int64_t left = nleaves;
  int32_t previous = -1;
  for (size_t i = 0; i < n; i++) {
    sf_status_t status = check_block(what, blocks[i], previous, size, group_rank);
    if (status != SF_OK)
      return status;
    if (blocks[i]->nedges > left)
      return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: blocks of more than its %" PRId64 " leaves", what,
                         group_rank, nleaves);
    left -= blocks[i]->nedges;
    previous = blocks[i]->rank;
  }
  return SF_OK;
}

sf_status_t sfd_edge_blocks_check_list(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n,
                                       int32_t group_rank, int fd)
{
  size_t length;
  sf_status_t status = sfshm_region_verify(fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, &length);
  for (size_t i = 0; i < n && status == SF_OK; i++)
    if (blocks[i]->offset >= length)
      status = sfshm_error(SF_ERR_PROTO, "%s of group rank %d: block at %" PRIu64 " of %zu bytes", what, group_rank,
                           blocks[i]->offset, length);
  return status;
}

sf_status_t sfd_edge_blocks_copy(Sfproto__EdgeBlock *const blocks[], size_t n, sfd_edge_block_t **blocks_p)
{
  *blocks_p = NULL;
  if (n == 0)
    return SF_OK;
  sfd_edge_block_t *copies = calloc(n, sizeof *copies);
  if (copies == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu edge blocks", n);
  for (size_t i = 0; i < n; i++) {
    const Sfproto__EdgeBlock *block = blocks[i];
    copies[i] = (sfd_edge_block_t){.rank = block->rank,
                                   .offset = block->offset,
                                   .nedges = block->nedges,
                                   .nvalues = block->nvalues,
                                   .root_max = block->has_root_max ? block->root_max : -1,
                                   .segment = block->has_segment ? block->segment : 0,
                                   .length = block->has_segment ? block->length : 0};
  }
  *blocks_p = copies;
  return SF_OK;
}
