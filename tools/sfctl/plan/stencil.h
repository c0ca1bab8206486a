/* sfctl plan for a stencil: the partition and placement that the library makes of a grid (client/partition), and what
 * an exchange of halos sends. */
#ifndef SFCTL_PLAN_STENCIL_H
#define SFCTL_PLAN_STENCIL_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "client/partition.h"
#include "tools/sfctl/options.h"
#include "tools/sfctl/plan/forecast.h"
#include "tools/sfctl/print/json.h"

typedef struct sfctl_stencil {
  sfc_partition_t partition;
  sfc_halo_t halo;
  int32_t nnodes, per_node;
  int64_t unit_bytes; /* of a point: all fields */
  int32_t *rank_of;   /* by number of a subdomain */
  bool placed;        /* distances are given: the following are known, summed over nodes */
  sfc_placement_cost_t linear, best;
} sfctl_stencil_t;

/* Divides and places. SF_ERR_ARG, SF_ERR_SYS: the options or the file of distances make no sense; SF_ERR_NOMEM. */
sf_status_t sfctl_stencil_init(const sfctl_options_t *options, sfctl_stencil_t *stencil_p);
void sfctl_stencil_free(sfctl_stencil_t *stencil);

/* What an exchange sends, in values of one field; a node and a rank need each value once. SF_ERR_NOMEM. */
sf_status_t sfctl_stencil_forecast(const sfctl_stencil_t *stencil, sfctl_forecast_t *forecast_p);

/* Partition and placement; with pairs also which way values of each pair of ranks take. */
sf_status_t sfctl_stencil_print(const sfctl_stencil_t *stencil, bool pairs, FILE *file);
sf_status_t sfctl_stencil_write(const sfctl_stencil_t *stencil, bool pairs, sfctl_json_t *json);

#endif
