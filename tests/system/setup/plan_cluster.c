/* Clusters whose plans are counted: see plan_cluster.h. */
#include "tests/system/setup/plan_cluster.h"

sftest_cluster_t sftest_plan_cluster;

void sftest_plans_on_one_node(void)
{
  sftest_cluster_start_logging(&sftest_plan_cluster, 1, "debug");
  sftest_cluster_warm(&sftest_plan_cluster);
}

void sftest_plans_on_three_nodes(void)
{
  sftest_cluster_start_logging(&sftest_plan_cluster, 3, "debug");
  sftest_cluster_warm(&sftest_plan_cluster);
}

void sftest_plans_stop(void)
{
  sftest_cluster_stop(&sftest_plan_cluster);
}

/* How often daemons have said that, all together. */
static int sftest_count_log_lines(const char *text)
{
  char line[1024];
  int n = 0;
  for (int32_t i = 0; i < sftest_plan_cluster.nnodes; i++) {
    FILE *log = fopen(sftest_plan_cluster.nodes[i].log, "r");
    ck_assert_ptr_nonnull(log);
    while (fgets(line, sizeof line, log) != NULL)
      n += strstr(line, text) != NULL;
    fclose(log);
  }
  return n;
}

int sftest_count_shared_plans(void)
{
  return sftest_count_log_lines("has the plan of graph");
}

const int32_t sftest_places_here[4] = {0, 0, 0, 0};
const int32_t sftest_places_spread[][4] = {{0, 1, 0, 1}, {2, 0, 0, 1}, {1, 1, 1, 2}};
