/* Moving one operation's data over one lane: choosing the method, packing, posting, taking, unpacking. */
#ifndef SFC_TRANSFER_H
#define SFC_TRANSFER_H

#include "client/operation.h"

/* Whether the lane carries data of the operation from here, and to here. */
static inline bool sfc_lane_sends(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return (operation == SFSHM_BCAST ? lane->as_root : lane->as_leaf).nvalues > 0;
}

static inline bool sfc_lane_receives(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return (operation == SFSHM_BCAST ? lane->as_leaf : lane->as_root).nvalues > 0;
}

/* Sends as much of the request as the lane takes, from lane->tx_cursor on. True when everything has been posted; unless
 * it will be read in place, that ends the lane's part in the request's sends. */
bool sfc_lane_send(sfc_lane_t *lane, sf_request_t *request);

/* Ends the parts of requests that the other end has finished reading in place. Whether there were any. */
bool sfc_lane_check_read(sfc_lane_t *lane);

/* Takes what has arrived for lane->rx_request, and for the requests behind it. Whether anything moved. */
bool sfc_lane_receive(sfc_lane_t *lane);

/* Ends the lane's part in the request that it receives for, and turns to the next one. */
void sfc_lane_finish_receive(sfc_lane_t *lane);

/* Fails the graph for all ranks. */
void sfc_graph_fail_everywhere(sf_graph_t *graph, sf_status_t status, const char *detail);

#endif
