/* Costs of operations other than time: processor time, bytes on the network, and messages between the daemons. The
 * kernel's counters measure all contenders alike. */
#ifndef SFPERF_RESULTS_COSTS_H
#define SFPERF_RESULTS_COSTS_H

#include <stdbool.h>

#include "tools/sfperf/nodes.h"
#include "tools/sfperf/patterns/edges.h"
#include "tools/sfperf/results/measure.h"

/* Of one operation, over all ranks, daemons and hosts. */
typedef struct sfperf_costs {
  double cpu_us;   /* of ranks and daemons, waiting by polling included */
  double wire;     /* bytes that left the network interfaces, headers included; disturbed by other programs */
  bool told;       /* the daemons' counters could be read */
  double messages; /* data messages between daemons */
  double payload;  /* their payload, bytes */
} sfperf_costs_t;

/* Runs so many iterations of the contender and counts their costs. Collective, the same result on all ranks. */
sfperf_costs_t sfperf_costs_of(const sfperf_contender_t *contender, int64_t iterations, const sfperf_nodes_t *nodes);

/* What one message for each pair of ranks on different nodes would make of it, each leaf's value on its own.
 * Collective, likewise. */
void sfperf_costs_of_pairs(int rank, const sfperf_edges_t *edges, const sfperf_nodes_t *nodes, double *messages_p,
                           double *payload_p);

/* Processor time of all threads of another process; 0 if this user may not read it. */
double sfperf_process_cpu_us(int pid);

#endif
