/* Edge blocks of round 1: see round1_edges.h. The daemon's thread. */
#include "daemon/setup/round1_edges.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/memory.h"
#include "shm/base/error.h"
#include "shm/edges/edges.h"

/* ---- Checking ---- */

/* A block in the rank's inbox; blocks may have left more bytes. */
static sf_status_t check_in_inbox(const Sfproto__EdgeBlock *block, const sfd_rank_t *rank, int32_t group_rank,
                                  uint64_t left)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, block->segment);
  if (segment == NULL || segment->kind != SFSHM_REGION_INBOX)
    return sfshm_error(SF_ERR_PROTO,
                       "GraphCreate of group rank %d: block in segment %" PRIu64 ", which is no inbox of it",
                       group_rank, block->segment);
  if (block->length > left)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: more than %zu bytes of blocks in inboxes",
                       group_rank, SFSHM_EDGES_MAX_FETCHED);
  if (block->length == 0 || block->length > SFSHM_EDGES_MAX_COPIED || block->length > segment->length ||
      block->offset > segment->length - block->length)
    return sfshm_error(SF_ERR_PROTO,
                       "GraphCreate of group rank %d: block of %" PRIu64 " bytes at %" PRIu64 " in segment %" PRIu64
                       " of %" PRIu64 " bytes",
                       group_rank, block->length, block->offset, block->segment, segment->length);
  return SF_OK;
}

/* All blocks must be in the edge list, or all in inboxes. */
static sf_status_t check_places(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                                int32_t group_rank, int nfds)
{
  size_t in_inbox = 0;
  uint64_t left = group->nnodes > 1 ? SFSHM_EDGES_MAX_FETCHED : UINT64_MAX; /* the daemon may have to copy them */
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < create->n_blocks && status == SF_OK; i++) {
    if (!create->blocks[i]->has_segment)
      continue;
    status = check_in_inbox(create->blocks[i], rank, group_rank, left);
    left -= create->blocks[i]->length;
    in_inbox++;
  }
  if (status == SF_OK && in_inbox > 0 && in_inbox < create->n_blocks)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: %zu of %zu blocks in inboxes", group_rank, in_inbox,
                       create->n_blocks);
  if (status == SF_OK && nfds != (create->n_blocks > in_inbox ? 1 : 0))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: %zu blocks with %d descriptors", group_rank,
                       create->n_blocks, nfds);
  return status;
}

sf_status_t sfd_setup_edges_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                                  int32_t group_rank, const int fds[], int nfds)
{
  bool blocks = create->n_blocks > 0;
  if (create->error == NULL && (create->nroots < 0 || create->nleaves < 0))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: %" PRId64 " roots, %" PRId64 " leaves", group_rank,
                       create->nroots, create->nleaves);
  if (create->error != NULL && blocks)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: blocks beside an error", group_rank);
  sf_status_t status = check_places(create, rank, group, group_rank, nfds);
  if (status == SF_OK)
    status = sfd_edge_blocks_check("GraphCreate", create->blocks, create->n_blocks, create->nleaves, group->size,
                                   group_rank);
  if (status != SF_OK || nfds == 0)
    return status;
  return sfd_edge_blocks_check_list("GraphCreate", create->blocks, create->n_blocks, group_rank, fds[0]);
}

/* ---- Keeping ---- */

sf_status_t sfd_setup_edges_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member)
{
  sf_status_t status = sfd_edge_blocks_copy(create->blocks, create->n_blocks, &member->blocks);
  member->nblocks = status == SF_OK ? (int32_t)create->n_blocks : 0;
  return status;
}

void sfd_setup_edges_free(sfd_job_t *job, sfd_setup_member_t *member)
{
  free(member->blocks);
  member->blocks = NULL;
  member->nblocks = 0;
  sfd_job_close_fd(job, member->edges_fd);
  member->edges_fd = -1;
}
