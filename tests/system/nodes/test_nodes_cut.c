/* Cuts the link of a host, or that between two of them, in both directions or one, at a random moment of a job over
 * several hosts, fabric tcp: nothing arrives any more, and nobody says so. Every rank, on both sides of the cut, gets
 * an error that names a node; nothing is left, and when the link is mended the daemons serve again. A link that is cut
 * for a while only is survived. How soon silence is noticed: tests/unit/net/test_fabric_tcp_silence.c. */
#include "tests/system/cluster.h"
#include "tests/system/work.h"
#include "tests/unit/machine_clock.h"

#define HOSTS 3
#define ROUNDS 1
#define RANKS_MAX 6
#define AHEAD_MAX 16 /* steps that one rank may be ahead of another one that is next to it */
#define SURVIVED_MS 2500

typedef struct plan {
  int64_t values;
  _Atomic int32_t nworking; /* ranks that have exchanged something */
  _Atomic bool cut;
  _Atomic int32_t nfailed; /* ranks, when the link is there again */
  int64_t pause_ms;        /* between exchanges */
  _Atomic bool mended;     /* they may end */
  _Atomic int64_t last_step;
} plan_t;

/* Exchanges with all others, until it can't. */
static sf_status_t exchange(plan_t *plan, sf_graph_t *graph)
{
  double *roots = calloc((size_t)plan->values, sizeof *roots), *leaves = calloc((size_t)plan->values, sizeof *leaves);
  sf_status_t status = SF_OK;
  for (int64_t i = 0; status == SF_OK; i++) {
    status = i % 2 == 0 ? sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE)
                        : sf_reduce(graph, SF_DOUBLE, leaves, roots, SF_SUM);
    if (i == 2)
      plan->nworking++;
  }
  free(roots);
  free(leaves);
  return status;
}

static void live(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  sf_graph_t *graph = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), plan->values, SF_GRAPH_DEFAULT, &graph));
  sf_status_t status = exchange(plan, graph);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "node");
  SFTEST_REQUIRE(self, plan->cut);
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

/* Somebody on each side of the cut. */
static void choose_places(int32_t places[], int32_t size, int32_t victim, uint64_t *random)
{
  sftest_places_random(places, size, HOSTS, random);
  places[0] = victim;
  places[1] = (victim + 1) % HOSTS;
}

/* Not all have noticed yet that the channels that they had are lost: so a job may still fail. */
static void try_to_work(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  sf_context_t *context = NULL;
  sf_graph_t *graph = NULL;
  double root = 0, leaf;
  sf_status_t status = sf_init(&self->options, &context);
  if (status == SF_OK)
    status = sftest_ring_create(sf_group_world(context), 1, SF_GRAPH_DEFAULT, &graph);
  if (status == SF_OK)
    status = sf_bcast(graph, SF_DOUBLE, &root, &leaf, SF_REPLACE);
  plan->nfailed += status != SF_OK;
  SFTEST_OK(self, sf_graph_destroy(graph));
  plan->nfailed += context != NULL && sf_finalize(context) != SF_OK;
}

static void expect_recovery(sftest_cluster_t *cluster, plan_t *plan)
{
  static const int32_t places[] = {0, 1, 2};
  do {
    plan->nfailed = 0;
    sftest_run_over(cluster->nodes, places, HOSTS, try_to_work, plan);
  } while (plan->nfailed > 0);
  sftest_cluster_warm(cluster);
}

typedef enum cut { HOST, BOTH_WAYS, ONE_WAY, CUTS } cut_t;

static void set_cut(const sftest_hosts_t *hosts, cut_t what, int32_t victim, bool cut)
{
  int32_t other = (victim + 1) % HOSTS;
  if (what == HOST)
    sftest_hosts_cut(hosts, victim, cut);
  else
    sftest_hosts_cut_way(hosts, victim, other, cut);
  if (what == BOTH_WAYS)
    sftest_hosts_cut_way(hosts, other, victim, cut);
}

static void cut_once(sftest_cluster_t *cluster, uint64_t seed)
{
  static const int64_t values[] = {1, 1000, 100000};
  uint64_t random = seed;
  int32_t places[RANKS_MAX], size = 2 + (int32_t)sftest_below(&random, RANKS_MAX - 1);
  int32_t victim = (int32_t)sftest_below(&random, HOSTS);
  cut_t what = (cut_t)sftest_below(&random, CUTS);
  plan_t *plan = sftest_shared(sizeof *plan);
  sftest_job_t job;
  sftest_use_seed(seed);
  plan->values = values[sftest_below(&random, 3)];
  choose_places(places, size, victim, &random);
  sftest_job_start_over(&job, cluster->nodes, places, size, live, plan);
  sftest_job_await(&job, &plan->nworking, size);
  sftest_sleep_ms(sftest_below(&random, 30));
  plan->cut = true;
  set_cut(cluster->hosts, what, victim, true);
  sftest_job_end_well(&job);
  set_cut(cluster->hosts, what, victim, false);
  expect_recovery(cluster, plan);
}

/* Exchanges until the last step, which rank 0 chooses so that nobody has come to it yet. */
SFTEST_JOINED(live_on)
{
  plan_t *plan = self->argument;
  sf_graph_t *graph = NULL;
  double *roots = calloc((size_t)plan->values, sizeof *roots), *leaves = calloc((size_t)plan->values, sizeof *leaves);
  SFTEST_OK(self, sftest_ring_create(world, plan->values, SF_GRAPH_DEFAULT, &graph));
  for (int64_t i = 0; plan->last_step == 0 || i < plan->last_step; i++) {
    SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
    if (self->rank == 0 && plan->mended && plan->last_step == 0)
      plan->last_step = i + AHEAD_MAX * self->size;
    plan->nworking += self->rank == 0 && i == 2;
    if (!plan->mended)
      sftest_sleep_ms(plan->pause_ms);
  }
  free(roots);
  free(leaves);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* A link that is cut for a while. Whether it was: the machine may have made it longer than is survived. */
static bool interrupt_once(sftest_cluster_t *cluster, uint64_t seed)
{
  static const int64_t values[] = {1, 1000, 20000};
  uint64_t random = seed;
  int32_t places[RANKS_MAX], size = 2 + (int32_t)sftest_below(&random, RANKS_MAX - 1);
  int32_t victim = (int32_t)sftest_below(&random, HOSTS);
  plan_t *plan = sftest_shared(sizeof *plan);
  sftest_job_t job;
  sftest_use_seed(seed);
  plan->values = values[sftest_below(&random, 3)];
  plan->pause_ms = sftest_below(&random, 2) == 0 ? 0 : 50;
  choose_places(places, size, victim, &random);
  sftest_job_start_over(&job, cluster->nodes, places, size, live_on, plan);
  sftest_job_await(&job, &plan->nworking, 1);
  sftest_sleep_ms((int64_t)sftest_below(&random, 1000));
  int64_t cut_ms = sftest_monotonic_ns() / 1000000;
  sftest_hosts_cut(cluster->hosts, victim, true);
  sftest_sleep_ms(SURVIVED_MS - 50); /* and what it takes to mend it */
  sftest_hosts_cut(cluster->hosts, victim, false);
  int64_t lasted_ms = sftest_monotonic_ns() / 1000000 - cut_ms;
  plan->mended = true;
  if (lasted_ms <= SURVIVED_MS)
    sftest_job_end_well(&job);
  else
    sftest_job_wait(&job);
  return lasted_ms <= SURVIVED_MS;
}

static sftest_hosts_t hosts;
static const char *lacks; /* why there are no hosts */

static void make_hosts(void)
{
  lacks = sftest_hosts_make(&hosts, HOSTS);
}

static void end_hosts(void)
{
  if (lacks == NULL)
    sftest_hosts_end(&hosts);
}

static int start_cluster(sftest_cluster_t *cluster)
{
  sftest_cluster_start_on(cluster, &hosts);
  sftest_cluster_warm(cluster);
  return sftest_rounds(ROUNDS);
}

SFTEST_CASE(tcase_add_unchecked_fixture(tests, make_hosts, end_hosts));

SFTEST(cuts)
{
  sftest_cluster_t cluster;
  if (lacks != NULL)
    return;
  int rounds = start_cluster(&cluster);
  for (int i = 0; i < rounds; i++)
    cut_once(&cluster, sftest_seed());
  sftest_cluster_stop(&cluster);
}

SFTEST(interruptions)
{
  sftest_cluster_t cluster;
  if (lacks != NULL)
    return;
  int rounds = start_cluster(&cluster), survived = 0;
  for (int i = 0; i < rounds; i++)
    survived += interrupt_once(&cluster, sftest_seed());
  printf("%d links cut for %d ms, survived; %d cut for longer\n", survived, SURVIVED_MS, rounds - survived);
  sftest_cluster_stop(&cluster);
}

int main(void)
{
  int status = sftest_main();
  if (status != EXIT_SUCCESS || lacks == NULL)
    return status;
  printf("skipped: %s\n", lacks);
  return 77;
}
