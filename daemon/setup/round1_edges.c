/* Round 1: checking and keeping edge blocks. The daemon's thread. */
#include "daemon/setup/round1_edges.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/memory/segment.h"
#include "shm/base/error.h"
#include "shm/edges/edges.h"

/* ---- Checking ---- */

static sf_status_t check_block(const char *what, const Sfproto__EdgeBlock *block, int32_t previous, int32_t size,
                               int32_t place)
{
  if (block->rank < 0 || block->rank >= size || block->rank == place)
    return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: block for rank %d of a group of %d", what, place,
                       block->rank, size);
  if (block->rank <= previous)
    return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: block for rank %d after that for rank %d", what, place,
                       block->rank, previous);
  if (block->nedges < 1 || block->nvalues < 1 || block->nvalues > block->nedges)
    return sfshm_error(SF_ERR_PROTO,
                       "%s of group rank %d: block for rank %d with %" PRId64 " edges and %" PRId64 " values", what,
                       place, block->rank, block->nedges, block->nvalues);
  return SF_OK;
}

sf_status_t sfd_peers_check_blocks(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n, int64_t nleaves,
                                   int32_t size, int32_t place)
{
  int64_t left = nleaves;
  int32_t previous = -1;
  for (size_t i = 0; i < n; i++) {
    sf_status_t status = check_block(what, blocks[i], previous, size, place);
    if (status != SF_OK)
      return status;
    if (blocks[i]->nedges > left)
      return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: blocks of more than its %" PRId64 " leaves", what, place,
                         nleaves);
    left -= blocks[i]->nedges;
    previous = blocks[i]->rank;
  }
  return SF_OK;
}

/* A block in the rank's inbox; so much of such blocks may still come. */
static sf_status_t check_in_inbox(const Sfproto__EdgeBlock *block, const sfd_rank_t *rank, int32_t place, uint64_t left)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, block->segment);
  if (segment == NULL || !segment->inbox)
    return sfshm_error(SF_ERR_PROTO,
                       "GraphCreate of group rank %d: block in segment %" PRIu64 ", which is no inbox of it", place,
                       block->segment);
  if (block->length > left)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: more than %zu bytes of blocks in inboxes", place,
                       SFSHM_EDGES_MAX_FETCHED);
  if (block->length == 0 || block->length > SFSHM_EDGES_MAX_COPIED || block->length > segment->length ||
      block->offset > segment->length - block->length)
    return sfshm_error(SF_ERR_PROTO,
                       "GraphCreate of group rank %d: block of %" PRIu64 " bytes at %" PRIu64 " in segment %" PRIu64
                       " of %" PRIu64 " bytes",
                       place, block->length, block->offset, block->segment, segment->length);
  return SF_OK;
}

/* All blocks are in the edge list, or all in inboxes. */
static sf_status_t check_places(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                                int32_t place, int nfds)
{
  size_t in_inbox = 0;
  uint64_t left = group->nnodes > 1 ? SFSHM_EDGES_MAX_FETCHED : UINT64_MAX; /* the daemon may have to copy them */
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < create->n_blocks && status == SF_OK; i++) {
    if (!create->blocks[i]->has_segment)
      continue;
    status = check_in_inbox(create->blocks[i], rank, place, left);
    left -= create->blocks[i]->length;
    in_inbox++;
  }
  if (status == SF_OK && in_inbox > 0 && in_inbox < create->n_blocks)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: %zu of %zu blocks in inboxes", place, in_inbox,
                       create->n_blocks);
  if (status == SF_OK && nfds != (create->n_blocks > in_inbox ? 1 : 0))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: %zu blocks with %d descriptors", place,
                       create->n_blocks, nfds);
  return status;
}

sf_status_t sfd_peers_check_list(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n, int32_t place, int fd)
{
  size_t length;
  sf_status_t status = sfshm_region_verify(fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, &length);
  for (size_t i = 0; i < n && status == SF_OK; i++)
    if (blocks[i]->offset >= length)
      status = sfshm_error(SF_ERR_PROTO, "%s of group rank %d: block at %" PRIu64 " of %zu bytes", what, place,
                           blocks[i]->offset, length);
  return status;
}

sf_status_t sfd_peers_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                            int32_t place, const int fds[], int nfds)
{
  bool blocks = create->n_blocks > 0;
  if (create->error == NULL && (create->nroots < 0 || create->nleaves < 0))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: %" PRId64 " roots, %" PRId64 " leaves", place,
                       create->nroots, create->nleaves);
  if (create->error != NULL && blocks)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: blocks beside an error", place);
  sf_status_t status = check_places(create, rank, group, place, nfds);
  if (status == SF_OK)
    status =
        sfd_peers_check_blocks("GraphCreate", create->blocks, create->n_blocks, create->nleaves, group->size, place);
  if (status != SF_OK || nfds == 0)
    return status;
  return sfd_peers_check_list("GraphCreate", create->blocks, create->n_blocks, place, fds[0]);
}

/* ---- Keeping ---- */

sf_status_t sfd_peers_copy_blocks(Sfproto__EdgeBlock *const blocks[], size_t n, sfd_block_t **blocks_p)
{
  *blocks_p = NULL;
  if (n == 0)
    return SF_OK;
  sfd_block_t *copies = calloc(n, sizeof *copies);
  if (copies == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu edge blocks", n);
  for (size_t i = 0; i < n; i++) {
    const Sfproto__EdgeBlock *block = blocks[i];
    copies[i] = (sfd_block_t){.rank = block->rank,
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

sf_status_t sfd_peers_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member)
{
  sf_status_t status = sfd_peers_copy_blocks(create->blocks, create->n_blocks, &member->blocks);
  member->nblocks = status == SF_OK ? (int32_t)create->n_blocks : 0;
  return status;
}

void sfd_peers_free(sfd_job_t *job, sfd_setup_member_t *member)
{
  free(member->blocks);
  member->blocks = NULL;
  member->nblocks = 0;
  sfd_job_close_fd(job, member->edges_fd);
  member->edges_fd = -1;
}
