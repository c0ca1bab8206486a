/* Matching of offers for offloading: see match_offers.h. The daemon's thread. */
#include "daemon/data/match_offers.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

#include "daemon/base.h"
#include "daemon/data/copy.h"
#include "daemon/data/routes.h"
#include "daemon/jobs.h"
#include "daemon/memory.h"
#include "shm/base/error.h"
#include "shm/lane/lane.h"
#include "shm/lane/ring.h"
#include "shm/region/inbox.h"
#include "shm/trunk/trunk.h"

/* unfinished jobs of a reader: one per claim */
#define MAX_JOBS ((int32_t)SFSHM_CLAIMS)

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

struct sfd_offers_rank {
  int64_t uses;
  sfshm_region_t claims_region;
  sfshm_region_t inbox;
  sfshm_claims_t *claims;
  sfshm_wake_t *wake;
  int32_t njobs; /* as reader */
  uint64_t bytes;
};

static void release_offers(sfd_offers_rank_t *offers)
{
  if (offers == NULL || --offers->uses > 0)
    return;
  sfshm_region_destroy(&offers->claims_region);
  sfshm_region_destroy(&offers->inbox);
  free(offers);
}

void sfd_offers_close(sfd_offers_rank_t *offers)
{
  release_offers(offers);
}

uint64_t sfd_offers_bytes(const sfd_offers_rank_t *offers)
{
  return offers != NULL ? offers->bytes : 0;
}

static sf_status_t map_rank(sfd_offers_rank_t *offers, const sfd_rank_t *rank, int fd)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, 0);
  if (segment == NULL)
    return sfshm_error(SF_ERR_STATE, "rank %d has no inbox any more", rank->number);
  sf_status_t status =
      sfshm_region_map_head(fd, SFSHM_REGION_CLAIMS, sizeof(sfshm_claims_t), SFSHM_READ_WRITE, &offers->claims_region);
  if (status == SF_OK)
    status =
        sfshm_region_map_head(segment->fd, SFSHM_REGION_INBOX, sizeof(sfshm_inbox_t), SFSHM_READ_WRITE, &offers->inbox);
  return status;
}

static sf_status_t open_offers(const sfd_rank_t *rank, int fd, sfd_offers_rank_t **offers_p)
{
  sfd_offers_rank_t *offers = calloc(1, sizeof *offers);
  if (offers == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the claims of rank %d", rank->number);
  *offers = (sfd_offers_rank_t){.uses = 1, .claims_region.fd = -1, .inbox.fd = -1};
  sf_status_t status = map_rank(offers, rank, fd);
  if (status != SF_OK) {
    release_offers(offers);
    return status;
  }
  offers->claims = offers->claims_region.base;
  offers->wake = &((sfshm_inbox_t *)offers->inbox.base)->wake;
  *offers_p = offers;
  return SF_OK;
}

void sfd_offers_handle_claims(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_rank_t *rank = session->rank;
  sf_status_t status = SF_OK;
  (void)nfds;
  if (!sfd_server_offloads(session->server))
    status = sfshm_error(SF_ERR_UNSUPPORTED, "this daemon has no workers (option offload-workers)");
  else if (rank->offers != NULL)
    status = sfshm_error(SF_ERR_PROTO, "second ClaimsOpen of rank %d", rank->number);
  else
    status = open_offers(rank, fds[0], &rank->offers);
  if (status == SF_OK)
    sfd_session_send_done(session, message->request);
  else
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

struct sfd_offers {
  sfd_routes_t *lists;
  void *pairs; /* tsearch */
};

/* A rank's offer for an operation. */
typedef struct offer {
  uint64_t sequence; /* 0: no offer */
  uint64_t desc;
  uint64_t segment;
  uint64_t offset;
  uint32_t ticket;
  uint32_t claim;
} offer_t;

/* The edges between two ranks, in one direction, and the latest offers on them. Older ones will not be matched. */
typedef struct pair {
  uint64_t key;   /* first */
  int32_t writer; /* group ranks */
  int32_t reader;
  sfd_route_t *route; /* of the lists; NULL: not found yet */
  offer_t sources[SFSHM_LANE_SLOTS];
  offer_t targets[SFSHM_LANE_SLOTS];
} pair_t;

/* Created at first use; NULL without memory. */
static sfd_offers_t *offers_of(sfd_graph_t *graph)
{
  if (graph->offers != NULL)
    return graph->offers;
  sfd_offers_t *offers = calloc(1, sizeof *offers);
  sfd_routes_t *lists = offers != NULL ? sfd_routes_create(graph->group) : NULL;
  if (lists == NULL) {
    free(offers);
    return NULL;
  }
  *offers = (sfd_offers_t){.lists = lists};
  graph->offers = offers;
  return offers;
}

void sfd_offers_handle_edges(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  const sfd_rank_t *rank = session->rank;
  const Sfproto__GraphEdges *edges = message->graph_edges;
  sfd_graph_t *graph = sfd_graph_find(rank->job, edges->graph);
  int32_t group_rank = graph != NULL ? sfd_group_rank_of(graph->group, rank->number) : -1;
  (void)nfds;
  if (!sfd_server_offloads(session->server)) {
    sfd_session_refuse(session, message->request, SF_ERR_UNSUPPORTED,
                       "GraphEdges: this daemon has no workers (option offload-workers)");
    return;
  }
  if (group_rank < 0) {
    sfd_session_send_errorf(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no graph %" PRIu64, rank->number,
                            edges->graph);
    return;
  }
  sfd_offers_t *offers = offers_of(graph);
  sf_status_t status = offers != NULL ? sfd_routes_add_list(offers->lists, group_rank, edges, fds[0]) : SF_ERR_NOMEM;
  if (status == SF_OK)
    sfd_session_send_done(session, message->request);
  else if (status == SF_ERR_PROTO)
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
  else
    sfd_session_send_errorf(session, message->request, status, "edge list of graph %" PRIu64 " for offloading",
                            edges->graph);
}

void sfd_offers_free(sfd_offers_t *offers)
{
  if (offers == NULL)
    return;
  tdestroy(offers->pairs, free);
  sfd_routes_free(offers->lists);
  free(offers);
}

/* Created at first use; NULL without memory. */
static pair_t *find_pair(sfd_offers_t *offers, int32_t writer, int32_t reader, sfshm_operation_t operation)
{
  uint64_t key = sfd_routes_key(writer, reader, operation);
  pair_t *pair = sfd_id_map_find(offers->pairs, key);
  if (pair != NULL)
    return pair;
  pair = calloc(1, sizeof *pair);
  if (pair == NULL)
    return NULL;
  *pair = (pair_t){.key = key, .writer = writer, .reader = reader};
  if (sfd_id_map_insert(&offers->pairs, pair))
    return pair;
  free(pair);
  return NULL;
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

typedef struct job {
  sfd_work_t work; /* first */
  sfd_copy_t copy;
  uint64_t bytes; /* copied */
  sfd_offers_rank_t *writer;
  sfd_offers_rank_t *reader;
  sfd_shared_mapping_t *source;
  sfd_shared_mapping_t *target;
} job_t;

static void run_job(sfd_work_t *work)
{
  job_t *job = (job_t *)work;
  job->bytes = sfd_copy_run(&job->copy);
}

static void free_job(job_t *job)
{
  sfd_route_release(job->copy.route);
  sfd_shared_mapping_release(job->source);
  sfd_shared_mapping_release(job->target);
  release_offers(job->writer);
  release_offers(job->reader);
  free(job);
}

static void end_job(sfd_work_t *work)
{
  job_t *job = (job_t *)work;
  job->reader->njobs--;
  job->reader->bytes += job->bytes;
  free_job(job);
}

/* The buffer of an offer, if it is in memory of the rank that the daemon has mapped. */
static bool find_extent(const sfd_rank_t *rank, const offer_t *offer, sfd_shared_mapping_t **mapping_p,
                        sfd_extent_t *extent_p)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, offer->segment);
  if (segment == NULL || segment->mapping == NULL || offer->offset > segment->length)
    return false;
  *mapping_p = segment->mapping;
  *extent_p = (sfd_extent_t){(char *)segment->mapping->region.base + offer->offset, segment->length - offer->offset};
  return true;
}

static sfd_claimant_t claimant(const sfd_offers_rank_t *offers, const offer_t *offer)
{
  return (sfd_claimant_t){&offers->claims->claims[offer->claim], offer->ticket, offers->wake};
}

static void submit_job(sfd_server_t *server, const pair_t *pair, const sfd_rank_t *writer, const offer_t *source,
                       const sfd_rank_t *reader, const offer_t *target)
{
  job_t *job = calloc(1, sizeof *job);
  if (job == NULL)
    return;
  sfd_copy_t *copy = &job->copy;
  if (!find_extent(writer, source, &job->source, &copy->source) ||
      !find_extent(reader, target, &job->target, &copy->target)) {
    free(job);
    return;
  }
  copy->unit = sfshm_desc_unit(target->desc);
  copy->op = sfshm_desc_op(target->desc);
  copy->route = pair->route;
  copy->route->uses++;
  copy->writer = claimant(writer->offers, source);
  copy->reader = claimant(reader->offers, target);
  sfd_shared_mapping_hold(job->source);
  sfd_shared_mapping_hold(job->target);
  job->writer = writer->offers;
  job->writer->uses++;
  job->reader = reader->offers;
  job->reader->uses++;
  job->reader->njobs++;
  job->work.run = run_job;
  job->work.done = end_job;
  if (!sfd_workers_submit(server->workers, &job->work))
    end_job(&job->work);
}

/* ---- Offers ------------------------------------------------------------------------------------------------------ */

/* Both have offered the operation. If they differ, the ranks find out themselves. */
static void match(const sfd_graph_t *graph, pair_t *pair, const sfd_rank_t *writer, offer_t *source,
                  const sfd_rank_t *reader, offer_t *target)
{
  bool same = source->desc == target->desc && reader->offers->njobs < MAX_JOBS;
  if (same && pair->route == NULL)
    pair->route = sfd_routes_find(graph->offers->lists, pair->writer, pair->reader, sfshm_desc_direction(source->desc));
  if (same && pair->route != NULL && graph->state == SFD_GRAPH_READY && writer->offers != NULL)
    submit_job(graph->group->job->server, pair, writer, source, reader, target);
  source->sequence = target->sequence = 0;
}

/* Whether the entry's operation can be offloaded, and has the number of its descriptor. */
static bool is_sound(const sfshm_ring_entry_t *entry)
{
  sfshm_unit_t unit = sfshm_desc_unit(entry->desc);
  return unit.base < SFSHM_BASE_COUNT && unit.count > 0 && unit.count < SFSHM_DESC_COUNT_HASHED &&
         sfshm_op_applies(sfshm_desc_op(entry->desc), unit.base) && (entry->desc & ~SFSHM_DESC_MATCH_MASK) == 0 &&
         (entry->desc & SFSHM_DESC_SEQUENCE_MASK) == (entry->message & SFSHM_DESC_SEQUENCE_MASK) &&
         entry->message != 0 && entry->b < SFSHM_CLAIMS;
}

/* The local rank with that group rank, if it offers work. */
static const sfd_rank_t *find_offering(const sfd_group_t *group, uint32_t group_rank)
{
  if (group_rank >= (uint32_t)group->size || sfd_group_local(group, (int32_t)group_rank) < 0)
    return NULL;
  const sfd_rank_t *rank = sfd_group_member(group, (int32_t)group_rank);
  return rank != NULL && rank->offers != NULL ? rank : NULL;
}

static offer_t read_offer(const sfshm_ring_entry_t *entry)
{
  return (offer_t){.sequence = entry->message,
                   .desc = entry->desc,
                   .segment = entry->more[0],
                   .offset = entry->more[1],
                   .ticket = (uint32_t)entry->size,
                   .claim = entry->b};
}

void sfd_offers_submit(sfd_rank_t *rank, const sfshm_ring_entry_t *entry)
{
  sfd_graph_t *graph = sfd_graph_find(rank->job, entry->graph);
  if (graph == NULL || graph->state != SFD_GRAPH_READY || rank->offers == NULL || !is_sound(entry) ||
      offers_of(graph) == NULL)
    return;
  int32_t group_rank = sfd_group_rank_of(graph->group, rank->number);
  const sfd_rank_t *other = find_offering(graph->group, entry->a);
  if (group_rank < 0 || other == NULL)
    return;
  bool is_source = entry->kind == SFSHM_SUBMIT_SOURCE;
  int32_t writer = is_source ? group_rank : (int32_t)entry->a, reader = is_source ? (int32_t)entry->a : group_rank;
  pair_t *pair = find_pair(graph->offers, writer, reader, sfshm_desc_direction(entry->desc));
  if (pair == NULL)
    return;
  offer_t *source = &pair->sources[entry->message % SFSHM_LANE_SLOTS];
  offer_t *target = &pair->targets[entry->message % SFSHM_LANE_SLOTS];
  *(is_source ? source : target) = read_offer(entry);
  if (source->sequence == target->sequence)
    match(graph, pair, is_source ? rank : other, source, is_source ? other : rank, target);
}
