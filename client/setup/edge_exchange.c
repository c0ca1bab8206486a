/* Exchange of edge lists: see edge_exchange.h. */
#include "client/setup/edge_exchange.h"

#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "shm/base/error.h"

#define MAX_LIST_BYTES ((uint64_t)1 << 44)

/* ---- The own one ---- */

static bool is_own(const sfc_edge_exchange_t *lists, int32_t part)
{
  return lists->own.parts[part].rank == lists->group->rank;
}

/* Length of the parts for others. */
static size_t handed_bytes(const sfc_edge_exchange_t *lists)
{
  size_t bytes = 0;
  for (int32_t i = 0; i < lists->own.nparts; i++)
    bytes += is_own(lists, i) ? 0 : sfc_edge_list_write_part(&lists->own, i, NULL);
  return bytes;
}

sf_status_t sfc_edge_exchange_publish(sfc_edge_exchange_t *lists)
{
  sf_context_t *context = lists->group->context;
  size_t bytes = handed_bytes(lists), offset = 0;
  if (bytes == 0)
    return SF_OK;
  /* Between nodes the daemon copies lists too, short ones only. */
  if (bytes > (context->rank_nodes == NULL ? SFSHM_EDGES_MAX_COPIED : SFSHM_EDGES_MAX_FETCHED))
    return sfc_edge_list_seal(&lists->own);
  sf_status_t status = sfc_heap_take(&context->inbox, bytes, false, &lists->handed);
  if (status != SF_OK)
    return status;
  for (int32_t i = 0; i < lists->own.nparts; i++)
    if (!is_own(lists, i))
      offset += sfc_edge_list_write_part(&lists->own, i, (char *)lists->handed.address + offset);
  return SF_OK;
}

static void describe_part(const sfc_edge_exchange_t *lists, int32_t i, uint64_t offset, Sfproto__EdgeBlock *block)
{
  const sfc_edge_part_t *part = &lists->own.parts[i];
  *block =
      (Sfproto__EdgeBlock)SFPROTO_BODY(edge_block, .rank = part->rank, .nedges = part->nedges, .nvalues = part->nvalues,
                                       SFPROTO_HAS(root_max, part->root_max), .offset = part->offset);
  if (lists->handed.address == NULL)
    return;
  block->offset = lists->handed.offset + offset;
  block->has_segment = block->has_length = true;
  block->segment = lists->handed.segment;
  block->length = sfc_edge_list_write_part(&lists->own, i, NULL);
}

size_t sfc_edge_exchange_describe(const sfc_edge_exchange_t *lists, Sfproto__EdgeBlock blocks[],
                                  Sfproto__EdgeBlock *pointers[])
{
  size_t n = 0;
  uint64_t offset = 0;
  for (int32_t i = 0; i < lists->own.nparts; i++) {
    if (is_own(lists, i))
      continue;
    describe_part(lists, i, offset, &blocks[n]);
    offset += blocks[n].length;
    pointers[n] = &blocks[n];
    n++;
  }
  return n;
}

/* ---- Lists of peers ---- */

/* Copies a block from the inbox of its rank. */
static sf_status_t copy_block(const sfc_edge_exchange_t *lists, const Sfproto__EdgeBlock *block, sfc_peer_list_t *list)
{
  sfc_peers_t *peers = &lists->group->context->peers;
  sfc_peer_t *peer;
  void *base;
  size_t length, rounded = sfc_edge_list_aligned(block->length);
  sf_status_t status = sfc_peers_find(peers, sfc_group_job_rank(lists->group, block->rank), &peer);
  if (status == SF_OK)
    status = sfc_peer_segment(peers, peer, block->segment, &base, &length);
  if (status != SF_OK)
    return status;
  if (block->length > SFSHM_EDGES_MAX_COPIED || block->length > length || block->offset > length - block->length)
    return sfshm_error(SF_ERR_PROTO, "rank %d says that its edge list is outside of its memory", block->rank);
  list->copy = aligned_alloc(SFC_EDGE_LIST_ALIGN, rounded);
  if (list->copy == NULL)
    return sfshm_error(SF_ERR_NOMEM, "edge list of %zu bytes", rounded);
  memcpy(list->copy, (const char *)base + block->offset, block->length);
  list->offset = 0;
  list->region = (sfshm_region_t){.fd = -1, .base = list->copy, .length_bytes = block->length};
  return SF_OK;
}

/* Number of lists that are regions. */
static int count_regions(const Sfproto__GraphReply *told)
{
  int n = 0;
  for (size_t i = 0; i < told->n_blocks; i++)
    n += !told->blocks[i]->has_segment;
  return n;
}

static sf_status_t make_room(sfc_edge_exchange_t *lists, size_t more)
{
  sfc_peer_list_t *peers = realloc(lists->peers, ((size_t)lists->npeers + more + 1) * sizeof *peers);
  if (peers == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of leaf ranks");
  lists->peers = peers;
  return SF_OK;
}

sf_status_t sfc_edge_exchange_receive(sfc_edge_exchange_t *lists, const sfproto_incoming_t *incoming, int32_t *rank_p)
{
  const Sfproto__GraphReply *told = incoming->message->graph_reply;
  int next_fd = 0;
  *rank_p = lists->group->rank;
  if (incoming->nfds != count_regions(told) + (told->n_sides > 0 && !told->has_map))
    return sfshm_error(SF_ERR_PROTO, "%zu edge lists with %d descriptors", told->n_blocks, incoming->nfds);
  sf_status_t status = make_room(lists, told->n_blocks);
  for (size_t i = 0; i < told->n_blocks && status == SF_OK; i++) {
    const Sfproto__EdgeBlock *block = told->blocks[i];
    sfc_peer_list_t *list = &lists->peers[lists->npeers++];
    *list = (sfc_peer_list_t){
        .rank = block->rank, .offset = block->offset, .nedges = block->nedges, .nvalues = block->nvalues};
    *rank_p = block->rank;
    status = block->has_segment ? copy_block(lists, block, list)
                                : sfshm_region_map(incoming->fds[next_fd++], SFSHM_REGION_EDGES, MAX_LIST_BYTES,
                                                   SFSHM_READ_ONLY, &list->region);
  }
  return status;
}

static int by_rank(const void *a, const void *b)
{
  int32_t x = ((const sfc_peer_list_t *)a)->rank, y = ((const sfc_peer_list_t *)b)->rank;
  return (x > y) - (x < y);
}

void sfc_edge_exchange_sort(sfc_edge_exchange_t *lists)
{
  if (lists->npeers > 0)
    qsort(lists->peers, (size_t)lists->npeers, sizeof *lists->peers, by_rank);
}

sf_status_t sfc_edge_exchange_open(sfc_edge_exchange_t *lists, sfc_peer_list_t *peer, int64_t nroots, sfc_link_t *link,
                                   int64_t *bad_leaf_p)
{
  sfshm_edges_t edges;
  int64_t bad_root;
  *bad_leaf_p = -1;
  sf_status_t status =
      sfshm_edges_open(&peer->region, peer->offset, peer->nedges, peer->nvalues, nroots, &edges, bad_leaf_p, &bad_root);
  if (status == SF_ERR_RANGE)
    return sfshm_error(SF_ERR_RANGE, "root index %lld on rank %d, which has %lld roots", (long long)bad_root,
                       lists->group->rank, (long long)nroots);
  if (status != SF_OK)
    return status;
  sfc_link_init(link, &edges, peer->copy);
  if (peer->copy != NULL)
    peer->region = (sfshm_region_t){.fd = -1};
  peer->copy = NULL;
  return SF_OK;
}

/* ---- End ---- */

void sfc_edge_exchange_free(sfc_edge_exchange_t *lists)
{
  for (int32_t i = 0; i < lists->npeers; i++) {
    if (lists->peers[i].copy == NULL)
      sfshm_region_destroy(&lists->peers[i].region);
    free(lists->peers[i].copy);
  }
  free(lists->peers);
  sfc_edge_list_destroy(&lists->own);
  if (lists->handed.address != NULL)
    sfc_heap_give(&lists->group->context->inbox, &lists->handed);
}
