/* Joining and leaving a job: sf_init builds a context step by step, sf_finalize takes it apart in reverse. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/onesided.h"
#include "client/setup.h"
#include "shm/base/error.h"

/* Address space only: pages are allocated with blocks. Enough for lanes to thousands of neighbours. */
#define INBOX_BYTES ((size_t)16 << 20)
#define ALLOC_BYTES ((size_t)4 << 20)

/* The daemon reports missing ranks, over nodes up to a second late. If it has not by then it does not answer at all. */
#define LATE_ANSWER_MS 2000

static void count_generation(void)
{
  sfc_process_generation++;
}

static void watch_forks(void)
{
  (void)pthread_atfork(NULL, NULL, count_generation);
}

static sf_status_t make_regions(sf_context_t *context, const sfc_identity_t *identity, sfshm_region_t *inbox_p)
{
  sf_status_t status = sfc_counters_open(&context->counters, identity->job, program_invocation_short_name,
                                         identity->rank, identity->size);
  if (status != SF_OK)
    return status;
  sfc_heap_init(&context->inbox, SFSHM_REGION_INBOX, &context->control, &context->last_segment, INBOX_BYTES);
  sfc_heap_init(&context->alloc, SFSHM_REGION_ALLOC, &context->control, &context->last_segment, ALLOC_BYTES);
  sfc_heap_init(&context->on_devices, SFSHM_REGION_ALLOC, &context->control, &context->last_segment, 0);
  status =
      sfshm_region_create("sf-inbox", SFSHM_REGION_INBOX, INBOX_BYTES, SFSHM_SEAL_SIZE, SFSHM_COMMIT_LATER, inbox_p);
  if (status != SF_OK)
    return status;
  status = sfc_heap_adopt(&context->inbox, inbox_p, 0, sizeof(sfshm_inbox_t));
  if (status != SF_OK) {
    sfshm_region_destroy(inbox_p);
    return status;
  }
  context->wake = &((sfshm_inbox_t *)inbox_p->base)->wake;
  return SF_OK;
}

/* Takes the node of each rank, if there are several nodes. */
static sf_status_t take_nodes(sf_context_t *context, const Sfproto__Welcome *welcome)
{
  context->node = welcome->node;
  context->nnodes = welcome->node + 1;
  if (welcome->n_rank_nodes == 0)
    return SF_OK;
  if (welcome->n_rank_nodes != (size_t)context->size)
    return sfshm_error(SF_ERR_PROTO, "welcome with the nodes of %zu ranks out of %d", welcome->n_rank_nodes,
                       context->size);
  context->rank_nodes = malloc((size_t)context->size * sizeof *context->rank_nodes);
  if (context->rank_nodes == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d ranks", context->size);
  memcpy(context->rank_nodes, welcome->rank_nodes, (size_t)context->size * sizeof *context->rank_nodes);
  for (int32_t r = 0; r < context->size; r++)
    if (context->rank_nodes[r] >= context->nnodes)
      context->nnodes = context->rank_nodes[r] + 1;
  return SF_OK;
}

/* Sends Hello and waits until all ranks have joined. */
static sf_status_t join(sf_context_t *context, const sfc_identity_t *identity, const sfshm_region_t *inbox)
{
  sfproto_incoming_t incoming;
  int fds[] = {context->listener.daemon_end, inbox->fd, context->counters.region.fd};
  char software[32];
  snprintf(software, sizeof software, "libsfclient %s", sf_version());
  Sfproto__Message message = SFPROTO_MESSAGE_OF(
      HELLO, hello, .role = SFPROTO__HELLO__ROLE__CLIENT, .software = software, .job = (char *)(uintptr_t)identity->job,
      .key = (char *)(uintptr_t)identity->key, .has_rank = true, .has_size = true, .has_pid = true,
      .has_probe_address = true, .has_probe_value = true, .rank = identity->rank, .size = identity->size,
      .has_timeout_ms = identity->timeout_ms >= 0, .timeout_ms = identity->timeout_ms, .pid = (int32_t)getpid(),
      .probe_address = (uint64_t)(uintptr_t)&context->probe_value, .probe_value = context->probe_value,
      .program = program_invocation_short_name);
  if (identity->timeout_ms >= 0 && identity->timeout_ms < INT64_MAX - LATE_ANSWER_MS)
    context->control.patience_ms = identity->timeout_ms + LATE_ANSWER_MS;
  sf_status_t status = sfc_daemon_call(&context->control, &message, fds, 3, SFPROTO__MESSAGE__BODY_WELCOME, &incoming);
  context->control.patience_ms = 0;
  if (status != SF_OK)
    return status;
  const Sfproto__Welcome *welcome = incoming.message->welcome;
  context->job = welcome->job_id;
  if (incoming.nfds == 1)
    status = sfshm_region_map(incoming.fds[0], SFSHM_REGION_BOARD, (uint64_t)1 << 20, SFSHM_READ_ONLY,
                              &context->board_region);
  else
    status = sfshm_error(SF_ERR_PROTO, "welcome without the node board");
  if (status == SF_OK && context->board_region.length_bytes < sizeof(sfshm_board_t))
    status = sfshm_error(SF_ERR_PROTO, "node board of %zu bytes", context->board_region.length_bytes);
  if (status == SF_OK)
    status = take_nodes(context, welcome);
  if (status == SF_OK)
    status = sfc_peers_init(&context->peers, &context->control, welcome);
  context->board = context->board_region.base;
  if (status == SF_OK)
    sfc_counters_joined(&context->counters, context->job, context->node);
  context->claims.possible = context->alloc.sealed_by_daemon = welcome->has_workers && welcome->workers;
  sfproto_incoming_free(&incoming);
  return status;
}

/* Tests the next rank of the node. Permissions are usually mutual; each pair with edges is tested again at set-up. */
static void probe_neighbour(sf_context_t *context)
{
  for (int32_t i = 0; i < context->peers.n; i++) {
    sfc_peer_t *peer = &context->peers.entries[i];
    if (peer->rank == context->rank && context->peers.n > 1)
      context->readable = sfc_peer_can_read(&context->peers, &context->peers.entries[(i + 1) % context->peers.n]);
  }
}

static void free_context(sf_context_t *context)
{
  sfc_listener_close(&context->listener);
  while (context->graphs != NULL) {
    sf_graph_t *graph = context->graphs;
    context->graphs = graph->next;
    sfc_graph_free(graph);
  }
  sfc_plans_forget(context);
  sfc_retired_free(context);
  sfc_groups_free(context);
  sfc_peers_destroy(&context->peers);
  sfc_memory_destroy(&context->memory);
  if (context->inbox.control != NULL) {
    sfc_heap_destroy(&context->inbox);
    sfc_heap_destroy(&context->alloc);
    sfc_heap_destroy(&context->on_devices);
  }
  sfc_counters_close(&context->counters);
  sfshm_region_destroy(&context->board_region);
  sfc_trunk_regions_destroy(&context->trunk_regions);
  sfc_claim_pool_destroy(&context->claims);
  sfc_window_free(context->window);
  sfc_submit_ring_destroy(&context->submit_ring);
  sfc_daemon_close(&context->control);
  free(context->rank_nodes);
  pthread_mutex_destroy(&context->lock);
  free(context);
}

/* Returns a context that is not connected to the daemon yet. NULL: there is no memory. */
static sf_context_t *new_context(const sfc_identity_t *identity)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  sf_context_t *context = calloc(1, sizeof *context);
  if (context == NULL)
    return NULL;
  pthread_once(&once, watch_forks);
  pthread_mutex_init(&context->lock, NULL);
  context->generation = sfc_process_generation;
  context->rank = identity->rank;
  context->size = identity->size;
  context->sends_by_number = identity->sends_by_number;
  sfc_memory_init(&context->memory);
  sfc_submit_ring_init(&context->submit_ring, &context->control, &context->failed);
  sfc_claim_pool_init(&context->claims);
  sfc_trunk_regions_init(&context->trunk_regions);
  if (getrandom(&context->probe_value, sizeof context->probe_value, GRND_NONBLOCK) < 0)
    context->probe_value = (uint64_t)(uintptr_t)context; /* any value that others are unlikely to have */
  context->retired_graphs = sfc_retired_new();
  return context;
}

sf_status_t sf_init(const sf_init_options_t *options, sf_context_t **context_p)
{
  sfc_identity_t identity;
  sfshm_region_t inbox;
  if (context_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_init: context_p is NULL");
  sf_status_t status = sfc_identity_resolve(options, &identity);
  if (status != SF_OK)
    return status;
  sf_context_t *context = new_context(&identity);
  if (context == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sf_init: context");
  status = sfc_listener_open(&context->listener, &sfc_graph_listener_ops);
  if (status == SF_OK && context->retired_graphs == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "sf_init: records of destroyed graphs");
  if (status == SF_OK)
    status = sfc_daemon_open(&context->control, identity.socket_path);
  if (status == SF_OK)
    status = make_regions(context, &identity, &inbox);
  if (status == SF_OK) {
    sfc_counters_block(&context->counters, SFSHM_BLOCKED_IN_INIT, NULL);
    status = join(context, &identity, &inbox);
    sfc_counters_unblock(&context->counters);
  }
  if (status == SF_OK) {
    sfc_group_init_world(context);
    probe_neighbour(context);
    close(context->listener.daemon_end);
    context->listener.daemon_end = -1;
    status = sfc_listener_start(&context->listener, context);
  }
  if (status != SF_OK) {
    free_context(context);
    return status;
  }
  *context_p = context;
  return SF_OK;
}

/* Whether a graph that has not failed has operations in flight. */
static bool is_busy(const sf_context_t *context)
{
  for (const sf_graph_t *graph = context->graphs; graph != NULL; graph = graph->next)
    if (!sfc_graph_is_failed(graph) && sfc_graph_is_busy(graph))
      return true;
  return false;
}

sf_status_t sf_finalize(sf_context_t *context)
{
  if (context == NULL)
    return SF_OK;
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  if (is_busy(context))
    return sfshm_error(SF_ERR_STATE, "sf_finalize: operations are in flight");
  for (sf_graph_t *graph = context->graphs; graph != NULL; graph = graph->next)
    sfc_graph_tear_down(graph);
  sfc_peers_close_devices(&context->peers);
  sfc_heap_leave_devices(context);
  sfc_memory_withdraw_shared(&context->memory);
  Sfproto__Message message = SFPROTO_MESSAGE_OF(GOODBYE, goodbye);
  sfc_submit_ring_settle(&context->submit_ring);
  status = sfc_daemon_tell(&context->control, &message, NULL, 0);
  if (status == SF_OK)
    status = sfc_context_failure(context);
  sfc_context_fail(context, SF_ERR_STATE, "sf_finalize has been called"); /* for threads that continue nevertheless */
  free_context(context);
  return status;
}
