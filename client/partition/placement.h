/* Placement of subdomains on the places of a node (ranks, devices) as a quadratic assignment problem [C. Pearson et
 * al., "Node-Aware Stencil Communication for Heterogeneous Supercomputers", 2020, III.B]. Matrices are n x n, by rows.
 * flow[i * n + j]: values that subdomain i needs of subdomain j. distance[k * n + l]: time of a value from place l to
 * place k, in any unit. Pure functions; any thread. */
#ifndef SFC_PARTITION_PLACEMENT_H
#define SFC_PARTITION_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/partition/partition.h"

#define SFC_PLACEMENT_EXACT 8 /* places up to which the optimum is found */

/* What an exchange costs with subdomain i at place[i]. */
typedef struct sfc_placement_cost {
  double total;   /* the sum of flow * distance, which the assignment minimises */
  double busiest; /* that sum for the place with the largest one: about the time of an exchange */
} sfc_placement_cost_t;

sfc_placement_cost_t sfc_placement_cost(int32_t n, const double flow[], const double distance[], const int32_t place[]);

/* Fills place[i] for n subdomains: the optimum for up to SFC_PLACEMENT_EXACT, else the best local optimum of exchanges
 * of two subdomains from several starts, always the same. Never costs more than place[i] = i, which remains if nothing
 * is better. scratch has n elements. */
void sfc_placement_find(int32_t n, const double flow[], const double distance[], int32_t place[], int32_t scratch[]);

/* Fills in the flow between the n subdomains numbered first, first + 1, ... */
void sfc_placement_flow(const sfc_partition_t *partition, const sfc_halo_t *halo, int64_t first, int32_t n,
                        double flow[]);

#endif
