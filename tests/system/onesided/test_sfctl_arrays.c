/* sfctl about arrays over two nodes: shape, distribution and what the ranks of a node have done, as table, JSON and
 * metrics; and whom requests wait for that a daemon does not answer. */
#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"

#define RANKS 4

typedef struct scene {
  _Atomic int32_t nready;
  _Atomic bool stopped, over;
} scene_t;

/* Ranks 0 and 1 are on node 0. Each owns 10 rows. */
SFTEST_JOINED(work)
{
  scene_t *scene = self->argument;
  const int64_t extent[] = {40, 6}, row[] = {1, 6}, one[] = {1, 1};
  int64_t own[] = {10 * self->rank, 0}, other[] = {10 * (self->rank ^ 1), 0}, far[] = {10 * (self->rank ^ 2), 0};
  const sf_array_distribution_t distribution = {.grid = {4, 1}, .block = {0, 2}};
  double values[6] = {0};
  sf_array_t *array;
  SFTEST_OK(self, sf_array_create(world, SF_DOUBLE, 2, extent, &distribution, &array));
  SFTEST_OK(self, sf_array_put(array, own, row, values, NULL));
  SFTEST_OK(self, sf_array_get(array, other, one, values, NULL));
  for (int i = 0; i < 3; i++)
    SFTEST_OK(self, sf_array_acc(array, far, row, values, NULL, NULL));
  SFTEST_OK(self, sf_array_flush(array, SF_ARRAY_ALL_RANKS));
  scene->nready++;
  SFTEST_SLEEP_WHILE(!scene->stopped);
  if (self->rank == 1)
    SFTEST_OK(self, sf_array_put(array, far, row, values, NULL));
  scene->nready++;
  SFTEST_OK(self, sf_array_flush(array, SF_ARRAY_ALL_RANKS));
  SFTEST_SLEEP_WHILE(!scene->over);
  SFTEST_OK(self, sf_array_destroy(array));
}

/* After the operations of the ranks. */
static void look_at_arrays(const char *socket, const char *other_socket)
{
  sftest_sfctl(socket, WORDS("arrays", "--wide"), 0);
  sftest_expect_in(sftest_sfctl_out, "40 x 6");
  sftest_expect_in(sftest_sfctl_out, "4 x 1");
  sftest_expect_in(sftest_sfctl_out, "even x by 2");
  sftest_sfctl(socket, WORDS("arrays", "--json"), 0);
  sftest_expect_in(sftest_sfctl_out, "\"unit\":\"double\"");
  sftest_expect_in(sftest_sfctl_out, "\"here\":2,\"part_bytes\":960,\"in_flight\":0");
  sftest_expect_in(sftest_sfctl_out, "{\"way\":\"own\",\"kind\":\"put\",\"operations\":2,\"bytes\":96}");
  sftest_expect_in(sftest_sfctl_out, "{\"way\":\"node\",\"kind\":\"get\",\"operations\":2,\"bytes\":16}");
  sftest_expect_in(sftest_sfctl_out, "{\"way\":\"daemon\",\"kind\":\"acc\",\"operations\":6,\"bytes\":288}");
  sftest_sfctl(socket, WORDS("top", "-n", "1", "-d", "0.02", "arrays", "--wide"), 0);
  sftest_expect_in(sftest_sfctl_out, "DAEMON/s");
  sftest_expect_in(sftest_sfctl_out, "\n1 array:  0 OPS/s");
  sftest_sfctl(socket, WORDS("top", "-n", "1", "-d", "0.02", "--json", "arrays"), 0);
  sftest_expect_in(sftest_sfctl_out, "\"in_flight_requests\":0,\"part_bytes\":960");
  sftest_sfctl(socket, WORDS("matrix", "--all-nodes", "--by", "nodes", "--format", "csv"), 0);
  sftest_expect_in(sftest_sfctl_out, "\nnode 0,other nodes,6,288\n");
  sftest_expect_in(sftest_sfctl_out, "\nnode 1,other nodes,6,288\n");
  sftest_sfctl(other_socket, WORDS("matrix", "--by", "nodes", "--format", "csv"), 0);
  sftest_expect_in(sftest_sfctl_out, "\nnode 1,other nodes,6,288\n");
  sftest_sfctl(socket, WORDS("trace", "dump"), 0);
  sftest_expect_in(sftest_sfctl_out, "\"cat\":\"array\",\"name\":\"array put\"");
  sftest_expect_in(sftest_sfctl_out, "\"cat\":\"array\",\"name\":\"array get\"");
  sftest_expect_in(sftest_sfctl_out, "\"cat\":\"array\",\"name\":\"array flush\"");
  sftest_expect_in(sftest_sfctl_out, "\"cat\":\"array\",\"name\":\"array acc from node 1\"");
  sftest_expect_in(sftest_sfctl_out, "\"sequence\":0,\"bytes\":48}");
  sftest_sfctl(socket, WORDS("metrics", "--all-nodes"), 0);
  sftest_expect_in(sftest_sfctl_out, "way=\"daemon\",kind=\"acc\"} 6\n");
}

SFTEST(arrays)
{
  static const int32_t places[] = {0, 0, 1, 1};
  sftest_cluster_t cluster;
  sftest_sfctl_t run;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_cluster_start_warm(&cluster, 2);
  const char *socket = cluster.nodes[0].socket;
  sftest_sfctl(socket, WORDS("trace", "start"), 0);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, work, scene);
  sftest_await(&scene->nready, RANKS);
  look_at_arrays(socket, cluster.nodes[1].socket);
  sftest_sfctl(socket, WORDS("stuck", "--threshold", "3600"), 0);
  kill(cluster.nodes[1].pid, SIGSTOP);
  scene->stopped = true;
  sftest_await(&scene->nready, 2 * RANKS);
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  do { /* it reads shared memory, where arrays are not, if the daemon does not answer in time */
    sftest_sfctl_start(&run, socket, WORDS("stuck", "--threshold", "0.2", "--timeout", "3"), NULL);
    sftest_sfctl_finish(&run);
  } while (sftest_sfctl_code == 0 && sftest_now_ms() < until);
  kill(cluster.nodes[1].pid, SIGCONT);
  ck_assert_int_eq(sftest_sfctl_code, 1);
  sftest_expect_in(sftest_sfctl_out, "rank 1 of job ");
  sftest_expect_in(sftest_sfctl_out, "node 0) waits for a flush from node 1: 1 request on the array of graph ");
  scene->over = true;
  sftest_job_end_well(&job);
  sftest_sfctl(socket, WORDS("arrays"), 0);
  sftest_expect_in(sftest_sfctl_out, "no arrays");
  sftest_cluster_stop(&cluster);
}
