/* Root merge: see root_merge.h. The daemon's thread; sfd_root_merge_run may run in a worker thread. */
#include "daemon/setup/root_merge.h"

#include <inttypes.h>
#include <stdlib.h>

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
  for (int32_t i = 0; i < merging->ntargets; i++)
    sfshm_merge_free(&merging->targets[i].merge);
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

/* Contiguous bytes of blocks in an inbox. */
typedef struct sfd_root_merge_span {
  uint64_t segment;
  uint64_t offset;
  uint64_t length;
} sfd_root_merge_span_t;

static sf_status_t read_span(const sfd_rank_t *rank, const sfd_root_merge_span_t *span, char *to)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, span->segment);
  if (segment == NULL)
    return sfshm_error(SF_ERR_NOT_FOUND, "the inbox of rank %d is gone", rank->number);
  return sfshm_read(segment->fd, span->offset, span->length, to);
}

/* Whether the block follows the span. */
static bool continues(const sfd_root_merge_span_t *span, const sfd_edge_block_t *block)
{
  return span->length > 0 && span->length % BLOCK_ALIGN == 0 && block->segment == span->segment &&
         block->offset == span->offset + span->length;
}

/* Reads a member's blocks that lead to other nodes, one after the other. */
static sf_status_t read_blocks(const sfd_graph_t *graph, int32_t local, char *to)
{
  const sfd_setup_member_t *member = &graph->setup->members[local];
  const sfd_rank_t *rank = sfd_group_member(graph->group, graph->group->locals[local]);
  sfd_root_merge_span_t span = {.length = 0};
  sf_status_t status = SF_OK;
  for (int32_t b = 0; b < member->nblocks && status == SF_OK; b++) {
    const sfd_edge_block_t *block = &member->blocks[b];
    if (!is_remote(graph, block))
      continue;
    if (continues(&span, block)) {
      span.length += block->length;
      continue;
    }
    if (span.length > 0)
      status = read_span(rank, &span, to);
    to += align(span.length);
    span = (sfd_root_merge_span_t){block->segment, block->offset, block->length};
  }
  return status == SF_OK ? read_span(rank, &span, to) : status;
}

/* Copies a member's blocks that lead to other nodes out of its inboxes. */
static sf_status_t copy_blocks(const sfd_graph_t *graph, int32_t local, sfd_root_merge_list_t *list)
{
  const sfd_setup_member_t *member = &graph->setup->members[local];
  uint64_t bytes = 0;
  for (int32_t b = 0; b < member->nblocks; b++)
    bytes += is_remote(graph, &member->blocks[b]) ? align(member->blocks[b].length) : 0;
  char *copy = aligned_alloc(BLOCK_ALIGN, bytes);
  if (copy == NULL)
    return sfshm_error(SF_ERR_NOMEM, "edge list of %" PRIu64 " bytes", bytes);
  sf_status_t status = read_blocks(graph, local, copy);
  if (status != SF_OK) {
    free(copy);
    return status;
  }
  list->copy = copy;
  return SF_OK;
}

static sf_status_t open_list(const sfd_graph_t *graph, int32_t local, sfd_root_merge_list_t *list)
{
  const sfd_setup_member_t *member = &graph->setup->members[local];
  if (member->blocks[0].length > 0)
    return copy_blocks(graph, local, list);
  return sfshm_region_map(member->edges_fd, SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, SFSHM_READ_ONLY, &list->region);
}

static sf_status_t add_member(sfd_root_merge_t *merging, const sfd_graph_t *graph, int32_t local)
{
  const sfd_group_t *group = graph->group;
  const sfd_setup_member_t *member = &graph->setup->members[local];
  uint64_t copied = 0;
  if (count_remote(graph, member) == 0)
    return SF_OK;
  sfd_root_merge_list_t *list = &merging->lists[merging->nlists];
  sf_status_t status = open_list(graph, local, list);
  if (status != SF_OK)
    return status;
  merging->nlists++;
  for (int32_t b = 0; b < member->nblocks; b++) {
    sfd_edge_block_t *block = &merging->blocks[merging->nremote];
    if (!is_remote(graph, &member->blocks[b]))
      continue;
    *block = member->blocks[b];
    sfshm_region_t piece = list->region;
    if (list->copy != NULL) {
      piece = (sfshm_region_t){.fd = -1, .base = list->copy + copied, .length_bytes = block->length};
      block->offset = 0;
      copied += align(block->length);
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
  return SF_OK;
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

static sf_status_t merge_one(sfd_root_merge_t *merging, sfd_root_merge_target_t *target)
{
  sfshm_merge_block_t *blocks = calloc((size_t)target->nremote, sizeof *blocks);
  sf_status_t status = blocks != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "merging %d blocks", target->nremote);
  for (int32_t i = 0; i < target->nremote && status == SF_OK; i++) {
    sfd_root_merge_block_t *want = &merging->remote[target->first + i];
    int64_t leaf, root;
    blocks[i] = (sfshm_merge_block_t){want->owner, want->rank, &want->edges};
    status = sfshm_edges_open(&want->list, want->block->offset, want->block->nedges, want->block->nvalues, INT64_MAX,
                              &want->edges, &leaf, &root);
  }
  if (status == SF_OK)
    status = sfshm_merge_make(blocks, target->nremote, merging->uncombined, &target->merge);
  for (int32_t i = 0; i < target->nremote; i++)
    sfshm_edges_close(&merging->remote[target->first + i].edges);
  free(blocks);
  return status;
}

void sfd_root_merge_run(uv_work_t *work)
{
  sfd_root_merge_t *merging = work->data;
  for (int32_t i = 0; i < merging->ntargets && merging->status == SF_OK; i++)
    merging->status = merge_one(merging, &merging->targets[i]);
  if (merging->status != SF_OK)
    sfd_text_printable(merging->detail, sizeof merging->detail, sfshm_error_detail());
}
