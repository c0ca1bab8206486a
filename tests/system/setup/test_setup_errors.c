/* Joining and making graphs when ranks disagree or one of them has bad input, on one node and over several: everybody
 * gets the same error, and what is not concerned goes on working. */
#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"

#define RANKS 4
#define NROOTS 10

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* A graph that one or two ranks spoil. */
typedef struct input {
  int64_t nroots;
  int64_t nleaves;
  int64_t leaves[8];
  int32_t root_ranks[8];
  int64_t roots[8];
  uint32_t flags;
  bool no_place; /* for the result */
} input_t;

typedef struct bad_input {
  const char *name;
  void (*spoil)(int32_t rank, input_t *input);
  sf_status_t expected;
  const char *detail[3]; /* texts in the detail, on all ranks */
} bad_input_t;

/* Every rank has 4 leaves on the next one, and one on itself. */
static input_t good_input(int32_t rank, int32_t size)
{
  input_t input = {.nroots = NROOTS, .nleaves = 5};
  for (int i = 0; i < 5; i++) {
    input.leaves[i] = 2 * i;
    input.root_ranks[i] = i == 4 ? rank : (rank + 1) % size;
    input.roots[i] = i;
  }
  return input;
}

static void remote_root(int32_t rank, input_t *input)
{
  if (rank == 2)
    input->roots[1] = NROOTS;
}

static void two_remote_roots(int32_t rank, input_t *input)
{
  if (rank == 1 || rank == 3)
    input->roots[3] = input->roots[2] = NROOTS + rank;
}

static void own_root(int32_t rank, input_t *input)
{
  if (rank == 3)
    input->roots[4] = INT64_MAX;
}

static void negative_root(int32_t rank, input_t *input)
{
  if (rank == 0)
    input->roots[3] = -7;
}

static void no_such_rank(int32_t rank, input_t *input)
{
  if (rank == 1)
    input->root_ranks[0] = RANKS;
}

static void duplicate_leaf(int32_t rank, input_t *input)
{
  if (rank >= 2)
    input->leaves[4] = input->leaves[rank - 2];
}

static void negative_size(int32_t rank, input_t *input)
{
  if (rank == 3)
    input->nroots = -1;
}

static void other_flags(int32_t rank, input_t *input)
{
  if (rank == 2)
    input->flags = SF_GRAPH_COPY;
}

/* All are told of the same two: the lowest rank, and the lowest that differs from it. */
static void many_flags(int32_t rank, input_t *input)
{
  input->flags = rank == 0 ? SF_GRAPH_DEFAULT : rank == 2 ? SF_GRAPH_REPRODUCIBLE : SF_GRAPH_COPY;
}

/* The others, who wait for this rank's edges, are told. */
static void unknown_flags(int32_t rank, input_t *input)
{
  if (rank == 2)
    input->flags = 0x100;
}

static void no_place(int32_t rank, input_t *input)
{
  input->no_place = rank == 1;
}

static const bad_input_t bad_inputs[] = {
    {"remote root", remote_root, SF_ERR_RANGE, {"rank 2, leaf 2", "root index 10", "rank 3"}},
    {"two remote roots", two_remote_roots, SF_ERR_RANGE, {"rank 1, leaf 4", "root index 11", "rank 2"}},
    {"own root", own_root, SF_ERR_RANGE, {"rank 3, leaf 8", "10 roots", ""}},
    {"negative root", negative_root, SF_ERR_RANGE, {"rank 0, leaf 6", "-7", ""}},
    {"no such rank", no_such_rank, SF_ERR_RANGE, {"rank 1, leaf 0", "root rank 4", ""}},
    {"duplicate leaf", duplicate_leaf, SF_ERR_ARG, {"rank 2, leaf 0", "same leaf", ""}},
    {"negative size", negative_size, SF_ERR_ARG, {"rank 3", "-1", ""}},
    {"other flags", other_flags, SF_ERR_MISMATCH, {"rank 2", "flags", "rank "}},
    {"many flags", many_flags, SF_ERR_MISMATCH, {"differ: 0x0 on group rank 0, 0x1 on group rank 1", "", ""}},
    {"unknown flags", unknown_flags, SF_ERR_ARG, {"sf_graph_create: rank 2: unknown flags 0x100", "", ""}},
    {"no place", no_place, SF_ERR_ARG, {"sf_graph_create: rank 1: there is no place", "", ""}},
};

static sf_status_t create(sf_group_t *group, const input_t *input, sf_graph_t **graph_p)
{
  return sf_graph_create(group, input->nroots, input->nleaves, input->leaves, input->root_ranks, input->roots,
                         input->flags, input->no_place ? NULL : graph_p);
}

/* A graph of all ranks, with which one bcast is done. */
static void expect_working(sftest_rank_t *self, sf_group_t *group)
{
  sf_graph_t *graph = NULL;
  int32_t size = sf_group_size(group), rank = sf_group_rank(group);
  input_t input = good_input(rank, size);
  int64_t roots[NROOTS], leaves[9] = {0};
  for (int i = 0; i < NROOTS; i++)
    roots[i] = 100 * rank + i;
  SFTEST_OK(self, create(group, &input, &graph));
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  SFTEST_REQUIRE(self, leaves[0] == 100 * ((rank + 1) % size) && leaves[8] == 100 * rank + 4);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Over nodes -------------------------------------------------------------------------------------------------- */

static const int32_t placements[][RANKS] = {{0, 0, 1, 1}, {0, 1, 0, 1}, {1, 0, 0, 0}, {0, 0, 2, 0}, {3, 2, 1, 0}};
#define NPLACEMENTS (sizeof placements / sizeof placements[0])

/* On one node, or placed as that placement says. */
static void run_placed(int i, int32_t size, sftest_rank_fn_t run, void *argument)
{
  sftest_cluster_t cluster;
  if (i == 0) {
    sftest_run_alone(size, run, argument);
    return;
  }
  sftest_cluster_start_warm(&cluster, SFTEST_NODES_MAX);
  sftest_cluster_run(&cluster, placements[i - 1] + RANKS - size, size, run, argument);
  sftest_cluster_stop(&cluster);
}

SFTEST_JOINED_JOB(bad_graphs, 1 + (int)NPLACEMENTS, run_placed(_i, RANKS, ranks, NULL))
{
  for (size_t i = 0; i < sizeof bad_inputs / sizeof bad_inputs[0]; i++) {
    const bad_input_t *bad = &bad_inputs[i];
    sf_graph_t *graph = NULL;
    input_t input = good_input(self->rank, self->size);
    bad->spoil(self->rank, &input);
    sftest_at(self, "%s", bad->name);
    SFTEST_EXPECT(self, create(world, &input, &graph), bad->expected);
    for (int k = 0; k < 3; k++)
      SFTEST_DETAIL(self, bad->detail[k]);
    SFTEST_REQUIRE(self, graph == NULL);
    expect_working(self, world);
  }
}

/* ---- Leaving early ----------------------------------------------------------------------------------------------- */

/* Rank 0 leaves; what needs it fails, what doesn't goes on. */
SFTEST_JOINED_JOB(rank_that_left, 1 + (int)NPLACEMENTS, run_placed(_i, RANKS, ranks, NULL))
{
  sf_graph_t *graph = NULL;
  if (self->rank != 0) {
    int32_t others[] = {3, 1, 2};
    sf_group_t *group;
    input_t input = good_input(self->rank, self->size);
    SFTEST_EXPECT(self, create(world, &input, &graph), SF_ERR_STATE);
    SFTEST_DETAIL(self, "rank 0");
    SFTEST_OK(self, sf_group_create(context, 3, others, 0, &group));
    expect_working(self, group);
    SFTEST_OK(self, sf_group_destroy(group));
  }
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

SFTEST_JOB(no_daemon, 1, sftest_run_alone(1, ranks, NULL))
{
  sf_context_t *context = NULL;
  sf_init_options_t options = self->options;
  char path[300];
  snprintf(path, sizeof path, "%s.not-there", options.socket_path);
  options.socket_path = path;
  SFTEST_EXPECT(self, sf_init(&options, &context), SF_ERR_NO_DAEMON);
  SFTEST_DETAIL(self, path);
  memset(path, 'x', sizeof path - 1);
  path[0] = '/';
  path[sizeof path - 1] = '\0';
  SFTEST_EXPECT(self, sf_init(&options, &context), SF_ERR_ARG);
  SFTEST_DETAIL(self, "107");
  options.socket_path = "/"; /* no socket */
  SFTEST_REQUIRE(self, sf_init(&options, &context) != SF_OK && context == NULL);
}

/* A board on which ranks tell each other how far they are. */
typedef struct progress {
  _Atomic int step;
  _Atomic bool has_socket;
  char socket[96]; /* of the daemon of the rank that comes first */
} progress_t;

static void tell_socket(const sftest_rank_t *self, progress_t *progress)
{
  snprintf(progress->socket, sizeof progress->socket, "%s", self->options.socket_path);
  progress->has_socket = true;
}

/* Until its daemon has the rank that comes first, and those of other nodes have heard of it. */
static void await_first(const sftest_rank_t *self, const progress_t *progress)
{
  char wanted[64];
  SFTEST_SLEEP_WHILE(!progress->has_socket);
  snprintf(wanted, sizeof wanted, "\"job\":\"%s\"", self->options.job);
  sftest_sfctl_await(progress->socket, WORDS("jobs", "--json"), wanted);
  sftest_sfctl(progress->socket, WORDS("jobs", "--json", "--all-nodes"), 0); /* others answer behind that */
}

/* Ranks 1 and 3 do not come. Rank 0, which is not patient, comes after 2: the one would have given up else before the
 * other came, and left nobody who knows of it. */
static void join_incomplete(sftest_rank_t *self)
{
  sf_context_t *context = NULL;
  progress_t *progress = self->argument;
  if (self->rank % 2 == 1)
    return;
  if (self->rank == 2)
    tell_socket(self, progress);
  else
    await_first(self, progress);
  int64_t before = sftest_now_ms();
  if (self->rank == 0)
    self->options.timeout_ms = 500; /* the shortest counts: by the others' the test hangs */
  SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_TIMEOUT);
  SFTEST_DETAIL(self, "1");
  SFTEST_DETAIL(self, "3");
  SFTEST_REQUIRE(self, context == NULL && (self->rank != 0 || sftest_now_ms() - before >= 400));
}

SFTEST_BETWEEN(missing_ranks_over_nodes, 1, 3)
{
  progress_t *progress = sftest_shared(sizeof *progress);
  run_placed(_i, RANKS, join_incomplete, progress);
}

/* The daemon's own limit, which no option of the clients exceeds. */
static void join_late(sftest_rank_t *self)
{
  sf_context_t *context = NULL;
  if (self->rank == 1)
    return;
  self->options.timeout_ms = -1;
  SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_TIMEOUT);
  SFTEST_DETAIL(self, "1");
}

SFTEST(missing_ranks)
{
  static const char *const options[] = {"--join-timeout=1", NULL};
  sftest_node_t node;
  progress_t *progress = sftest_shared(sizeof *progress);
  sftest_run_alone(RANKS, join_incomplete, progress);
  sftest_node_start(&node, options);
  sftest_run_job(&node, 2, join_late, NULL);
  sftest_node_stop(&node);
}

static void await_step(const progress_t *progress, int step)
{
  SFTEST_SLEEP_WHILE(progress->step < step);
}

/* Rank 0 joins as rank 0 of 2; rank 1 tries everything wrong before it joins as it should. */
static void join_wrongly(sftest_rank_t *self)
{
  progress_t *progress = self->argument;
  sf_context_t *context = NULL;
  sf_init_options_t options = self->options;
  if (self->rank == 0)
    tell_socket(self, progress);
  if (self->rank == 1) {
    await_first(self, progress);
    options.rank = 0;
    SFTEST_EXPECT(self, sf_init(&options, &context), SF_ERR_EXISTS);
    SFTEST_DETAIL(self, "rank 0");
    options = self->options;
    options.size = 3;
    SFTEST_EXPECT(self, sf_init(&options, &context), SF_ERR_ARG);
    options = self->options;
    options.key = "another";
    SFTEST_EXPECT(self, sf_init(&options, &context), SF_ERR_PERM);
    SFTEST_REQUIRE(self, context == NULL && progress->step == 0);
  }
  context = sftest_join(self);
  progress->step = 1;
  expect_working(self, sf_group_world(context));
  if (self->rank == 1) {
    sf_context_t *again = NULL;
    options = self->options;
    SFTEST_EXPECT(self, sf_init(&options, &again), SF_ERR_EXISTS); /* the job is complete */
    progress->step = 2;
  }
  await_step(progress, 2);
  sftest_leave(self, context);
}

SFTEST_FOR(wrong_ranks, 3)
{
  progress_t *progress = sftest_shared(sizeof *progress);
  run_placed(_i, 2, join_wrongly, progress);
}
