/* Memory of a graph's trunks: see trunk_memory.h. Any thread. */
#include "client/setup/trunk_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup/trunk_plan.h"
#include "shm/base/error.h"

#define BOARD_ALIGN 128u

/* ---- Map --------------------------------------------------------------------------------------------------------- */

sf_status_t sfc_trunk_map_input_take(sfc_trunk_map_input_t *input, sfproto_incoming_t *incoming,
                                     ProtobufCBinaryData *map)
{
  if (map == NULL) {
    if (incoming->nfds < 1)
      return sfshm_error(SF_ERR_PROTO, "trunks without their map");
    input->fd = incoming->fds[incoming->nfds - 1];
    incoming->fds[incoming->nfds - 1] = -1;
    return SF_OK;
  }
  if (map->data == NULL)
    return sfshm_error(SF_ERR_PROTO, "trunks with an empty map");
  input->memory = map->data;
  input->length_bytes = map->len;
  *map = (ProtobufCBinaryData){.data = NULL};
  return SF_OK;
}

void sfc_trunk_map_input_free(sfc_trunk_map_input_t *input)
{
  if (input->fd >= 0)
    close(input->fd);
  free(input->memory);
}

sf_status_t sfc_trunk_map_open(sf_context_t *context, sfc_trunks_t *trunks, sfc_trunk_map_input_t *input,
                               sfshm_region_t *region_p)
{
  if (input->memory == NULL) {
    sf_status_t status = sfc_trunk_regions_take_map(&context->trunk_regions, input->fd, &trunks->map_region);
    if (status == SF_OK)
      *region_p = *sfc_trunk_region(trunks->map_region);
    return status;
  }
  trunks->map_memory = input->memory;
  *region_p = (sfshm_region_t){.fd = -1, .base = input->memory, .length_bytes = input->length_bytes};
  input->memory = NULL;
  return SF_OK;
}

/* ---- Board and exchanges ----------------------------------------------------------------------------------------- */

/* Asks the daemon for the slots of a class of units; 0: for the region of the board. */
static sf_status_t get_region(sf_graph_t *graph, uint64_t class_bytes, int64_t side, sfproto_incoming_t *incoming)
{
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(EXCHANGE_GET, exchange_get, .graph = graph->number, .class_bytes = class_bytes,
                         .has_side = side != SFSHM_ALL_SIDES, .side = side != SFSHM_ALL_SIDES ? (uint32_t)side : 0);
  sf_status_t status =
      sfc_daemon_call(&graph->context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_EXCHANGE, incoming);
  if (status != SF_OK || incoming->nfds == 1)
    return status;
  status = sfshm_error(SF_ERR_PROTO, "memory of trunks with %d descriptors", incoming->nfds);
  sfproto_incoming_free(incoming);
  return status;
}

static sf_status_t map_board_region(sf_graph_t *graph, uint64_t number, sfc_trunk_region_t **region_p)
{
  sfproto_incoming_t incoming;
  sf_status_t status = get_region(graph, 0, SFSHM_ALL_SIDES, &incoming);
  if (status != SF_OK)
    return status;
  status = sfc_trunk_regions_take_boards(&graph->context->trunk_regions, number, incoming.fds[0], region_p);
  sfproto_incoming_free(&incoming);
  return status;
}

sf_status_t sfc_trunk_board_open(sf_graph_t *graph, uint64_t number, uint64_t offset)
{
  sfc_trunks_t *trunks = graph->trunks;
  trunks->board_region = sfc_trunk_regions_find_boards(&graph->context->trunk_regions, number);
  sf_status_t status = trunks->board_region != NULL ? SF_OK : map_board_region(graph, number, &trunks->board_region);
  if (status != SF_OK)
    return status;
  const sfshm_region_t *region = sfc_trunk_region(trunks->board_region);
  size_t length = region->length_bytes, bytes = sfshm_trunk_board_bytes(trunks->map->nsides);
  if (bytes > length || offset > length - bytes || offset < sizeof(sfshm_region_header_t) || offset % BOARD_ALIGN != 0)
    return sfshm_error(SF_ERR_PROTO, "trunk board for %u sides at %llu of %zu bytes", trunks->map->nsides,
                       (unsigned long long)offset, length);
  trunks->board = (sfshm_trunk_board_t *)(void *)((char *)region->base + offset);
  return SF_OK;
}

sf_status_t sfc_trunk_exchange_map(sf_graph_t *graph, uint64_t class_bytes, int64_t side, sfshm_region_t *region_p)
{
  sfproto_incoming_t incoming;
  sf_status_t status = get_region(graph, class_bytes, side, &incoming);
  if (status != SF_OK)
    return status;
  status = sfshm_region_map(incoming.fds[0], SFSHM_REGION_EXCHANGE, SFC_EXCHANGE_MAX_BYTES, SFSHM_READ_WRITE, region_p);
  sfproto_incoming_free(&incoming);
  return status;
}
