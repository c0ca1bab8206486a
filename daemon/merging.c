/* Merging: see merging.h. The daemon's thread, except for sfd_merging_run, which may run in a worker thread. */
#include "daemon/merging.h"

#include <inttypes.h>
#include <stdlib.h>

#include "shm/error.h"
#include "shm/trunk.h"

/* Merging takes some 24 bytes an edge, also of ranks that only claim to have so many. */
#define MERGE_MAX_EDGES (INT64_C(1) << 28)

void sfd_merging_free(sfd_merging_t *merging)
{
  for (int32_t i = 0; i < merging->nlists; i++)
    sfshm_region_destroy(&merging->lists[i]);
  for (int32_t i = 0; i < merging->nwanted; i++)
    sfshm_merge_free(&merging->wanted[i].merge);
  free(merging->lists);
  free(merging->blocks);
  free(merging->wants);
  free(merging->wanted);
  free(merging);
}

static int compare_wants(const void *a, const void *b)
{
  const sfd_want_t *x = a, *y = b;
  if (x->node != y->node)
    return (x->node > y->node) - (x->node < y->node);
  if (x->owner != y->owner)
    return (x->owner > y->owner) - (x->owner < y->owner);
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Blocks of a member that lead to other nodes. */
static int32_t count_wants(const sfd_graph_t *graph, const sfd_setup_member_t *member)
{
  int32_t n = 0;
  for (int32_t b = 0; b < member->nblocks; b++)
    n += sfd_group_local(graph->group, member->blocks[b].rank) < 0;
  return n;
}

static sf_status_t add_member(sfd_merging_t *merging, const sfd_graph_t *graph, int32_t local)
{
  const sfd_group_t *group = graph->group;
  const sfd_setup_member_t *member = &graph->setup->members[local];
  if (count_wants(graph, member) == 0)
    return SF_OK;
  sfshm_region_t *list = &merging->lists[merging->nlists];
  sf_status_t status =
      sfshm_region_map(member->edges_fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, SFSHM_READ_ONLY, list);
  if (status != SF_OK)
    return status;
  merging->nlists++;
  for (int32_t b = 0; b < member->nblocks; b++) {
    const sfd_block_t *block = &member->blocks[b];
    if (sfd_group_local(group, block->rank) >= 0)
      continue;
    merging->blocks[merging->nwants] = *block;
    merging->wants[merging->nwants] =
        (sfd_want_t){.node = sfd_job_node_of(group->job, group->members[block->rank].rank),
                     .owner = block->rank,
                     .rank = group->locals[local],
                     .block = &merging->blocks[merging->nwants],
                     .list = list};
    merging->nwants++;
    merging->nedges = block->nedges > INT64_MAX - merging->nedges ? INT64_MAX : merging->nedges + block->nedges;
  }
  return SF_OK;
}

static void find_nodes(sfd_merging_t *merging)
{
  qsort(merging->wants, (size_t)merging->nwants, sizeof merging->wants[0], compare_wants);
  for (int32_t i = 0; i < merging->nwants; i++) {
    sfd_wanted_t *last = merging->nwanted > 0 ? &merging->wanted[merging->nwanted - 1] : NULL;
    if (last == NULL || last->node != merging->wants[i].node)
      merging->wanted[merging->nwanted++] = (sfd_wanted_t){.node = merging->wants[i].node, .first = i, .nwants = 1};
    else
      last->nwants++;
  }
}

sf_status_t sfd_merging_collect(sfd_graph_t *graph, sfd_merging_t **merging_p)
{
  int32_t n = 0, nlocals = graph->group->nlocals;
  for (int32_t i = 0; i < nlocals; i++)
    n += count_wants(graph, &graph->setup->members[i]);
  *merging_p = NULL;
  if (n == 0)
    return SF_OK;
  sfd_merging_t *merging = calloc(1, sizeof *merging);
  if (merging == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d blocks of edges", n);
  merging->graph = graph;
  merging->uncombined = (graph->setup->agreement.flags & SFSHM_GRAPH_UNCOMBINED) != 0;
  merging->lists = calloc((size_t)nlocals, sizeof merging->lists[0]);
  merging->blocks = calloc((size_t)n, sizeof merging->blocks[0]);
  merging->wants = calloc((size_t)n, sizeof merging->wants[0]);
  merging->wanted = calloc((size_t)n, sizeof merging->wanted[0]);
  sf_status_t status = SF_OK;
  if (merging->lists == NULL || merging->blocks == NULL || merging->wants == NULL || merging->wanted == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for %d blocks of edges", n);
  for (int32_t i = 0; i < nlocals && status == SF_OK; i++)
    status = add_member(merging, graph, i);
  if (status == SF_OK && merging->nedges > MERGE_MAX_EDGES)
    status =
        sfshm_error(SF_ERR_LIMIT, "%" PRId64 " edges between this node and others, at most %" PRId64 " are possible",
                    merging->nedges, MERGE_MAX_EDGES);
  if (status != SF_OK) {
    sfd_merging_free(merging);
    return status;
  }
  find_nodes(merging);
  *merging_p = merging;
  return SF_OK;
}

static sf_status_t merge_one(sfd_merging_t *merging, sfd_wanted_t *wanted)
{
  sfshm_merge_block_t *blocks = calloc((size_t)wanted->nwants, sizeof *blocks);
  sf_status_t status = blocks != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "merging %d blocks", wanted->nwants);
  for (int32_t i = 0; i < wanted->nwants && status == SF_OK; i++) {
    sfd_want_t *want = &merging->wants[wanted->first + i];
    int64_t leaf, root;
    blocks[i] = (sfshm_merge_block_t){want->owner, want->rank, &want->edges};
    status = sfshm_edges_open(want->list, want->block->offset, want->block->nedges, want->block->nvalues, INT64_MAX,
                              &want->edges, &leaf, &root);
  }
  if (status == SF_OK)
    status = sfshm_merge_make(blocks, wanted->nwants, merging->uncombined, &wanted->merge);
  for (int32_t i = 0; i < wanted->nwants; i++)
    sfshm_edges_close(&merging->wants[wanted->first + i].edges);
  free(blocks);
  return status;
}

void sfd_merging_run(uv_work_t *work)
{
  sfd_merging_t *merging = work->data;
  for (int32_t i = 0; i < merging->nwanted && merging->status == SF_OK; i++)
    merging->status = merge_one(merging, &merging->wanted[i]);
  if (merging->status != SF_OK)
    sfd_text_printable(merging->detail, sizeof merging->detail, sfshm_error_detail());
}
