/* Counters agree exactly with what was sent: operations, messages, bytes, values before and after they are shared, on
 * random graphs over two nodes, against an independent count of edges. */
#include "tests/system/cluster.h"
#include "tests/system/model/gather.h"
#include "tests/system/sfctl.h"

#define NODES 2
#define GRAPHS 6
#define UNIT sizeof(double)

typedef struct scene {
  uint64_t seed;
  int32_t size;
  int64_t max_vertices;
  bool destroy; /* the graph, before it is looked at */
  int bcasts, reduces;
  _Atomic int32_t nready;
  _Atomic bool over;
} scene_t;

static sftest_cluster_t cluster;
static sftest_graph_t graph;
static int32_t places[SFTEST_GROUP_MAX];

static void start_cluster(void)
{
  sftest_cluster_start(&cluster, NODES);
}

static void stop_cluster(void)
{
  sftest_cluster_stop(&cluster);
}

SFTEST_FIXTURE(start_cluster, stop_cluster);

/* ---- What is sent ------------------------------------------------------------------------------------------------ */

static void exchange(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *real = NULL;
  SFTEST_OK(self, sftest_graph_create(&graph, sf_group_world(context), true, SF_GRAPH_DEFAULT, &real));
  size_t space = (size_t)sftest_graph_space(&graph, self->rank) + 1;
  double *roots = calloc(space, sizeof *roots), *leaves = calloc(space, sizeof *leaves);
  for (int i = 0; i < scene->bcasts; i++)
    SFTEST_OK(self, sf_bcast(real, SF_DOUBLE, roots, leaves, SF_REPLACE));
  for (int i = 0; i < scene->reduces; i++)
    SFTEST_OK(self, sf_reduce(real, SF_DOUBLE, leaves, roots, SF_SUM));
  if (scene->destroy)
    SFTEST_OK(self, sf_graph_destroy(real));
  scene->nready++;
  sftest_at(self, "being looked at");
  SFTEST_SLEEP_WHILE(!scene->over);
  if (!scene->destroy)
    SFTEST_OK(self, sf_graph_destroy(real));
  sftest_leave(self, context);
  free(roots);
  free(leaves);
  sftest_graph_free(&graph); /* of which every rank has a copy, made by the test */
}

/* ---- What is to be counted --------------------------------------------------------------------------------------- */

static int by_root(const void *a, const void *b)
{
  const sftest_edge_t *x = a, *y = b;
  if (x->root_rank != y->root_rank)
    return x->root_rank < y->root_rank ? -1 : 1;
  return x->root < y->root ? -1 : x->root > y->root;
}

/* Edges of leaves of a rank, or of all ranks of a node, on roots of a rank, or of all of a node: how many, and on how
 * many different roots. Ranks are chosen by leaf_rank >= 0, else by leaf_node, and likewise for roots. */
typedef struct choice {
  int32_t leaf_rank, leaf_node, root_rank, root_node;
} choice_t;

typedef struct number {
  uint64_t edges, roots;
} number_t;

static bool chosen(int32_t rank, int32_t wanted_rank, int32_t wanted_node)
{
  return wanted_rank >= 0 ? rank == wanted_rank : places[rank] == wanted_node;
}

static number_t count(choice_t choice)
{
  size_t n = 0, room = 0;
  number_t number = {0};
  for (int32_t r = 0; r < graph.size; r++)
    room += (size_t)graph.parts[r].nleaves;
  sftest_edge_t *edges = calloc(room + 1, sizeof *edges);
  for (int32_t r = 0; r < graph.size; r++)
    for (int64_t i = 0; i < graph.parts[r].nleaves && chosen(r, choice.leaf_rank, choice.leaf_node); i++)
      if (chosen(graph.parts[r].edges[i].root_rank, choice.root_rank, choice.root_node))
        edges[n++] = graph.parts[r].edges[i];
  qsort(edges, n, sizeof *edges, by_root);
  for (size_t i = 0; i < n; i++)
    number.roots += i == 0 || by_root(&edges[i - 1], &edges[i]) != 0;
  number.edges = n;
  free(edges);
  return number;
}

typedef struct expected {
  uint64_t messages_sent, messages_received, sent, received, self, saved, to_nodes, from_nodes, wanted, carried;
} expected_t;

static expected_t expect_of(const scene_t *scene, int32_t rank)
{
  expected_t e = {0};
  uint64_t b = (uint64_t)scene->bcasts, r = (uint64_t)scene->reduces;
  e.self = (b + r) * UNIT * count((choice_t){rank, -1, rank, -1}).edges;
  for (int32_t peer = 0; peer < graph.size; peer++) {
    if (peer == rank || places[peer] != places[rank])
      continue;
    number_t out = count((choice_t){peer, -1, rank, -1}), in = count((choice_t){rank, -1, peer, -1});
    e.messages_sent += b * (out.edges > 0) + r * (in.edges > 0);
    e.messages_received += b * (in.edges > 0) + r * (out.edges > 0);
    e.sent += UNIT * (b * out.roots + r * in.edges);
    e.received += UNIT * (b * in.roots + r * out.edges);
    e.saved += UNIT * b * (in.edges - in.roots);
    e.wanted += (b + r) * in.edges;
    e.carried += b * in.roots + r * in.edges;
  }
  for (int32_t node = 0; node < NODES; node++) {
    if (node == places[rank])
      continue;
    number_t out = count((choice_t){-1, node, rank, -1}), in = count((choice_t){rank, -1, -1, node});
    e.to_nodes += UNIT * (b * out.roots + r * in.roots);
    e.from_nodes += UNIT * (b * in.roots + r * out.roots);
    e.saved += UNIT * (b + r) * (in.edges - in.roots);
    e.wanted += (b + r) * in.edges;
    e.carried += (b + r) * in.roots;
  }
  return e;
}

/* ---- What is counted --------------------------------------------------------------------------------------------- */

static uint64_t number_of(int32_t rank, const char *member)
{
  char fragment[32];
  snprintf(fragment, sizeof fragment, "\"rank\":%d,", rank);
  return sftest_sfctl_number(fragment, member);
}

static void check_rank(const scene_t *scene, int32_t rank)
{
  expected_t e = expect_of(scene, rank);
  uint64_t sent = number_of(rank, "bytes_inline") + number_of(rank, "bytes_slots") + number_of(rank, "bytes_in_place") +
                  number_of(rank, "bytes_vm_read");
  ck_assert_uint_eq(number_of(rank, "bcasts"), (uint64_t)scene->bcasts);
  ck_assert_uint_eq(number_of(rank, "reduces"), (uint64_t)scene->reduces);
  ck_assert_uint_eq(number_of(rank, "completed"), (uint64_t)(scene->bcasts + scene->reduces));
  if (scene->max_vertices <= 14) { /* else payloads are in several pieces */
    ck_assert_uint_eq(number_of(rank, "messages_sent"), e.messages_sent);
    ck_assert_uint_eq(number_of(rank, "messages_received"), e.messages_received);
  }
  ck_assert_uint_eq(sent, e.sent);
  ck_assert_uint_eq(number_of(rank, "bytes_received"), e.received);
  ck_assert_uint_eq(number_of(rank, "bytes_self"), e.self);
  ck_assert_uint_eq(number_of(rank, "bytes_saved"), e.saved);
  ck_assert_uint_eq(number_of(rank, "bytes_to_nodes"), e.to_nodes);
  ck_assert_uint_eq(number_of(rank, "bytes_from_nodes"), e.from_nodes);
  ck_assert_uint_eq(number_of(rank, "values_wanted"), e.wanted);
  ck_assert_uint_eq(number_of(rank, "values_carried"), e.carried);
}

static uint64_t sum_of(const char *member, int32_t node)
{
  uint64_t sum = 0;
  for (int32_t r = 0; r < graph.size; r++)
    sum += places[r] == node ? number_of(r, member) : 0;
  return sum;
}

/* One message for each operation and pair of nodes with edges, with every root once. */
static void check_node(const scene_t *scene, int32_t node)
{
  uint64_t b = (uint64_t)scene->bcasts, r = (uint64_t)scene->reduces;
  uint64_t out = count((choice_t){-1, 1 - node, -1, node}).roots, in = count((choice_t){-1, node, -1, 1 - node}).roots;
  ck_assert_uint_eq(sum_of("node_messages_sent", node), b * (out > 0) + r * (in > 0));
  ck_assert_uint_eq(sum_of("node_messages_received", node), b * (in > 0) + r * (out > 0));
  ck_assert_uint_eq(sum_of("node_values_sent", node), b * out + r * in);
  ck_assert_uint_eq(sum_of("node_values_received", node), b * in + r * out);
  ck_assert_uint_eq(sum_of("node_bytes_sent", node), UNIT * (b * out + r * in));
  ck_assert_uint_eq(sum_of("node_bytes_received", node), UNIT * (b * in + r * out));
}

/* What the sender packs for one rank alone: contributions to one root are combined between nodes only. */
static uint64_t pair_bytes(const scene_t *scene, int32_t from, int32_t to)
{
  number_t out = count((choice_t){to, -1, from, -1}), in = count((choice_t){from, -1, to, -1});
  uint64_t contributions = places[from] == places[to] ? in.edges : in.roots;
  return UNIT * ((uint64_t)scene->bcasts * out.roots + (uint64_t)scene->reduces * contributions);
}

static void check_pairs(const scene_t *scene)
{
  int npairs = 0;
  sftest_sfctl(cluster.nodes[0].socket, WORDS("matrix", "--all-nodes", "--by", "pairs", "--format", "csv"), 0);
  for (int32_t from = 0; from < graph.size; from++)
    for (int32_t to = 0; to < graph.size; to++) {
      unsigned long long messages, bytes;
      char pair[48];
      uint64_t expected = from != to ? pair_bytes(scene, from, to) : 0;
      snprintf(pair, sizeof pair, "\nrank %d,rank %d,", from, to);
      const char *line = strstr(sftest_sfctl_out, pair);
      ck_assert_msg((line != NULL) == (expected > 0), "%sexpected %llu in: %.2000s", pair + 1,
                    (unsigned long long)expected, sftest_sfctl_out);
      if (line == NULL)
        continue;
      npairs++;
      ck_assert_int_eq(sscanf(line + strlen(pair), "%llu,%llu", &messages, &bytes), 2);
      ck_assert_uint_eq(bytes, expected);
    }
  ck_assert_int_eq(sftest_count_lines(sftest_sfctl_out), 1 + npairs);
}

static void run(scene_t *scene, uint64_t seed, int64_t max_vertices)
{
  sftest_job_t job;
  uint64_t random = seed;
  *scene = (scene_t){.seed = seed, .max_vertices = max_vertices, .destroy = seed % 2 != 0};
  scene->size = 2 + (int32_t)(sftest_random(&random) % (SFTEST_GROUP_MAX - 1));
  scene->bcasts = (int)(sftest_random(&random) % 20);
  scene->reduces = (int)(sftest_random(&random) % 20);
  sftest_places_random(places, scene->size, NODES, &random);
  sftest_graph_make(&graph, seed, scene->size, max_vertices);
  sftest_job_start_over(&job, cluster.nodes, places, scene->size, exchange, scene);
  sftest_job_await(&job, &scene->nready, scene->size);
  for (int32_t node = 0; node < NODES; node++) {
    sftest_sfctl(cluster.nodes[node].socket, WORDS("ranks", "--json"), 0);
    for (int32_t r = 0; r < graph.size; r++)
      if (places[r] == node)
        check_rank(scene, r);
    check_node(scene, node);
  }
  check_pairs(scene);
  scene->over = true;
  sftest_job_end_well(&job);
  sftest_graph_free(&graph);
}

SFTEST(random_graphs)
{
  scene_t *scene = sftest_shared(sizeof *scene);
  uint64_t first = sftest_seed();
  for (uint64_t i = 0; i < GRAPHS; i++) {
    printf("SF_TEST_SEED=%llu, graph %llu\n", (unsigned long long)first, (unsigned long long)i);
    fflush(stdout);
    run(scene, first + i, i < GRAPHS / 2 ? 14 : 20000);
  }
}

/* ---- Kinds ------------------------------------------------------------------------------------------------------- */

#define GATHERS 3
#define SCATTERS 5
#define FETCH_OPS 64 /* of two operations each: so that the time of one is taken */

static void call_each(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *real = NULL, *multi = NULL;
  SFTEST_OK(self, sftest_graph_create(&graph, sf_group_world(context), true, SF_GRAPH_DEFAULT, &real));
  SFTEST_OK(self, sf_graph_multi(real, &multi));
  size_t space = (size_t)sftest_graph_space(&graph, self->rank) + 1, nslots = 0;
  for (int32_t r = 0; r < graph.size; r++)
    nslots += (size_t)graph.parts[r].nleaves;
  double *roots = calloc(space, sizeof *roots), *leaves = calloc(space, sizeof *leaves);
  double *updates = calloc(space, sizeof *updates), *slots = calloc(nslots + 1, sizeof *slots);
  for (int i = 0; i < GATHERS; i++)
    SFTEST_OK(self, sf_gather(real, SF_DOUBLE, leaves, slots));
  for (int i = 0; i < SCATTERS; i++)
    SFTEST_OK(self, sf_scatter(real, SF_DOUBLE, slots, leaves));
  for (int i = 0; i < FETCH_OPS; i++)
    SFTEST_OK(self, sf_fetch_op(real, i % 2 == 0 ? SF_DOUBLE : SF_INT64, roots, leaves, updates, SF_SUM));
  SFTEST_OK(self, sf_bcast(real, SF_DOUBLE, roots, leaves, SF_REPLACE));
  scene->nready++;
  sftest_at(self, "being looked at");
  SFTEST_SLEEP_WHILE(!scene->over);
  SFTEST_OK(self, sf_graph_destroy(real));
  sftest_leave(self, context);
  free(roots);
  free(leaves);
  free(updates);
  free(slots);
  sftest_graph_free(&graph);
}

static void check_kinds(const char *fragment)
{
  ck_assert_uint_eq(sftest_sfctl_number(fragment, "gathers"), GATHERS);
  ck_assert_uint_eq(sftest_sfctl_number(fragment, "scatters"), SCATTERS);
  ck_assert_uint_eq(sftest_sfctl_number(fragment, "fetch_ops"), FETCH_OPS);
}

static void look_at_kinds(int32_t node)
{
  char multi[64];
  int32_t here = 0;
  sftest_sfctl(cluster.nodes[node].socket, WORDS("ranks", "--json"), 0);
  for (int32_t r = 0; r < graph.size; r++) {
    char fragment[32];
    snprintf(fragment, sizeof fragment, "\"rank\":%d,", r);
    here += places[r] == node;
    if (places[r] == node)
      check_kinds(fragment);
  }
  if (here == 0)
    return;
  sftest_sfctl(cluster.nodes[node].socket, WORDS("graphs", "--json"), 0);
  uint64_t real = sftest_sfctl_number("\"multi_of\":null", "graph");
  snprintf(multi, sizeof multi, "\"multi_of\":%llu,", (unsigned long long)real);
  check_kinds(multi);
  ck_assert_uint_eq(sftest_sfctl_number(multi, "completed"), GATHERS + SCATTERS + FETCH_OPS);
  ck_assert_uint_eq(sftest_sfctl_number(multi, "bcasts"), 0);
  ck_assert_uint_eq(sftest_sfctl_number(multi, "reduces"), 0);
  ck_assert_uint_eq(sftest_sfctl_number("\"multi_of\":null", "bcasts"), 1);
  ck_assert_uint_eq(sftest_sfctl_number("\"multi_of\":null", "fetch_ops"), 0);
  sftest_expect_in(sftest_sfctl_out, "{\"kind\":\"fetch_op\",");
}

SFTEST(kinds)
{
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  uint64_t seed = sftest_seed(), random = seed;
  printf("SF_TEST_SEED=%llu\n", (unsigned long long)seed);
  sftest_places_random(places, 4, NODES, &random);
  sftest_graph_make(&graph, seed, 4, 30);
  sftest_job_start_over(&job, cluster.nodes, places, 4, call_each, scene);
  sftest_job_await(&job, &scene->nready, 4);
  for (int32_t node = 0; node < NODES; node++)
    look_at_kinds(node);
  scene->over = true;
  sftest_job_end_well(&job);
  sftest_graph_free(&graph);
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

#define LOOP_ROUNDS 300

SFTEST_JOINED(loop_of_two)
{
  scene_t *scene = self->argument;
  sf_graph_t *ring = NULL;
  const int32_t next = 1 - self->rank;
  const int64_t root = 0;
  double value = 0, leaf = 0;
  SFTEST_OK(self, sf_graph_create(world, 1, 1, NULL, &next, &root, SF_GRAPH_DEFAULT, &ring));
  for (int i = 0; i < LOOP_ROUNDS; i++) {
    SFTEST_OK(self, sf_bcast(ring, SF_DOUBLE, &value, &leaf, SF_REPLACE));
    SFTEST_OK(self, sf_reduce(ring, SF_DOUBLE, &leaf, &value, SF_SUM));
  }
  scene->nready++;
  sftest_at(self, "being looked at");
  SFTEST_SLEEP_WHILE(!scene->over);
  SFTEST_OK(self, sf_graph_destroy(ring));
}

/* Operations that take turns are all timed now and then. */
SFTEST(samples)
{
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_job_start(&job, &cluster.nodes[0], 2, loop_of_two, scene);
  sftest_job_await(&job, &scene->nready, 2);
  sftest_sfctl(cluster.nodes[0].socket, WORDS("graphs", "--json"), 0);
  sftest_expect_in(sftest_sfctl_out, "{\"kind\":\"bcast\",");
  sftest_expect_in(sftest_sfctl_out, "{\"kind\":\"reduce\",");
  ck_assert_uint_ge(sftest_sfctl_number("\"latency\"", "samples"), 2 * 2 * LOOP_ROUNDS / 96);
  scene->over = true;
  sftest_job_end_well(&job);
}
