/* Offloading: see offload.h. */
#include "client/engine/offload.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/engine/lane_send.h"
#include "client/plan.h"
#include "shm/trunk/trunk.h"

/* ---- Offers ------------------------------------------------------------------------------------------------------ */

static sfshm_claim_t *claim_of(const sfc_lane_t *lane, const sfc_offer_t *offer)
{
  return sfc_claim_pool_at(&lane->graph->context->claims, offer->claim);
}

static bool make_offer(sfc_lane_t *lane, const sf_request_t *request, sfc_offer_t *offer)
{
  if (!sfc_claim_pool_take(&lane->graph->context->claims, &offer->claim))
    return false;
  offer->sequence = request->sequence;
  offer->ticket = sfshm_claim_offer(claim_of(lane, offer));
  return true;
}

static void end_offer(const sfc_lane_t *lane, sfc_offer_t *offer)
{
  offer->ticket = 0;
  sfc_claim_pool_give(&lane->graph->context->claims, offer->claim);
}

/* Withdraws and ends the offer. Waits for a worker's current piece, unless the daemon is lost. */
static void retract(const sfc_lane_t *lane, sfc_offer_t *offer, uint32_t npieces)
{
  const sf_context_t *context = lane->graph->context;
  sfc_idle_t idle = {0};
  while (!sfshm_claim_withdraw(claim_of(lane, offer), npieces) &&
         atomic_load_explicit(&context->failed, memory_order_relaxed) != SF_ERR_DAEMON_LOST)
    sfc_idle_pause(&idle);
  end_offer(lane, offer);
}

/* The lane's offers, allocated at first use; NULL: no memory. */
static sfc_offers_t *offers_of(sfc_lane_t *lane)
{
  if (lane->offers == NULL)
    lane->offers = calloc(1, sizeof *lane->offers);
  return lane->offers;
}

static void submit(const sfc_lane_t *lane, const sf_request_t *request, sfshm_submission_t kind,
                   const sfc_offer_t *offer, const sfc_memory_ref_t *ref)
{
  sfshm_ring_entry_t entry = {
      .kind = kind,
      .graph = lane->graph->number,
      .message = request->sequence,
      .desc = request->match,
      .a = (uint32_t)lane->rank,
      .b = offer->claim,
      .size = offer->ticket,
      .more = {ref->segment, ref->offset},
  };
  sfc_submit_ring_write(&lane->graph->context->submit_ring, &entry, false);
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

static sf_status_t tell_edges(const sf_graph_t *graph, Sfproto__EdgeBlock blocks[], Sfproto__EdgeBlock *pointers[])
{
  const sfc_edge_readback_t *readback = graph->plan.readback;
  Sfproto__GraphEdges edges = SFPROTO__GRAPH_EDGES__INIT;
  Sfproto__Message message = SFPROTO_MESSAGE(GRAPH_EDGES, graph_edges, &edges);
  for (int32_t i = 0; i < readback->nparts; i++) {
    const sfc_edge_readback_part_t *part = &readback->parts[i];
    Sfproto__EdgeBlock *block = &blocks[edges.n_blocks];
    if (part->rank == graph->rank)
      continue;
    *block = (Sfproto__EdgeBlock)SFPROTO_BODY(edge_block, .rank = part->rank, .offset = sfc_edge_readback_offset(i),
                                              .nedges = part->block.leaf.n, .nvalues = part->block.value_root.n);
    pointers[edges.n_blocks++] = block;
  }
  edges.graph = graph->number;
  edges.blocks = pointers;
  return sfc_daemon_tell(&graph->context->control, &message, &readback->region.fd, 1);
}

static bool give_edges(const sf_graph_t *graph)
{
  size_t nparts = (size_t)graph->plan.readback->nparts;
  Sfproto__EdgeBlock **pointers = calloc(nparts, sizeof *pointers + sizeof(Sfproto__EdgeBlock));
  if (pointers == NULL)
    return false;
  pthread_mutex_lock(&graph->context->lock);
  sf_status_t status = sfc_edge_readback_seal(graph->plan.readback);
  pthread_mutex_unlock(&graph->context->lock);
  if (status == SF_OK)
    status = tell_edges(graph, (Sfproto__EdgeBlock *)(pointers + nparts), pointers);
  free(pointers);
  return status == SF_OK;
}

/* Whether the daemon has this rank's edge list; gives it at first use. */
static bool has_given_edges(sf_graph_t *graph)
{
  if (graph->edges_given == 0)
    graph->edges_given = give_edges(graph) ? 1 : -1;
  return graph->edges_given > 0;
}

/* ---- Choice ----------------------------------------------------------------------------------------------------- */

/* With shared roots the owner combines contributions one by one. */
uint32_t sfc_offload_parts(const sf_request_t *request)
{
  const sf_graph_t *graph = request->graph;
  uint32_t parts = 0;
  if (request->nfields > 1 || request->first.combine.unit.count >= SFSHM_DESC_COUNT_HASHED ||
      request->devices != NULL || !sfc_claim_pool_is_open(&graph->context->claims))
    return 0;
  if (request->first.source_ref.class == SFC_MEMORY_ALLOC && (graph->flags & SF_GRAPH_COPY) == 0)
    parts |= SFC_OFFER_SOURCE;
  if (request->first.target_ref.class == SFC_MEMORY_ALLOC &&
      (request->operation == SFSHM_BCAST || !graph->plan.roots_shared))
    parts |= SFC_OFFER_TARGET;
  return parts;
}

uint32_t sfc_offload_choose(const sf_request_t *request)
{
  const sfshm_board_t *board = request->graph->context->board;
  return atomic_load_explicit(&board->workers, memory_order_relaxed) > 0 ? request->may_offer : 0;
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

void sfc_offload_source(sfc_lane_t *lane, const sf_request_t *request)
{
  if (request->operation == SFSHM_REDUCE && !has_given_edges(lane->graph))
    return;
  sfc_offers_t *offers = offers_of(lane);
  sfc_offer_t *offer = offers != NULL ? &offers->sources[(lane->tx.posted - 1) % SFC_LANE_AWAITING] : NULL;
  if (offer != NULL && make_offer(lane, request, offer))
    submit(lane, request, SFSHM_SUBMIT_SOURCE, offer, &request->first.source_ref);
}

bool sfc_offload_source_done(const sfc_lane_t *lane, uint64_t message)
{
  const sfc_offer_t *offer = &lane->offers->sources[message % SFC_LANE_AWAITING];
  return offer->ticket != 0 && sfshm_claim_is_done(claim_of(lane, offer), 1);
}

void sfc_offload_end_source(sfc_lane_t *lane, uint64_t message)
{
  sfc_offer_t *offer = &lane->offers->sources[message % SFC_LANE_AWAITING];
  if (offer->ticket == 0)
    return;
  retract(lane, offer, 1);
}

/* ---- Targets ----------------------------------------------------------------------------------------------------- */

static void offer_target(sfc_lane_t *lane, const sf_request_t *request)
{
  const sfc_link_t *link = sfc_lane_incoming(lane, request->operation);
  size_t bytes = (size_t)sfc_link_count(link, request->operation) * request->value_bytes;
  if (bytes < SFSHM_OFFLOAD_MIN_BYTES || lane->trunk != NULL)
    return;
  sfc_offers_t *offers = offers_of(lane);
  if (offers == NULL || offers->in_vain || (request->operation == SFSHM_BCAST && !has_given_edges(lane->graph)))
    return;
  sfc_offer_t *offer = &offers->targets[request->sequence % SFSHM_LANE_SLOTS];
  if (offer->ticket == 0 && make_offer(lane, request, offer))
    submit(lane, request, SFSHM_SUBMIT_TARGET, offer, &request->first.target_ref);
}

void sfc_offload_targets(const sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  for (int32_t i = 0; i < graph->routes.nreceivers[request->operation]; i++)
    offer_target(graph->routes.receivers[request->operation][i], request);
}

sfc_offer_t *sfc_offload_target(const sfc_lane_t *lane, const sf_request_t *request)
{
  if (lane->offers == NULL)
    return NULL;
  sfc_offer_t *offer = &lane->offers->targets[request->sequence % SFSHM_LANE_SLOTS];
  return offer->ticket != 0 && offer->sequence == request->sequence ? offer : NULL;
}

static sfshm_pieces_t pieces_of(const sfc_lane_t *lane, const sf_request_t *request)
{
  return sfshm_pieces(sfc_lane_incoming(lane, request->operation)->nvalues, request->value_bytes);
}

bool sfc_offload_target_done(sfc_lane_t *lane, const sf_request_t *request, sfc_offer_t *offer)
{
  sfshm_pieces_t pieces = pieces_of(lane, request);
  if (!sfshm_claim_is_done(claim_of(lane, offer), pieces.npieces))
    return false;
  end_offer(lane, offer);
  return true;
}

bool sfc_offload_share(sfc_lane_t *lane, const sf_request_t *request, sfc_offer_t *offer, const char *source)
{
  const sfc_combine_t *combine = &request->first.combine;
  sfshm_claim_t *claim = claim_of(lane, offer);
  sfshm_pieces_t pieces = pieces_of(lane, request);
  sfshm_paths_t paths = sfc_link_paths(sfc_lane_incoming(lane, request->operation), request->operation);
  uint32_t piece;
  while (sfshm_claim_take(claim, offer->ticket, pieces.npieces, &piece)) {
    sfshm_paths_apply(&paths, combine->unit, combine->kernels, source, request->first.target,
                      sfshm_piece_first(&pieces, piece), sfshm_piece_count(&pieces, piece));
    (void)sfshm_claim_finish(claim, pieces.npieces);
  }
  return sfc_offload_target_done(lane, request, offer);
}

void sfc_offload_note_protocol(sfc_lane_t *lane, const sf_request_t *request, sfshm_method_t method)
{
  sfc_offer_t *offer = sfc_offload_target(lane, request);
  if (method == SFSHM_METHOD_IN_PLACE) {
    lane->offers->in_vain = false;
  } else if (offer != NULL) {
    lane->offers->in_vain = true;
    retract(lane, offer, pieces_of(lane, request).npieces);
  }
}

void sfc_offload_end(const sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  for (int32_t i = 0; i < graph->routes.nreceivers[request->operation]; i++) {
    sfc_lane_t *lane = graph->routes.receivers[request->operation][i];
    sfc_offer_t *offer = sfc_offload_target(lane, request);
    if (offer != NULL)
      retract(lane, offer, pieces_of(lane, request).npieces);
  }
}

void sfc_offload_free_lane(sfc_lane_t *lane)
{
  if (lane->offers == NULL)
    return;
  for (uint32_t i = 0; i < SFC_LANE_AWAITING; i++)
    if (lane->offers->sources[i].ticket != 0)
      end_offer(lane, &lane->offers->sources[i]);
  for (uint32_t i = 0; i < SFSHM_LANE_SLOTS; i++)
    if (lane->offers->targets[i].ticket != 0)
      end_offer(lane, &lane->offers->targets[i]);
  free(lane->offers);
}
