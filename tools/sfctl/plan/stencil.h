/* sfctl plan for a stencil: partition and placement of a grid, by the library's code (client/partition), and the
 * messages of an exchange of halos. */
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
  int64_t unit_bytes;                /* bytes of a point, all fields */
  int32_t *rank_of;                  /* rank of each subdomain, by its number */
  bool placed;                       /* distances are given, and the costs are known */
  sfc_placement_cost_t linear, best; /* total: summed over nodes; busiest: of all nodes */
} sfctl_stencil_t;

/* Computes partition and placement. SF_ERR_ARG: an option or the file of distances is invalid. SF_ERR_SYS: the file
 * cannot be opened. SF_ERR_NOMEM. */
sf_status_t sfctl_stencil_init(const sfctl_options_t *options, sfctl_stencil_t *stencil_p);
void sfctl_stencil_free(sfctl_stencil_t *stencil);

/* Computes the messages of an exchange, in values of one field. Each value is sent once to a node, and once to a rank
 * of the owner's node. Errors: SF_ERR_NOMEM. */
sf_status_t sfctl_stencil_forecast(const sfctl_stencil_t *stencil, sfctl_forecast_t *forecast_p);

/* Print partition and placement; with pairs also the values and the protocol of each pair of ranks. */
sf_status_t sfctl_stencil_print(const sfctl_stencil_t *stencil, bool pairs, FILE *file);
sf_status_t sfctl_stencil_write(const sfctl_stencil_t *stencil, bool pairs, sfctl_json_t *json);

#endif
