/* Round 1: checking, keeping and turning around edge blocks. The daemon's thread. */
#include "daemon/setup/round1_edges.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/data/trunks.h"
#include "daemon/memory/segment.h"
#include "daemon/setup/round2_lanes.h"
#include "shm/base/error.h"
#include "shm/edges/edges.h"

#define BLOCKS_IN_MESSAGE 32
_Static_assert(BLOCKS_IN_MESSAGE < SFPROTO_MAX_FDS, "one descriptor for each block, and that of the trunk map");

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

/* ---- Turning around ---- */

/* The blocks that lead to each rank of this node: those of local member i are incoming[first[i]] to
 * incoming[first[i + 1] - 1], in ascending order of the leaf ranks. */
typedef struct transposed {
  int32_t *first;
  struct incoming {
    int32_t leaf; /* member of this node */
    const sfd_block_t *block;
  } * incoming;
} transposed_t;

static void free_transposed(transposed_t *transposed)
{
  free(transposed->first);
  free(transposed->incoming);
}

/* A counting sort by root rank. first is shifted by two at first so that it ends up where it belongs. */
static sf_status_t transpose(const sfd_graph_t *graph, transposed_t *transposed)
{
  const sfd_group_t *group = graph->group;
  const sfd_setup_member_t *members = graph->setup->members;
  int32_t n = group->nlocals, nblocks = 0;
  for (int32_t leaf = 0; leaf < n; leaf++)
    nblocks += members[leaf].nblocks;
  *transposed = (transposed_t){.first = calloc((size_t)n + 2, sizeof(int32_t)),
                               .incoming = calloc((size_t)nblocks + 1, sizeof(struct incoming))};
  if (transposed->first == NULL || transposed->incoming == NULL) {
    free_transposed(transposed);
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d pairs of ranks", nblocks);
  }
  for (int32_t leaf = 0; leaf < n; leaf++)
    for (int32_t i = 0; i < members[leaf].nblocks; i++) {
      int32_t owner = sfd_group_local(group, members[leaf].blocks[i].rank);
      if (owner >= 0)
        transposed->first[owner + 2]++;
    }
  for (int32_t r = 2; r <= n; r++)
    transposed->first[r] += transposed->first[r - 1];
  for (int32_t leaf = 0; leaf < n; leaf++)
    for (int32_t i = 0; i < members[leaf].nblocks; i++) {
      const sfd_block_t *block = &members[leaf].blocks[i];
      int32_t owner = sfd_group_local(group, block->rank);
      if (owner >= 0)
        transposed->incoming[transposed->first[owner + 1]++] = (struct incoming){.leaf = leaf, .block = block};
    }
  return SF_OK;
}

/* What goes with the last message to a member: the sides of trunks in which it takes part, or the ends of its lanes and
 * the board if with that the graph is ready. */
typedef struct last {
  uint32_t *sides;
  uint32_t nsides;
  sfd_lane_ends_t *ends; /* NULL: it is not */
  size_t nends;
} last_t;

/* last: NULL if more messages follow. */
static void send_part(sfd_session_t *session, const sfd_graph_t *graph, uint64_t request,
                      const struct incoming incoming[], int32_t n, const last_t *last)
{
  Sfproto__EdgeBlock blocks[BLOCKS_IN_MESSAGE];
  Sfproto__EdgeBlock *pointers[BLOCKS_IN_MESSAGE];
  int fds[BLOCKS_IN_MESSAGE + 1], nfds = 0;
  for (int32_t i = 0; i < n; i++) {
    const sfd_block_t *block = incoming[i].block;
    blocks[i] = (Sfproto__EdgeBlock)SFPROTO__EDGE_BLOCK__INIT;
    blocks[i].rank = graph->group->locals[incoming[i].leaf];
    blocks[i].offset = block->offset;
    blocks[i].nedges = block->nedges;
    blocks[i].nvalues = block->nvalues;
    pointers[i] = &blocks[i];
    blocks[i].has_segment = blocks[i].has_length = block->length > 0;
    blocks[i].segment = block->segment;
    blocks[i].length = block->length;
    if (block->length == 0)
      fds[nfds++] = graph->setup->members[incoming[i].leaf].edges_fd;
  }
  Sfproto__GraphPeers peers = SFPROTO__GRAPH_PEERS__INIT;
  peers.graph = graph->id;
  peers.blocks = pointers;
  peers.n_blocks = (size_t)n;
  peers.more = last == NULL;
  if (last != NULL && last->ends != NULL) {
    peers.has_ready = peers.ready = true;
    peers.lanes = last->ends->pointers;
    peers.n_lanes = last->nends;
    peers.has_board_region = peers.has_board = graph->trunks != NULL;
    if (graph->trunks != NULL)
      sfd_trunks_describe_board(graph->trunks, &peers.board_region, &peers.board);
  }
  if (last != NULL && last->nsides > 0) {
    peers.sides = last->sides;
    peers.n_sides = last->nsides;
    fds[nfds] = sfd_trunks_describe_map(graph->trunks, &peers.has_map, &peers.map);
    nfds += fds[nfds] >= 0;
  }
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.request = request;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_PEERS;
  message.graph_peers = &peers;
  sfd_session_send(session, &message, fds, nfds);
}

static void send_to(const sfd_graph_t *graph, int32_t local, const transposed_t *transposed, last_t *last)
{
  uint64_t request = graph->setup->members[local].request;
  if (graph->trunks != NULL)
    last->nsides = sfd_trunks_sides_of(graph->trunks, graph->group->locals[local], last->sides);
  if (last->ends != NULL)
    last->nends = sfd_lane_ends_collect(graph, local, last->ends);
  sfd_session_t *session = sfd_setup_answered(graph, local);
  if (session == NULL)
    return;
  int32_t i = transposed->first[local];
  int32_t end = transposed->first[local + 1];
  do {
    int32_t n = end - i < BLOCKS_IN_MESSAGE ? end - i : BLOCKS_IN_MESSAGE;
    send_part(session, graph, request, transposed->incoming + i, n, i + n < end ? NULL : last);
    i += n;
  } while (i < end);
}

static sf_status_t alloc_last(const sfd_graph_t *graph, last_t *last)
{
  last->sides = malloc((graph->trunks != NULL ? sfd_trunks_nsides(graph->trunks) : 0) * sizeof *last->sides + 1);
  if (last->sides == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the sides of trunks");
  return last->ends != NULL ? sfd_lane_ends_alloc(graph, last->ends) : SF_OK;
}

sf_status_t sfd_peers_send(sfd_graph_t *graph, bool ready)
{
  transposed_t transposed;
  sfd_lane_ends_t ends = {.ends = NULL};
  last_t last = {.ends = ready ? &ends : NULL};
  sf_status_t status = alloc_last(graph, &last);
  if (status == SF_OK)
    status = transpose(graph, &transposed);
  if (status == SF_OK) {
    for (int32_t i = 0; i < graph->group->nlocals; i++)
      send_to(graph, i, &transposed, &last);
    free_transposed(&transposed);
  }
  sfd_lane_ends_free(&ends);
  free(last.sides);
  return status;
}
