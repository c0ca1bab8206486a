/* Root merge: see root_merge.h. The daemon's thread; sfd_root_merge_run may run in a worker thread. */
#include "daemon/setup/root_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/memory.h"
#include "shm/base/error.h"
#include "shm/trunk/trunk.h"

/* merging takes about 24 bytes per edge that a rank claims to have */
#define MERGE_MAX_EDGES (INT64_C(1) << 28)

#define BLOCK_ALIGN 64u

static void free_list(sfd_root_merge_list_t *list)
{
  sfshm_region_destroy(&list->region);
  free(list->copy);
}

void sfd_root_merge_free(sfd_root_merge_t *merging)
{
  for (int32_t i = 0; i < merging->nlists; i++)
    free_list(&merging->lists[i]);
  for (int32_t i = 0; i < merging->ntargets; i++) {
    sfshm_merge_free(&merging->targets[i].merge);
    free(merging->targets[i].blocks);
  }
  for (int32_t i = 0; i < merging->nremote; i++)
    sfshm_edges_close(&merging->remote[i].edges);
  free(merging->lists);
  free(merging->blocks);
  free(merging->remote);
  free(merging->targets);
  free(merging);
}

static int compare_blocks(const void *a, const void *b)
{
  const sfd_root_merge_block_t *x = a, *y = b;
  if (x->node != y->node)
    return (x->node > y->node) - (x->node < y->node);
  if (x->owner != y->owner)
    return (x->owner > y->owner) - (x->owner < y->owner);
  return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool is_remote(const sfd_graph_t *graph, const sfd_edge_block_t *block)
{
  return sfd_group_local(graph->group, block->rank) < 0;
}

/* Number of blocks that lead to other nodes. */
static int32_t count_remote(const sfd_graph_t *graph, const sfd_setup_member_t *member)
{
  int32_t n = 0;
  for (int32_t b = 0; b < member->nblocks; b++)
    n += is_remote(graph, &member->blocks[b]);
  return n;
}

static uint64_t align(uint64_t bytes)
{
  return (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
}

/* Bytes of a block that merging reads, or more: all but the array of its leaves, which is the last one. */
static uint64_t needed_bytes(const sfd_edge_block_t *block)
{
  uint64_t width = block->root_max >= 0 && block->root_max <= UINT32_MAX ? sizeof(uint32_t) : sizeof(int64_t);
  uint64_t nvalues = (uint64_t)block->nvalues, nextras = (uint64_t)block->nedges - nvalues;
  if (nvalues > block->length || nextras > block->length)
    return block->length;
  uint64_t bytes = align(sizeof(sfshm_edge_block_t)) + align(nvalues * width) + 2 * align(nextras * sizeof(int64_t));
  return bytes < block->length ? bytes : block->length;
}

/* Copies a block without leaves from an inbox, to which its rank may be writing. */
static sf_status_t copy_block(const sfd_rank_t *rank, const sfd_edge_block_t *block, sfshm_region_t *copy)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, block->segment);
  sfshm_edge_block_t *head = copy->base;
  copy->length_bytes = needed_bytes(block);
  if (segment == NULL)
    return sfshm_error(SF_ERR_NOT_FOUND, "the inbox of rank %d is gone", rank->number);
  if (copy->length_bytes < sizeof *head)
    return sfshm_error(SF_ERR_PROTO, "edge list of rank %d: a block of %zu bytes", rank->number, copy->length_bytes);
  sf_status_t status = sfshm_read(segment->fd, block->offset, copy->length_bytes, head);
  if (status != SF_OK)
    return status;
  head->leaf = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_CONTIGUOUS, .n = head->leaf.n};
  head->extra_edge =
      (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_CONTIGUOUS, .n = head->extra_edge.n, .start = head->value_root.n};
  return SF_OK;
}

/* Maps the member's list, or makes room for copies of the blocks that lead to other nodes. */
static sf_status_t open_list(const sfd_graph_t *graph, const sfd_setup_member_t *member, sfd_root_merge_list_t *list)
{
  uint64_t bytes = 0;
  for (int32_t b = 0; b < member->nblocks; b++)
    bytes += is_remote(graph, &member->blocks[b]) ? align(member->blocks[b].length) : 0;
  if (bytes == 0)
    return sfshm_region_map(member->edges_fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, SFSHM_READ_ONLY, &list->region);
  list->copy = aligned_alloc(BLOCK_ALIGN, bytes);
  return list->copy != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "edge list of %" PRIu64 " bytes", bytes);
}

static sf_status_t add_member(sfd_root_merge_t *merging, const sfd_graph_t *graph, int32_t local)
{
  const sfd_group_t *group = graph->group;
  const sfd_setup_member_t *member = &graph->setup->members[local];
  uint64_t copied = 0;
  if (count_remote(graph, member) == 0)
    return SF_OK;
  sfd_root_merge_list_t *list = &merging->lists[merging->nlists];
  sf_status_t status = open_list(graph, member, list);
  if (status != SF_OK)
    return status;
  merging->nlists++;
  for (int32_t b = 0; b < member->nblocks && status == SF_OK; b++) {
    sfd_edge_block_t *block = &merging->blocks[merging->nremote];
    if (!is_remote(graph, &member->blocks[b]))
      continue;
    *block = member->blocks[b];
    sfshm_region_t piece = list->region;
    if (list->copy != NULL) {
      piece = (sfshm_region_t){.fd = -1, .base = list->copy + copied};
      status = copy_block(sfd_group_member(group, group->locals[local]), block, &piece);
      copied += align(piece.length_bytes);
    }
    merging->remote[merging->nremote] =
        (sfd_root_merge_block_t){.node = sfd_job_node_of(group->job, group->members[block->rank].rank),
                                 .owner = block->rank,
                                 .rank = group->locals[local],
                                 .block = block,
                                 .list = piece};
    merging->nremote++;
    merging->nedges = block->nedges > INT64_MAX - merging->nedges ? INT64_MAX : merging->nedges + block->nedges;
  }
  return status;
}

static void find_nodes(sfd_root_merge_t *merging)
{
  qsort(merging->remote, (size_t)merging->nremote, sizeof merging->remote[0], compare_blocks);
  for (int32_t i = 0; i < merging->nremote; i++) {
    sfd_root_merge_target_t *last = merging->ntargets > 0 ? &merging->targets[merging->ntargets - 1] : NULL;
    if (last == NULL || last->node != merging->remote[i].node)
      merging->targets[merging->ntargets++] =
          (sfd_root_merge_target_t){.node = merging->remote[i].node, .first = i, .nremote = 1};
    else
      last->nremote++;
  }
}

/* Indices to read. A block that is the only one to its owner is read only as far as it holds index arrays; writing down
 * where its values go takes less. */
static int64_t effort_of(const sfd_root_merge_t *merging, int32_t i)
{
  const sfd_root_merge_block_t *want = &merging->remote[i];
  bool crowded = (i > 0 && want[-1].owner == want->owner) || (i + 1 < merging->nremote && want[1].owner == want->owner);
  int64_t nedges = want->block->nedges, most = (int64_t)(want->block->length / sizeof(uint32_t));
  return crowded || most == 0 || most > nedges ? nedges : most + nedges / 16;
}

sf_status_t sfd_root_merge_collect(sfd_graph_t *graph, sfd_root_merge_t **merging_p)
{
  int32_t n = 0, nlocals = graph->group->nlocals;
  for (int32_t i = 0; i < nlocals; i++)
    n += count_remote(graph, &graph->setup->members[i]);
  *merging_p = NULL;
  if (n == 0)
    return SF_OK;
  sfd_root_merge_t *merging = calloc(1, sizeof *merging);
  if (merging == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d blocks of edges", n);
  merging->graph = graph;
  merging->uncombined = (graph->setup->agreement.flags & SFSHM_GRAPH_UNCOMBINED) != 0;
  merging->lists = calloc((size_t)nlocals, sizeof merging->lists[0]);
  merging->blocks = calloc((size_t)n, sizeof merging->blocks[0]);
  merging->remote = calloc((size_t)n, sizeof merging->remote[0]);
  merging->targets = calloc((size_t)n, sizeof merging->targets[0]);
  sf_status_t status = SF_OK;
  if (merging->lists == NULL || merging->blocks == NULL || merging->remote == NULL || merging->targets == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for %d blocks of edges", n);
  for (int32_t i = 0; i < nlocals && status == SF_OK; i++)
    status = add_member(merging, graph, i);
  if (status == SF_OK && merging->nedges > MERGE_MAX_EDGES)
    status =
        sfshm_error(SF_ERR_LIMIT, "%" PRId64 " edges between this node and others, at most %" PRId64 " are possible",
                    merging->nedges, MERGE_MAX_EDGES);
  if (status != SF_OK) {
    sfd_root_merge_free(merging);
    return status;
  }
  find_nodes(merging);
  for (int32_t i = 0; i < merging->nremote; i++)
    merging->effort += effort_of(merging, i);
  *merging_p = merging;
  return SF_OK;
}

static sf_status_t begin_one(sfd_root_merge_t *merging, sfd_root_merge_target_t *target)
{
  sfshm_merge_block_t *blocks = target->blocks = calloc((size_t)target->nremote, sizeof *blocks);
  sf_status_t status = blocks != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "merging %d blocks", target->nremote);
  for (int32_t i = 0; i < target->nremote && status == SF_OK; i++) {
    sfd_root_merge_block_t *want = &merging->remote[target->first + i];
    int64_t leaf, root;
    blocks[i] = (sfshm_merge_block_t){want->owner, want->rank, &want->edges};
    uint64_t offset = want->block->length > 0 ? 0 : want->block->offset; /* copies are pieces of their own */
    status = sfshm_edges_open(&want->list, offset, want->block->nedges, want->block->nvalues, INT64_MAX, &want->edges,
                              &leaf, &root);
  }
  return status == SF_OK ? sfshm_merge_begin(blocks, target->nremote, merging->uncombined, &target->merge) : status;
}

void sfd_root_merge_begin(sfd_root_merge_t *merging)
{
  for (int32_t i = 0; i < merging->ntargets && merging->status == SF_OK; i++)
    merging->status = begin_one(merging, &merging->targets[i]);
  if (merging->status != SF_OK)
    sfd_text_printable(merging->detail, sizeof merging->detail, sfshm_error_detail());
}

sf_status_t sfd_root_merge_finish(sfd_root_merge_t *merging)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < merging->ntargets && status == SF_OK; i++)
    status = sfshm_merge_finish(&merging->targets[i].merge);
  return status;
}

void sfd_root_merge_run(uv_work_t *work)
{
  sfd_root_merge_t *merging = work->data;
  sfd_root_merge_begin(merging);
  if (merging->status == SF_OK)
    (void)sfd_root_merge_finish(merging); /* tried again when the leaf images are used */
}
