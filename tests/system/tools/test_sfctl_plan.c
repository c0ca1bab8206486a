/* sfctl plan for a matrix, compared with what daemons count of a job of 8 ranks on 2 nodes that has this matrix, its
 * rows dealt out as docs/examples/cg does: exactly the same. */
#include <sys/resource.h>
#include <time.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define NODES 2
#define RANKS 8
#define ROWS 331 /* of no multiple */
#define BAND 60
#define BCASTS 3
#define REDUCES 2
#define ROUNDS 2
#define QUICK_S 10 /* of processor time */

static const char *const out = sftest_sfctl_out;

typedef struct scene {
  _Atomic int32_t nready; /* ranks, each in each of two rounds */
  _Atomic int32_t looked; /* rounds that have been looked at */
  bool entry[ROWS][ROWS];
} scene_t;

static int32_t first_row(int32_t rank)
{
  return ROWS * rank / RANKS;
}

/* Leaves: the columns outside the rank's own rows that have entries, each once. */
static void create_graph(sftest_rank_t *self, const scene_t *scene, sf_context_t *context, sf_graph_t **graph_p)
{
  int32_t ranks[ROWS], nleaves = 0, first = first_row(self->rank), end = first_row(self->rank + 1);
  int64_t roots[ROWS];
  for (int32_t column = 0, owner = 0; column < ROWS; column++) {
    bool wanted = false;
    while (column >= first_row(owner + 1))
      owner++;
    for (int32_t row = first; row < end; row++)
      wanted = wanted || scene->entry[row][column];
    if (!wanted || owner == self->rank)
      continue;
    ranks[nleaves] = owner;
    roots[nleaves++] = column - first_row(owner);
  }
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), end - first, nleaves, NULL, ranks, roots, SF_GRAPH_DEFAULT,
                                  graph_p));
}

static void exchange(sftest_rank_t *self, sf_graph_t *graph)
{
  static double roots[ROWS], leaves[ROWS];
  for (int i = 0; i < BCASTS; i++)
    SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  for (int i = 0; i < REDUCES; i++)
    SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, leaves, roots, SF_SUM));
}

/* In the first round ranks make room for each other's payload, which costs messages of its own. */
SFTEST_JOINED(work)
{
  scene_t *scene = self->argument;
  sf_graph_t *graph;
  create_graph(self, scene, context, &graph);
  for (int32_t round = 0; round < ROUNDS; round++) {
    exchange(self, graph);
    scene->nready++;
    sftest_at(self, "being looked at");
    SFTEST_SLEEP_WHILE(scene->looked <= round);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Entries near the diagonal, and some anywhere. */
static void make_matrix(scene_t *scene, unsigned seed, FILE *file)
{
  srand(seed);
  int count = 0;
  for (int i = 0; i < ROWS; i++)
    scene->entry[i][i] = true;
  for (int k = 0; k < 8 * ROWS; k++) {
    int row = rand() % ROWS, column = k % 8 == 0 ? rand() % ROWS : row + rand() % BAND - BAND / 2;
    if (column >= 0 && column < ROWS)
      scene->entry[row][column] = true;
  }
  for (int i = 0; i < ROWS * ROWS; i++)
    count += scene->entry[i / ROWS][i % ROWS];
  fprintf(file, "%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n", ROWS, ROWS, count);
  for (int i = 0; i < ROWS * ROWS; i++)
    if (scene->entry[i / ROWS][i % ROWS])
      fprintf(file, "%d %d\n", i / ROWS + 1, i % ROWS + 1);
}

/* The number behind that name in the text, from the fragment on. */
static uint64_t number_in(const char *text, const char *fragment, const char *name)
{
  char wanted[64];
  const char *at = strstr(text, fragment);
  ck_assert_msg(at != NULL, "no %s in %s", fragment, text);
  snprintf(wanted, sizeof wanted, "\"%s\":", name);
  at = strstr(at, wanted);
  ck_assert_msg(at != NULL, "no %s behind %s in %s", name, fragment, text);
  return strtoull(at + strlen(wanted), NULL, 10);
}

typedef struct pair {
  uint64_t values[NODES], flat_values[NODES]; /* by the leaves' node */
  uint64_t messages, within_messages, within_values;
} pair_t;

static pair_t forecast(const char *path)
{
  pair_t pair;
  sftest_sfctl("/nowhere", WORDS("plan", "--matrix", path, "--ranks", "8", "--per-node", "4", "--pairs", "--json"), 0);
  for (int to = 0; to < NODES; to++) {
    char fragment[48];
    snprintf(fragment, sizeof fragment, "{\"from\":%d,\"to\":%d,", 1 - to, to);
    pair.values[to] = number_in(out, fragment, "values");
    pair.flat_values[to] = number_in(out, fragment, "flat_values");
    ck_assert_uint_eq(number_in(out, fragment, "messages"), 1);
  }
  pair.messages = number_in(out, "\"coalesced\":{", "messages");
  pair.within_messages = number_in(out, "\"within\":{", "messages");
  pair.within_values = number_in(out, "\"within\":{", "values");
  return pair;
}

/* Pairs of ranks of the same node, which daemons do not know: ranks count them. */
static void compare_within(const sftest_cluster_t *cluster, const char *graph, const pair_t *pair)
{
  uint64_t messages = 0, values = 0;
  for (int node = 0; node < NODES; node++) {
    sftest_sfctl(cluster->nodes[node].socket, WORDS("plan", graph, "--pairs", "--json"), 0);
    messages += number_in(out, "\"within\":{", "messages");
    values += number_in(out, "\"within\":{", "values");
    sftest_expect_in(out, "\"pairs\":[{\"from\":");
  }
  ck_assert_uint_eq(messages, pair->within_messages);
  ck_assert_uint_eq(values, pair->within_values);
}

static void compare_plans(const sftest_cluster_t *cluster, const pair_t *pair)
{
  char graph[32];
  sftest_sfctl(cluster->nodes[0].socket, WORDS("graphs", "--json"), 0);
  snprintf(graph, sizeof graph, "%llu", (unsigned long long)number_in(out, "\"graph\"", "graph"));
  for (int node = 0; node < NODES; node++) {
    sftest_sfctl(cluster->nodes[node].socket, WORDS("plan", graph, "--json"), 0);
    ck_assert_uint_eq(number_in(out, "\"here\":\"leaves\"", "bcast_values"), pair->values[node]);
    ck_assert_uint_eq(number_in(out, "\"here\":\"leaves\"", "reduce_values"), pair->values[node]);
    ck_assert_uint_eq(number_in(out, "\"here\":\"leaves\"", "values_before"), pair->flat_values[node]);
    ck_assert_uint_eq(number_in(out, "\"here\":\"roots\"", "bcast_values"), pair->values[1 - node]);
  }
  compare_within(cluster, graph, pair);
}

static void compare_traffic(const sftest_cluster_t *cluster, const pair_t *pair)
{
  for (int node = 0; node < NODES; node++) {
    sftest_sfctl(cluster->nodes[node].socket, WORDS("peers", "--json"), 0);
    const char *data = "\"kind\":\"data\"";
    ck_assert_uint_eq(number_in(out, data, "messages_sent"), pair->messages / NODES * (BCASTS + REDUCES));
    ck_assert_uint_eq(number_in(out, data, "payload_sent"),
                      sizeof(double) * (BCASTS * pair->values[1 - node] + REDUCES * pair->values[node]));
  }
}

typedef struct sent {
  uint64_t messages, bytes;
} sent_t;

/* What ranks have sent to others of their node. */
static sent_t count_sent(const sftest_cluster_t *cluster)
{
  static const char *const ways[] = {"bytes_inline", "bytes_slots", "bytes_in_place", "bytes_vm_read"};
  sent_t sent = {0};
  for (int node = 0; node < NODES; node++) {
    sftest_sfctl(cluster->nodes[node].socket, WORDS("ranks", "--json"), 0);
    for (int rank = RANKS / NODES * node; rank < RANKS / NODES * (node + 1); rank++) {
      char fragment[32];
      snprintf(fragment, sizeof fragment, "\"rank\":%d,", rank);
      sent.messages += sftest_sfctl_number(fragment, "messages_sent");
      for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        sent.bytes += sftest_sfctl_number(fragment, ways[i]);
    }
  }
  return sent;
}

static void await_round(sftest_job_t *job, const scene_t *scene, int32_t round)
{
  sftest_job_await(job, &scene->nready, RANKS * (round + 1));
}

SFTEST(a_matrix_on_two_nodes)
{
  sftest_cluster_t cluster;
  sftest_job_t job;
  int32_t places[RANKS];
  char path[128];
  unsigned seed = getenv("SF_TEST_SEED") != NULL ? (unsigned)atoi(getenv("SF_TEST_SEED")) : (unsigned)time(NULL);
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_use_seed(seed);
  sftest_cluster_start(&cluster, NODES);
  sftest_places_block(places, RANKS, NODES);
  snprintf(path, sizeof path, "%s/m.mtx", cluster.nodes[0].directory);
  FILE *file = fopen(path, "we");
  ck_assert_ptr_nonnull(file);
  make_matrix(scene, seed, file);
  fclose(file);
  pair_t pair = forecast(path);
  remove(path);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, work, scene);
  await_round(&job, scene, 0);
  compare_plans(&cluster, &pair);
  compare_traffic(&cluster, &pair);
  sent_t before = count_sent(&cluster);
  scene->looked = 1;
  await_round(&job, scene, 1);
  sent_t after = count_sent(&cluster);
  ck_assert_uint_eq(after.messages - before.messages, pair.within_messages * (BCASTS + REDUCES));
  ck_assert_uint_eq(after.bytes - before.bytes, pair.within_values * sizeof(double) * (BCASTS + REDUCES));
  scene->looked = ROUNDS;
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

SFTEST(large_grids_are_planned_quickly)
{
  struct rusage usage;
  sftest_sfctl("/nowhere",
               WORDS("plan", "--grid", "1024x1024x512", "--stencil", "27", "--ranks", "16384", "--per-node", "64"), 0);
  sftest_expect_in(out, "256 nodes");
  ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &usage), 0);
  ck_assert_int_le(usage.ru_utime.tv_sec, sftest_limit_ms(QUICK_S));
}
