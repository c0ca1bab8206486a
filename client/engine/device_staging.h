/* Staging of device data in host memory: for cells, slots and trunks one kernel brings the values for all neighbours to
 * the host and is waited for once; lanes then pack from there as from any memory of the host. The thread that uses the
 * graph. */
#ifndef SFC_ENGINE_DEVICE_STAGING_H
#define SFC_ENGINE_DEVICE_STAGING_H

#include "client/engine/operation.h"

typedef struct sfc_staging sfc_staging_t;

/* The request's fields with other sources: the values of a lane that are sent, one behind the other in memory of the
 * host, and for a trunk's contributions the extra ones behind them. Valid until the next call. NULL: the sources are
 * not all on devices, or there is no memory: then lanes pack each by itself. */
const sfc_field_t *sfc_staging_find(const sfc_lane_t *lane, sf_request_t *request);

/* Frees the request's. */
void sfc_staging_free(sf_request_t *request);

#endif
