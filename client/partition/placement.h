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

/* Cost of an exchange with subdomain i at place[i]. */
typedef struct sfc_placement_cost {
  double total;   /* sum of flow * distance over all pairs, which the placement minimises */
  double busiest; /* highest sum of flow * distance of one place: about the time of an exchange */
} sfc_placement_cost_t;

sfc_placement_cost_t sfc_placement_cost(int32_t n, const double flow[], const double distance[], const int32_t place[]);

/* Fills place[i] for n subdomains. Up to SFC_PLACEMENT_EXACT subdomains: the optimum. More: the best local optimum of
 * exchanges of two subdomains from several starts, which are the same in every call. The result never costs more than
 * place[i] = i. scratch has n elements. */
void sfc_placement_find(int32_t n, const double flow[], const double distance[], int32_t place[], int32_t scratch[]);

/* Computes the flow between the n subdomains with the numbers first, first + 1, ... */
void sfc_placement_flow(const sfc_partition_t *partition, const sfc_halo_t *halo, int64_t first, int32_t n,
                        double flow[]);

#endif
