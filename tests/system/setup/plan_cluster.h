/* Clusters that say when they share the plan of a graph, and places of jobs on them. */
#ifndef SFTEST_PLAN_CLUSTER_H
#define SFTEST_PLAN_CLUSTER_H

#include "tests/system/cluster.h"

extern sftest_cluster_t sftest_plan_cluster;

void sftest_plans_on_one_node(void);

void sftest_plans_on_three_nodes(void);

void sftest_plans_stop(void);

/* How often they have found a plan. */
int sftest_count_shared_plans(void);

extern const int32_t sftest_places_here[4];
extern const int32_t sftest_places_spread[][4];

#endif
