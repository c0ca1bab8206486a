/* The table of operations in flight: see in_flight.h. */
#include "client/engine/in_flight.h"

#include <stdlib.h>

#include "shm/base/error.h"

sf_status_t sfc_in_flight_make_room(sf_graph_t *graph)
{
  uint64_t size = graph->flight.table_mask + 1;
  sf_request_t **table = calloc(2 * size, sizeof *table);
  if (table == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%llu operations in flight", (unsigned long long)size);
  for (uint64_t sequence = graph->flight.first_sequence; sequence <= graph->flight.last_sequence; sequence++)
    table[sequence & (2 * size - 1)] = graph->flight.table[sequence & graph->flight.table_mask];
  free(graph->flight.table);
  graph->flight.table = table;
  graph->flight.table_mask = 2 * size - 1;
  return SF_OK;
}

sf_request_t *sfc_lane_next_request(const sfc_lane_t *lane, uint64_t sequence)
{
  const sf_graph_t *graph = lane->graph;
  while (++sequence <= graph->flight.last_sequence) {
    sf_request_t *next = graph->flight.table[sequence & graph->flight.table_mask];
    if (next != NULL && sfc_lane_receives(lane, next->operation))
      return next;
  }
  return NULL;
}
