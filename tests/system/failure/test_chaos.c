/* Whether what daemons tell each other may come in any order that links allow: while ranks make graphs of all kinds,
 * good and bad, new and again, on groups that come and go, and exchange data on them, directions between nodes are held
 * and let go at random (loop_chaos.h). What ranks see has to be the same as ever, also when one of them leaves or dies;
 * and when they are done, no daemon may know of a graph or group that is over. Each job is a function of one seed. */
#include "tests/system/cluster.h"
#include "tests/system/failure/chaos.h"
#include "tests/system/loop/cluster.h"

#define CLUSTERS 3 /* with */
#define JOBS 5     /* each */

static uint64_t ask_all(sftest_loop_cluster_t *cluster, sftest_loop_order_t what)
{
  uint64_t n = 0;
  for (int32_t i = 0; i < cluster->n; i++)
    n += sftest_loop_cluster_order(cluster, what, i, 0);
  return n;
}

/* Nothing is under way any more; and then nothing may be left. */
static void expect_none(sftest_loop_cluster_t *cluster, const sftest_chaos_t *play, sftest_loop_order_t what,
                        const char *name)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  uint64_t n = 1;
  while ((sftest_loop_cluster_order(cluster, SFTEST_LOOP_WAITING, 0, 0) > 0 || (n = ask_all(cluster, what)) > 0) &&
         sftest_now_ms() < until)
    sftest_sleep_ms(1);
  ck_assert_msg(n == 0, "%d %s are left (SF_TEST_SEED=%llu)", (int)n, name, (unsigned long long)play->seed);
}

/* Of each bad graph all ranks heard the same. */
static void compare_details(const sftest_chaos_t *play, int32_t size)
{
  for (int64_t step = 0; step < play->nsteps; step++)
    for (int32_t rank = 1; rank < size && play->ending != SFTEST_ENDING_ONE_DIES; rank++)
      ck_assert_msg(strcmp(play->details[step][rank], play->details[step][0]) == 0,
                    "step %d: rank 0 heard \"%s\", rank %d \"%s\" (SF_TEST_SEED=%llu)", (int)step,
                    play->details[step][0], rank, play->details[step][rank], (unsigned long long)play->seed);
}

/* Waits until all ranks have done what they have to do; false: one has not. */
static bool all_done(sftest_job_t *job, const sftest_chaos_t *play)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while (atomic_load(&play->done) < job->size) {
    if (sftest_job_poll(job) || sftest_now_ms() > until)
      return false;
    for (int32_t rank = 0; rank < job->size; rank++)
      if (job->pids[rank] == 0)
        return false;
    sftest_sleep_ms(1);
  }
  return true;
}

static void run_job(sftest_loop_cluster_t *cluster, uint64_t seed)
{
  sftest_job_t job;
  int32_t places[SFTEST_CHAOS_RANKS];
  sftest_chaos_t *play = sftest_shared(sizeof *play);
  uint64_t random = sftest_hash(seed);
  play->seed = seed;
  play->nsteps = 4 + sftest_below(&random, SFTEST_CHAOS_STEPS - 4);
  int32_t size = 2 + (int32_t)sftest_below(&random, SFTEST_CHAOS_RANKS - 1);
  int64_t ending = sftest_below(&random, 8);
  play->ending = ending == 0 ? SFTEST_ENDING_ONE_DIES : ending < 3 ? SFTEST_ENDING_ONE_LEAVES : SFTEST_ENDING_TOGETHER;
  play->victim = (int32_t)sftest_below(&random, size);
  play->fatal = sftest_below(&random, play->nsteps);
  sftest_places_random(places, size, cluster->n, &random);
  sftest_use_seed(seed);
  (void)sftest_loop_cluster_order(cluster, SFTEST_LOOP_CHAOS, (int32_t)(seed >> 33), 1);
  sftest_job_start_over(&job, cluster->nodes, places, size, sftest_live_in_chaos, play);
  if (play->ending == SFTEST_ENDING_TOGETHER && all_done(&job, play)) {
    (void)sftest_loop_cluster_order(cluster, SFTEST_LOOP_CHAOS, 0, 0);
    expect_none(cluster, play, SFTEST_LOOP_OPEN, "graphs and groups");
  }
  atomic_store(&play->over, 1);
  sftest_job_wait(&job);
  if (play->ending == SFTEST_ENDING_ONE_DIES)
    sftest_job_expect_all_but(&job, play->victim);
  else
    sftest_job_expect_all(&job);
  compare_details(play, size);
  (void)sftest_loop_cluster_order(cluster, SFTEST_LOOP_CHAOS, 0, 0);
  expect_none(cluster, play, SFTEST_LOOP_JOBS, "jobs");
  expect_none(cluster, play, SFTEST_LOOP_KEPT, "bytes of messages about jobs that are over");
}

/* One cluster. Seeds follow from the first one; each says also how many nodes there are. */
static void run_jobs(uint64_t first, int njobs)
{
  static sftest_loop_cluster_t cluster;
  int32_t nnodes = 2 + (int32_t)(first % 3);
  sftest_loop_cluster_start(&cluster, nnodes, first % 4 == 0 ? 7 : 0, first % 5 == 0 ? first : 0);
  uint64_t seed = first;
  for (int i = 0; i < njobs; i++) {
    run_job(&cluster, seed);
    seed = sftest_hash(seed) / 3 * 3 + first % 3;
  }
  sftest_loop_cluster_stop(&cluster);
}

SFTEST(jobs_in_chaos)
{
  uint64_t seed = sftest_seed();
  for (int i = 0; i < sftest_rounds(CLUSTERS); i++) {
    run_jobs(seed, sftest_seed_is_given() ? 1 : JOBS);
    seed = sftest_hash(seed) / 3 * 3 + (seed + 1) % 3;
  }
}
