/* Root requests: see root_requests.h. The daemon's thread. */
#include "daemon/setup/root_requests.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/data.h"
#include "daemon/net.h"
#include "daemon/setup/root_bounds.h"
#include "daemon/setup/root_counts.h"
#include "daemon/setup/root_merge.h"
#include "daemon/setup/setup.h"
#include "shm/base/error.h"
#include "shm/edges/packed.h"
#include "shm/trunk/trunk.h"

/* below, merging takes less time than waking a worker */
#define MERGE_INLINE_EFFORT 16384

/* bytes; shorter root images are sent unpacked */
#define PACK_FROM 2048

/* A root image received from another node. */
typedef struct sfd_root_request {
  int32_t node;
  void *image;
  size_t bytes;
  bool answered;
} sfd_root_request_t;

struct sfd_root_requests {
  sfd_root_merge_t *merging; /* NULL: no edge leads to another node */
  bool merged;
  sfd_root_counts_t other_counts; /* two nodes: received from the other one */
  sfd_root_counts_t own_counts;   /* two nodes: sent to the other one */
  int32_t nunanswered;
  sfd_root_request_t *incoming;
  int32_t nincoming;
};

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

void sfd_root_requests_free(sfd_root_requests_t *requests)
{
  if (requests == NULL)
    return;
  for (int32_t i = 0; i < requests->nincoming; i++)
    free(requests->incoming[i].image);
  free(requests->incoming);
  sfd_root_counts_free(&requests->other_counts);
  sfd_root_counts_free(&requests->own_counts);
  if (requests->merging != NULL && requests->merged)
    sfd_root_merge_free(requests->merging);
  else if (requests->merging != NULL)
    requests->merging->graph = NULL;
  free(requests);
}

static sfd_root_requests_t *requests_of(sfd_graph_t *graph)
{
  if (graph->setup->root_requests == NULL)
    graph->setup->root_requests = calloc(1, sizeof(sfd_root_requests_t));
  return graph->setup->root_requests;
}

/* ---- Being answered ---------------------------------------------------------------------------------------------- */

/* Returns whether some root does not exist. */
static bool check_roots(sfd_graph_t *graph, const sfd_root_merge_target_t *target, const sfd_root_counts_t *counts)
{
  sfd_root_merge_block_t *requests = &graph->setup->root_requests->merging->remote[target->first];
  bool bad = false;
  for (int32_t i = 0; i < target->nremote; i++) {
    int64_t nroots = sfd_root_counts_of(counts, requests[i].owner);
    if (requests[i].edges.roots.max < nroots)
      continue;
    sfd_root_bounds_note_bad(graph, sfd_group_local(graph->group, requests[i].rank), requests[i].block, nroots,
                             &requests[i].list);
    bad = true;
  }
  return bad;
}

static void take_counts(sfd_graph_t *graph, sfd_root_merge_target_t *target, const sfd_root_counts_t *counts)
{
  sfd_root_requests_t *requests = graph->setup->root_requests;
  target->answered = true;
  (void)check_roots(graph, target, counts);
  if (--requests->nunanswered == 0)
    sfd_setup_edges_done(graph);
}

static sfd_root_merge_target_t *find_target(sfd_root_requests_t *requests, int32_t node)
{
  for (int32_t i = 0; requests->merging != NULL && requests->merged && i < requests->merging->ntargets; i++)
    if (requests->merging->targets[i].node == node && !requests->merging->targets[i].answered)
      return &requests->merging->targets[i];
  return NULL;
}

/* Two nodes: the other one sends its counts without request, perhaps before this node needs them. */
static sf_status_t handle_other_of_pair(sfd_graph_t *graph, int32_t node, const sfd_root_counts_t *counts)
{
  sfd_root_requests_t *requests = requests_of(graph);
  if (requests == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for root requests of a graph");
  if (requests->other_counts.owners != NULL || graph->state != SFD_GRAPH_GATHERING)
    return sfshm_error(SF_ERR_PROTO, "node %d tells its numbers of roots twice", node);
  return sfd_root_counts_copy(counts, &requests->other_counts);
}

static sf_status_t handle_answer(sfd_graph_t *graph, int32_t node, const sfd_root_counts_t *counts)
{
  sfd_root_requests_t *requests = graph->setup->root_requests;
  sfd_root_merge_target_t *target = requests != NULL ? find_target(requests, node) : NULL;
  if (target == NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d answers what it was not asked", node);
  take_counts(graph, target, counts);
  return SF_OK;
}

sf_status_t sfd_root_requests_handle_wanted(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__Wanted *wanted = message->wanted;
  const sfd_root_counts_t counts = {.n = wanted->n_owners, .owners = wanted->owners, .nroots = wanted->nroots};
  const sfd_job_t *job = sfd_job_find_id(server, wanted->job);
  bool running = job != NULL && job->state == SFD_JOB_RUNNING;
  sfd_group_t *group = running ? sfd_group_find(job, wanted->group) : NULL;
  if (wanted->n_owners != wanted->n_nroots || (group != NULL && counts.n > (size_t)group->size))
    return sfshm_error(SF_ERR_PROTO, "node %d tells the numbers of roots of %zu ranks", node, counts.n);
  if (job == NULL)
    return sfd_ended_jobs_status(&server->jobs->ended, wanted->job);
  if (running && group == NULL)
    return SF_ERR_NOT_FOUND;
  bool pair = group != NULL && sfd_agreement_is_pair(group);
  if (pair && node != group->nodes[1 - group->node_position])
    return sfshm_error(SF_ERR_PROTO, "node %d tells its numbers of roots to a group of nodes %d and %d", node,
                       group->nodes[0], group->nodes[1]);
  sfd_graph_t *graph = group != NULL ? sfd_setup_find(group, wanted->number) : NULL;
  sf_status_t status = pair ? sfd_setup_find_gathering(group, wanted->number, &graph) : SF_OK;
  if (graph == NULL)
    return status;
  return pair ? handle_other_of_pair(graph, node, &counts) : handle_answer(graph, node, &counts);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static void on_image_sent(void *image, sf_status_t status)
{
  (void)status; /* a lost channel fails the job */
  free(image);
}

/* Gives the image away, as the set-up may end before it is sent. */
static void send_image(const sfd_graph_t *graph, sfd_root_merge_target_t *target)
{
  void *image = target->merge.root_image;
  size_t bytes = target->merge.root_image_bytes;
  if (bytes >= PACK_FROM && sfshm_pack(target->merge.root_image, bytes, &image, &bytes))
    free(target->merge.root_image);
  sfd_message_head_t head = {
      .kind = SFD_PEER_WANTS,
      .payload_bytes = bytes,
      .job = graph->group->job->id,
      .object = graph->group->id,
      .desc = graph->number,
  };
  target->merge.root_image = NULL;
  sfd_network_send_payload(graph->group->job->server, target->node, &head, image, on_image_sent, image);
}

static void after_merging(sfd_graph_t *graph)
{
  sfd_root_requests_t *requests = graph->setup->root_requests;
  const sfd_root_merge_t *merging = requests->merging;
  requests->merged = true;
  if (merging->status != SF_OK) {
    sfd_setup_note_error(graph->setup, merging->status, graph->group->locals[0], -1, merging->detail);
    sfd_setup_edges_done(graph);
    return;
  }
  requests->nunanswered = merging->ntargets;
  sfd_idle_expect(&graph->group->job->server->idle, SFD_EXPECT_NODES_NS);
  for (int32_t i = 0; i < merging->ntargets; i++)
    send_image(graph, &merging->targets[i]);
  if (sfd_agreement_is_pair(graph->group))
    sfd_setup_edges_done(graph); /* the other node's counts come with its part of the agreement */
}

static void on_merged(uv_work_t *work, int status)
{
  sfd_root_merge_t *merging = work->data;
  (void)status;
  if (merging->graph == NULL) {
    sfd_root_merge_free(merging);
    return;
  }
  sfd_server_t *server = merging->graph->group->job->server;
  sfd_network_gather(server, true);
  after_merging(merging->graph);
  sfd_network_gather(server, false);
}

/* Without memory sends no counts; the other node then checks nothing. */
static void send_counts_to_other(sfd_graph_t *graph)
{
  const sfd_group_t *group = graph->group;
  sfd_root_counts_t nothing = {.n = 0};
  sfd_root_requests_t *requests = requests_of(graph);
  if (requests != NULL)
    sfd_root_counts_collect(graph, group->locals, (size_t)group->nlocals, &requests->own_counts);
  sfd_root_counts_send(graph, group->nodes[1 - group->node_position],
                       requests != NULL ? &requests->own_counts : &nothing);
}

static void merge(sfd_graph_t *graph)
{
  sfd_root_merge_t *merging = NULL;
  sfd_root_requests_t *requests = requests_of(graph);
  sf_status_t status = requests != NULL ? sfd_root_merge_collect(graph, &merging)
                                        : sfshm_error(SF_ERR_NOMEM, "no memory for root requests of a graph");
  if (status != SF_OK)
    sfd_setup_note_error(graph->setup, status, graph->group->locals[0], -1, sfshm_error_detail());
  if (merging == NULL) {
    sfd_setup_edges_done(graph);
    return;
  }
  requests->merging = merging;
  merging->work.data = merging;
  if (merging->effort > MERGE_INLINE_EFFORT &&
      uv_queue_work(graph->group->job->server->loop, &merging->work, sfd_root_merge_run, on_merged) == 0)
    return;
  sfd_root_merge_begin(merging);
  after_merging(graph);
}

/* The graph of these numbers may have ended when messages were sent. */
static void finish_merge(sfd_server_t *server, uint64_t job_id, uint64_t group_id, uint64_t number)
{
  const sfd_job_t *job = sfd_job_find_id(server, job_id);
  const sfd_group_t *group = job != NULL ? sfd_group_find(job, group_id) : NULL;
  const sfd_graph_t *graph = group != NULL ? sfd_setup_find(group, number) : NULL;
  const sfd_root_requests_t *requests = graph != NULL ? graph->setup->root_requests : NULL;
  if (requests != NULL && requests->merged && requests->merging->status == SF_OK)
    (void)sfd_root_merge_finish(requests->merging); /* tried again when the leaf images are used */
}

void sfd_root_requests_begin(sfd_graph_t *graph)
{
  sfd_server_t *server = graph->group->job->server;
  uint64_t job = graph->group->job->id, group = graph->group->id, number = graph->number;
  sfd_network_gather(server, true);
  if (sfd_agreement_is_pair(graph->group))
    send_counts_to_other(graph);
  merge(graph);
  sfd_network_gather(server, false);
  finish_merge(server, job, group, number); /* while the other nodes work */
}

/* ---- Being asked ------------------------------------------------------------------------------------------------- */

static sf_status_t open_request(const sfd_root_request_t *incoming, sfshm_image_t *image)
{
  return sfshm_image_open(incoming->image, incoming->bytes, SFSHM_ROOT_IMAGE_MAGIC, image);
}

/* Two nodes send their counts without request. */
static void answer(const sfd_graph_t *graph, sfd_root_request_t *incoming)
{
  sfshm_image_t image;
  incoming->answered = true;
  if (sfd_agreement_is_pair(graph->group) || open_request(incoming, &image) != SF_OK)
    return; /* checked on arrival */
  uint32_t n = image.header.nparts;
  sfd_root_counts_t counts = {.n = 0};
  int32_t *owners = calloc(n + 1u, sizeof *owners);
  for (uint32_t i = 0; owners != NULL && i < n; i++)
    owners[i] = sfshm_image_rank(&image, i);
  if (owners != NULL)
    sfd_root_counts_collect(graph, owners, n, &counts);
  sfd_root_counts_send(graph, incoming->node, &counts);
  sfd_root_counts_free(&counts);
  free(owners);
}

/* Whether the other node requests roots that do not exist, by the counts sent to it. */
static bool asks_too_much(const sfd_root_request_t *incoming, const sfd_root_counts_t *counts)
{
  sfshm_image_t image;
  sfshm_root_roots_t part;
  bool bad = open_request(incoming, &image) != SF_OK; /* checked on arrival */
  for (uint32_t i = 0; !bad && i < image.header.nparts; i++)
    bad = sfshm_root_part_open(&image, i, sfd_root_counts_of(counts, sfshm_image_rank(&image, i)), &part) != SF_OK;
  return bad;
}

bool sfd_root_requests_are_bad(sfd_graph_t *graph)
{
  const sfd_root_requests_t *requests = graph->setup->root_requests;
  if (requests == NULL)
    return false;
  bool bad = requests->merged && requests->merging->status == SF_OK &&
             check_roots(graph, &requests->merging->targets[0], &requests->other_counts);
  return bad || (requests->nincoming > 0 && asks_too_much(&requests->incoming[0], &requests->own_counts));
}

void sfd_root_requests_members_came(sfd_graph_t *graph)
{
  sfd_root_requests_t *requests = graph->setup->root_requests;
  for (int32_t i = 0; requests != NULL && i < requests->nincoming; i++)
    if (!requests->incoming[i].answered)
      answer(graph, &requests->incoming[i]);
}

static bool has_requested(const sfd_root_requests_t *requests, int32_t node)
{
  for (int32_t i = 0; requests != NULL && i < requests->nincoming; i++)
    if (requests->incoming[i].node == node)
      return true;
  return false;
}

/* Replaces a packed image by the unpacked one. */
static sf_status_t unpack(void **image, size_t *bytes)
{
  void *packed = *image;
  if (!sfshm_is_packed(packed, *bytes))
    return SF_OK;
  sf_status_t status = sfshm_unpack(packed, *bytes, image, bytes);
  if (status == SF_OK)
    free(packed);
  return status;
}

static sf_status_t check_image(const sfd_graph_t *graph, int32_t node, const void *image_memory, size_t bytes)
{
  const sfd_group_t *group = graph->group;
  sfshm_image_t image;
  if (has_requested(graph->setup->root_requests, node))
    return sfshm_error(SF_ERR_PROTO, "node %d asks twice for roots of a graph", node);
  sf_status_t status = sfshm_image_open(image_memory, bytes, SFSHM_ROOT_IMAGE_MAGIC, &image);
  if (status == SF_OK)
    status = sfshm_root_image_check(&image);
  for (uint32_t i = 0; status == SF_OK && i < image.header.nparts; i++)
    if (sfshm_image_rank(&image, i) < 0 || sfd_group_local(group, sfshm_image_rank(&image, i)) < 0)
      status = sfshm_error(SF_ERR_PROTO, "node %d wants roots of group rank %d, which is not here", node,
                           sfshm_image_rank(&image, i));
  return status;
}

static sf_status_t keep(sfd_graph_t *graph, int32_t node, void *image, size_t bytes)
{
  sfd_root_requests_t *requests = requests_of(graph);
  sfd_root_request_t *incoming =
      requests != NULL ? realloc(requests->incoming, ((size_t)requests->nincoming + 1) * sizeof *requests->incoming)
                       : NULL;
  if (incoming == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan from node %d", node);
  requests->incoming = incoming;
  requests->incoming[requests->nincoming] = (sfd_root_request_t){.node = node, .image = image, .bytes = bytes};
  requests->nincoming++;
  if (graph->setup->nhere == graph->group->nlocals)
    answer(graph, &requests->incoming[requests->nincoming - 1]);
  return SF_OK;
}

sf_status_t sfd_root_requests_arrived(sfd_group_t *group, int32_t node, const sfd_message_head_t *head, void *image)
{
  sfd_graph_t *graph = NULL;
  sf_status_t status = sfd_setup_find_gathering(group, head->desc, &graph);
  if (graph == NULL || graph->state != SFD_GRAPH_GATHERING) {
    free(image); /* the set-up has ended here, and the other node will hear of it */
    return status;
  }
  size_t bytes = head->payload_bytes;
  status = unpack(&image, &bytes);
  if (status == SF_OK)
    status = check_image(graph, node, image, bytes);
  if (status == SF_OK)
    status = keep(graph, node, image, bytes);
  if (status != SF_OK)
    free(image);
  return status;
}

/* ---- Trunks ------------------------------------------------------------------------------------------------------ */

static int compare_sources(const void *a, const void *b)
{
  const sfd_trunk_source_t *x = a, *y = b;
  return x->node != y->node ? (x->node > y->node) - (x->node < y->node) : (x->role > y->role) - (x->role < y->role);
}

sf_status_t sfd_root_requests_make_trunks(sfd_graph_t *graph)
{
  const sfd_root_requests_t *requests = graph->setup->root_requests;
  if (requests == NULL)
    return SF_OK;
  int32_t ntargets = requests->merging != NULL ? requests->merging->ntargets : 0;
  uint32_t n = 0;
  sf_status_t status = ntargets > 0 ? sfd_root_merge_finish(requests->merging) : SF_OK;
  if (status != SF_OK)
    return status;
  sfd_trunk_source_t *sources = calloc((size_t)ntargets + (size_t)requests->nincoming + 1, sizeof *sources);
  if (sources == NULL)
    return sfshm_error(SF_ERR_NOMEM, "trunks of a graph");
  for (int32_t i = 0; i < ntargets; i++) {
    const sfshm_merge_t *merge = &requests->merging->targets[i].merge;
    sources[n++] = (sfd_trunk_source_t){requests->merging->targets[i].node, SFSHM_AS_LEAF, merge->leaf_image,
                                        merge->leaf_image_bytes};
  }
  for (int32_t i = 0; i < requests->nincoming; i++)
    sources[n++] = (sfd_trunk_source_t){requests->incoming[i].node, SFSHM_AS_ROOT, requests->incoming[i].image,
                                        requests->incoming[i].bytes};
  qsort(sources, n, sizeof *sources, compare_sources);
  status = sfd_trunks_create(graph, sources, n);
  free(sources);
  return status;
}
