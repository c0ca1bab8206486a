/* Mapped regions of trunks: see trunk_boards.h. Any thread. */
#include "client/trunk_boards.h"

#include <stdlib.h>

#include "client/context.h"
#include "client/trunk.h"
#include "shm/error.h"

#define MAX_BOARD_BYTES ((uint64_t)1 << 32)
#define BOARD_ALIGN 128u

struct sfc_board_region {
  sfc_board_region_t *next;
  uint64_t number; /* the daemon's */
  sfshm_region_t region;
};

sf_status_t sfc_trunk_get_region(sf_graph_t *graph, uint64_t class_bytes, sfshm_region_t *region_p)
{
  Sfproto__ExchangeGet get = SFPROTO__EXCHANGE_GET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sfproto_incoming_t incoming;
  get.graph = graph->number;
  get.class_bytes = class_bytes;
  message.body_case = SFPROTO__MESSAGE__BODY_EXCHANGE_GET;
  message.exchange_get = &get;
  sf_status_t status =
      sfc_control_call(&graph->context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_EXCHANGE, &incoming);
  if (status != SF_OK)
    return status;
  if (incoming.nfds != 1)
    status = sfshm_error(SF_ERR_PROTO, "memory of trunks with %d descriptors", incoming.nfds);
  else if (class_bytes != 0)
    status =
        sfshm_region_map(incoming.fds[0], SFSHM_REGION_EXCHANGE, SFC_EXCHANGE_MAX_BYTES, SFSHM_READ_WRITE, region_p);
  else
    status = sfshm_region_map(incoming.fds[0], SFSHM_REGION_TRUNK_BOARD, MAX_BOARD_BYTES, SFSHM_READ_WRITE, region_p);
  sfproto_incoming_free(&incoming);
  return status;
}

/* Under the context's lock. */
static const sfc_board_region_t *find_mapped(const sf_context_t *context, uint64_t number)
{
  const sfc_board_region_t *mapped = context->board_regions;
  while (mapped != NULL && mapped->number != number)
    mapped = mapped->next;
  return mapped;
}

static const sfc_board_region_t *look_for(sf_context_t *context, uint64_t number)
{
  pthread_mutex_lock(&context->lock);
  const sfc_board_region_t *mapped = find_mapped(context, number);
  pthread_mutex_unlock(&context->lock);
  return mapped;
}

/* Keeps a region, unless another thread has mapped it meanwhile. */
static const sfc_board_region_t *keep(sf_context_t *context, sfc_board_region_t *region)
{
  pthread_mutex_lock(&context->lock);
  const sfc_board_region_t *mapped = find_mapped(context, region->number);
  if (mapped == NULL) {
    region->next = context->board_regions;
    context->board_regions = region;
  }
  pthread_mutex_unlock(&context->lock);
  if (mapped == NULL)
    return region;
  sfshm_region_destroy(&region->region);
  free(region);
  return mapped;
}

static sf_status_t map_region(sf_graph_t *graph, uint64_t number, const sfc_board_region_t **mapped_p)
{
  sfc_board_region_t *region = calloc(1, sizeof *region);
  if (region == NULL)
    return sfshm_error(SF_ERR_NOMEM, "trunk boards");
  region->number = number;
  sf_status_t status = sfc_trunk_get_region(graph, 0, &region->region);
  if (status != SF_OK) {
    free(region);
    return status;
  }
  *mapped_p = keep(graph->context, region);
  return SF_OK;
}

sf_status_t sfc_trunk_board_find(sf_graph_t *graph, uint64_t number, uint64_t offset, uint32_t nsides,
                                 sfshm_trunk_board_t **board_p)
{
  const sfc_board_region_t *mapped = look_for(graph->context, number);
  sf_status_t status = mapped != NULL ? SF_OK : map_region(graph, number, &mapped);
  if (status != SF_OK)
    return status;
  size_t length = mapped->region.length_bytes, bytes = sfshm_trunk_board_bytes(nsides);
  if (bytes > length || offset > length - bytes || offset < sizeof(sfshm_region_header_t) || offset % BOARD_ALIGN != 0)
    return sfshm_error(SF_ERR_PROTO, "trunk board for %u sides at %llu of %zu bytes", nsides,
                       (unsigned long long)offset, length);
  *board_p = (sfshm_trunk_board_t *)(void *)((char *)mapped->region.base + offset);
  return SF_OK;
}

void sfc_trunk_boards_free(sf_context_t *context)
{
  while (context->board_regions != NULL) {
    sfc_board_region_t *region = context->board_regions;
    context->board_regions = region->next;
    sfshm_region_destroy(&region->region);
    free(region);
  }
}
