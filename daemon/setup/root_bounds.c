/* Search for edges without root, for error texts: see root_bounds.h. Ranks send root_max per block; edge lists are read
 * only if that is too high. */
#include "daemon/setup/root_bounds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/memory.h"
#include "shm/base/error.h"
#include "shm/edges/edges.h"

static void note_lowest(sfd_setup_t *setup, int32_t rank, const sfd_edge_block_t *block, const sfshm_region_t *list,
                        int64_t nroots)
{
  sfshm_edges_t edges;
  int64_t leaf, root;
  char text[SFD_TEXT_SIZE];
  sf_status_t status =
      sfshm_edges_open(list, block->offset, block->nedges, block->nvalues, nroots, &edges, &leaf, &root);
  if (status == SF_OK)
    sfshm_edges_close(&edges);
  if (status != SF_ERR_RANGE)
    return; /* readers of the list report other errors */
  snprintf(text, sizeof text,
           "sf_graph_create: rank %d, leaf %" PRId64 ": root index %" PRId64 " on rank %d, which has %" PRId64 " roots",
           rank, leaf, root, block->rank, nroots);
  sfd_setup_note_error(setup, SF_ERR_RANGE, rank, leaf, text);
}

/* Copies a block from an inbox to which its rank may be writing. */
static sf_status_t copy_block(const sfd_rank_t *rank, const sfd_edge_block_t *block, sfshm_region_t *copy)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, block->segment);
  if (segment == NULL)
    return SF_ERR_NOT_FOUND;
  void *memory = malloc(block->length);
  if (memory == NULL)
    return SF_ERR_NOMEM;
  sf_status_t status = sfshm_read(segment->fd, block->offset, block->length, memory);
  if (status == SF_OK)
    *copy = (sfshm_region_t){.fd = -1, .base = memory, .length_bytes = block->length};
  else
    free(memory);
  return status;
}

void sfd_root_bounds_note_bad(sfd_graph_t *graph, int32_t local, const sfd_edge_block_t *block, int64_t nroots,
                              sfshm_region_t *list)
{
  const sfd_setup_member_t *member = &graph->setup->members[local];
  int32_t group_rank = graph->group->locals[local];
  sfshm_region_t copy;
  if (block->length == 0) {
    if (list->base != NULL ||
        sfshm_region_map(member->edges_fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, SFSHM_READ_ONLY, list) == SF_OK)
      note_lowest(graph->setup, group_rank, block, list, nroots);
  } else if (copy_block(sfd_group_member(graph->group, group_rank), block, &copy) == SF_OK) {
    sfd_edge_block_t copied = *block;
    copied.offset = 0;
    note_lowest(graph->setup, group_rank, &copied, &copy, nroots);
    free(copy.base);
  }
}

static void check_member(sfd_graph_t *graph, int32_t local)
{
  const sfd_setup_member_t *members = graph->setup->members;
  sfshm_region_t list = {.fd = -1};
  for (int32_t b = 0; b < members[local].nblocks; b++) {
    const sfd_edge_block_t *block = &members[local].blocks[b];
    int32_t owner = sfd_group_local(graph->group, block->rank);
    if (owner >= 0 && !members[owner].wrong && block->root_max >= members[owner].nroots)
      sfd_root_bounds_note_bad(graph, local, block, members[owner].nroots, &list);
  }
  if (list.base != NULL)
    sfshm_region_destroy(&list);
}

bool sfd_root_bounds_are_there(const sfd_graph_t *graph)
{
  const sfd_setup_member_t *members = graph->setup->members;
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    for (int32_t b = 0; b < members[i].nblocks; b++) {
      const sfd_edge_block_t *block = &members[i].blocks[b];
      int32_t owner = sfd_group_local(graph->group, block->rank);
      if (owner >= 0 && (block->root_max < 0 || block->root_max >= members[owner].nroots))
        return false;
    }
  return true;
}

void sfd_root_bounds_check_local(sfd_graph_t *graph)
{
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    check_member(graph, i);
}
