/* Clusters for system tests: see cluster.h. Runs in the process of the test. */
#include "tests/system/cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/system/sfctl.h"
#include "tests/system/work.h"

/* ---- Ports ------------------------------------------------------------------------------------------------------- */

/* A socket bound to the port, 0: to any. That several are bound is no conflict as long as one of them listens. */
static int bind_port(int port)
{
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ck_assert_msg(bind(fd, (const struct sockaddr *)&address, sizeof address) == 0, "port %d: %s", port, strerror(errno));
  return fd;
}

static int port_of(int fd)
{
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
  return ntohs(address.sin_port);
}

static void reserve_ports(sftest_cluster_t *cluster)
{
  for (int32_t i = 0; i < cluster->nnodes; i++) {
    size_t length = strlen(cluster->peers);
    cluster->reserved[i] = bind_port(0);
    cluster->ports[i] = port_of(cluster->reserved[i]);
    snprintf(cluster->peers + length, sizeof cluster->peers - length, "%s127.0.0.1:%d", i > 0 ? "," : "",
             cluster->ports[i]);
  }
}

/* ---- Daemons ----------------------------------------------------------------------------------------------------- */

static void key_path(const sftest_node_t *node, char path[128])
{
  snprintf(path, 128, "%s/key", node->directory);
}

static void write_key(const sftest_node_t *node)
{
  static const char key[] = "what only the daemons of this test know";
  char path[128];
  key_path(node, path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ck_assert_int_eq(write(fd, key, sizeof key), (ssize_t)sizeof key);
  close(fd);
}

static void launch(sftest_cluster_t *cluster, int32_t number)
{
  sftest_node_t *node = &cluster->nodes[number];
  char peers[sizeof cluster->peers + 16], me[32], path[128], key[160], level[64], patience[48];
  snprintf(level, sizeof level, "--log-level=%s", cluster->log_level != NULL ? cluster->log_level : "error");
  if (cluster->nnodes == 1) {
    sftest_node_launch(node, cluster->log_level != NULL ? (const char *const[]){level, NULL} : NULL);
    return;
  }
  key_path(node, path);
  snprintf(peers, sizeof peers, "--peers=%s", cluster->peers);
  snprintf(me, sizeof me, "--node=%d", number);
  snprintf(key, sizeof key, "--peer-key=%s", path);
  snprintf(patience, sizeof patience, "--connect-timeout=%d",
           cluster->connect_timeout_s > 0 ? cluster->connect_timeout_s : 10);
  const char *const options[] = {"--fabric=tcp", peers, me, key, level, patience, NULL};
  if (cluster->hosts == NULL) {
    node->fabric_fd = bind_port(cluster->ports[number]);
    sftest_node_launch(node, options);
    close(node->fabric_fd);
    return;
  }
  ck_assert_int_eq(setns(cluster->hosts->namespaces[number], CLONE_NEWNET), 0);
  sftest_node_launch(node, options);
  ck_assert_int_eq(setns(cluster->hosts->home, CLONE_NEWNET), 0);
}

static void log_to_directory(sftest_node_t *node)
{
  char path[sizeof node->log];
  snprintf(path, sizeof path, "%s/log", node->directory);
  memcpy(node->log, path, sizeof path);
}

static void launch_all(sftest_cluster_t *cluster)
{
  for (int32_t i = 0; i < cluster->nnodes; i++) {
    sftest_node_t *node = &cluster->nodes[i];
    sftest_node_prepare(node);
    write_key(node);
    if (cluster->log_level != NULL)
      log_to_directory(node);
    launch(cluster, i);
  }
}

void sftest_cluster_start_logging(sftest_cluster_t *cluster, int32_t nnodes, const char *log_level)
{
  *cluster = (sftest_cluster_t){.nnodes = nnodes, .log_level = log_level};
  ck_assert_int_le(nnodes, SFTEST_NODES_MAX);
  reserve_ports(cluster);
  launch_all(cluster);
}

void sftest_cluster_start_on(sftest_cluster_t *cluster, const sftest_hosts_t *hosts)
{
  *cluster = (sftest_cluster_t){.nnodes = hosts->n, .hosts = hosts};
  for (int32_t i = 0; i < hosts->n; i++)
    cluster->reserved[i] = -1;
  strcpy(cluster->peers, hosts->peers);
  launch_all(cluster);
}

void sftest_cluster_start(sftest_cluster_t *cluster, int32_t nnodes)
{
  sftest_cluster_start_logging(cluster, nnodes, NULL);
}

void sftest_cluster_start_warm(sftest_cluster_t *cluster, int32_t nnodes)
{
  sftest_cluster_start(cluster, nnodes);
  sftest_cluster_warm(cluster);
}

void sftest_cluster_kill(sftest_cluster_t *cluster, int32_t node)
{
  sftest_node_kill(&cluster->nodes[node]);
}

void sftest_cluster_restart(sftest_cluster_t *cluster, int32_t node)
{
  if (cluster->nodes[node].pid != 0)
    sftest_cluster_kill(cluster, node);
  launch(cluster, node);
}

void sftest_cluster_stop(sftest_cluster_t *cluster)
{
  for (int32_t i = 0; i < cluster->nnodes; i++) {
    sftest_node_t *node = &cluster->nodes[i];
    char path[128];
    key_path(node, path);
    unlink(path);
    if (node->log[0] != '\0')
      unlink(node->log);
    close(cluster->reserved[i]);
    sftest_node_remove(node);
  }
  errno = 0;
  ck_assert_msg(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "child processes are left");
}

/* ---- What they hold ---------------------------------------------------------------------------------------------- */

/* Each rank has leaves on the roots of all others: so every two nodes have something to say to each other. */
SFTEST_JOINED(talk_to_all)
{
  sf_graph_t *graph = NULL;
  int32_t ranks[SFTEST_NODES_MAX];
  int64_t roots[SFTEST_NODES_MAX] = {0};
  for (int32_t i = 0; i < self->size; i++)
    ranks[i] = i;
  SFTEST_OK(self, sf_graph_create(world, 1, self->size, NULL, ranks, roots, 0, &graph));
  int32_t mine = 100 + self->rank, all[SFTEST_NODES_MAX] = {0};
  SFTEST_OK(self, sf_bcast(graph, SF_INT32, &mine, all, SF_REPLACE));
  for (int32_t i = 0; i < self->size; i++)
    SFTEST_REQUIRE(self, all[i] == 100 + i);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

void sftest_cluster_warm(sftest_cluster_t *cluster)
{
  int32_t places[SFTEST_NODES_MAX];
  sftest_places_cyclic(places, cluster->nnodes, cluster->nnodes);
  sftest_run_over(cluster->nodes, places, cluster->nnodes, talk_to_all, NULL);
  for (int32_t i = 0; i < cluster->nnodes; i++)
    cluster->fds[i] = sftest_node_rest(&cluster->nodes[i], cluster->nnodes - 1);
}

void sftest_cluster_settle(const sftest_cluster_t *cluster)
{
  for (int32_t i = 0; i < cluster->nnodes; i++)
    sftest_node_settle(&cluster->nodes[i], cluster->fds[i]);
}

/* ---- For a test case --------------------------------------------------------------------------------------------- */

sftest_cluster_t sftest_case_cluster;
static int32_t case_nnodes;

static void start_for_case(void)
{
  sftest_cluster_start_warm(&sftest_case_cluster, case_nnodes);
}

void sftest_stop_nodes(void)
{
  sftest_cluster_stop(&sftest_case_cluster);
}

void sftest_two_nodes(void)
{
  sftest_cluster_start_warm(&sftest_case_cluster, 2);
}

void sftest_three_nodes(void)
{
  sftest_cluster_start_warm(&sftest_case_cluster, 3);
}

void sftest_four_nodes(void)
{
  sftest_cluster_start_warm(&sftest_case_cluster, 4);
}

void sftest_cluster_for_case(TCase *tests, int32_t nnodes)
{
  case_nnodes = nnodes;
  tcase_add_unchecked_fixture(tests, start_for_case, sftest_stop_nodes);
}

int32_t sftest_coordinator_of(const char *job, int32_t nnodes)
{
  uint32_t hash = 2166136261u ^ (uint32_t)getuid();
  for (const char *p = job; *p != '\0'; p++)
    hash = (hash ^ (unsigned char)*p) * 16777619u;
  return (int32_t)(hash % (uint32_t)nnodes);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

void sftest_places_block(int32_t places[], int32_t size, int32_t nnodes)
{
  for (int32_t rank = 0; rank < size; rank++)
    places[rank] = rank * nnodes / size;
}

void sftest_places_cyclic(int32_t places[], int32_t size, int32_t nnodes)
{
  for (int32_t rank = 0; rank < size; rank++)
    places[rank] = rank % nnodes;
}

void sftest_places_random(int32_t places[], int32_t size, int32_t nnodes, uint64_t *random)
{
  int32_t alone = (int32_t)sftest_below(random, size), favourite = (int32_t)sftest_below(random, nnodes);
  int64_t style = sftest_below(random, 3);
  for (int32_t rank = 0; rank < size; rank++) {
    if (style == 0) /* all but one together */
      places[rank] = rank == alone ? (favourite + 1) % nnodes : favourite;
    else if (style == 1 && sftest_below(random, 2) == 0)
      places[rank] = favourite;
    else
      places[rank] = (int32_t)sftest_below(random, nnodes);
  }
}

void sftest_places_choose(int32_t places[], int32_t size, int32_t max_nodes, uint64_t *random)
{
  int32_t nnodes = max_nodes == 1 ? 1 : 2 + (int32_t)sftest_below(random, max_nodes - 1);
  switch (sftest_below(random, 4)) {
  case 0:
    sftest_places_block(places, size, nnodes);
    break;
  case 1:
    sftest_places_cyclic(places, size, nnodes);
    break;
  default:
    sftest_places_random(places, size, nnodes, random);
    break;
  }
}

void sftest_cluster_run(const sftest_cluster_t *cluster, const int32_t places[], int32_t size, sftest_rank_fn_t run,
                        void *argument)
{
  sftest_run_over(cluster->nodes, places, size, run, argument);
  sftest_cluster_settle(cluster);
}

sftest_traffic_t sftest_cluster_traffic(const sftest_cluster_t *cluster)
{
  sftest_traffic_t sum = {0, 0};
  for (int32_t node = 0; node < cluster->nnodes; node++) {
    sftest_sfctl(cluster->nodes[node].socket, WORDS("peers", "--json"), 0);
    const char *at = sftest_sfctl_out;
    while ((at = strstr(at, "\"kind\":\"data\"")) != NULL) {
      unsigned long long messages, bytes;
      const char *m = strstr(at, "\"messages_sent\":"), *p = strstr(at, "\"payload_sent\":");
      ck_assert(m != NULL && sscanf(m, "\"messages_sent\":%llu", &messages) == 1);
      ck_assert(p != NULL && sscanf(p, "\"payload_sent\":%llu", &bytes) == 1);
      sum.messages += messages;
      sum.bytes += bytes;
      at++;
    }
  }
  return sum;
}
