/* Hostile clients of all kinds, one by one and all at once, at full speed: sfd stays alive and answers, another job
 * works on, and afterwards nothing is left of them. */
#include "client/core/context.h"
#include "tests/system/cluster.h"
#include "tests/system/hostile.h"
#include "tests/system/work.h"

#define SERVED 3         /* jobs during the assault of each kind alone */
#define SERVED_ALL 6     /* of all together */
#define GROWTH_KIB 16384 /* of sfd, that the allocator may keep */

static const struct {
  const char *name;
  sftest_rank_fn_t run;
  int32_t size;
} kinds[] = {
    {"garbage", sftest_send_garbage, 1},         {"fragments", sftest_send_fragments, 1},
    {"descriptors", sftest_send_descriptors, 1}, {"connections", sftest_flood_connections, 1},
    {"requests", sftest_flood_requests, 1},      {"alerts", sftest_flood_alerts, 1},
    {"scribbling", sftest_scribble, 2},
};
#define NKINDS ((int)(sizeof kinds / sizeof kinds[0]))

/* A few of them at work. */
typedef struct battle {
  sftest_job_t jobs[NKINDS];
  sftest_assault_t *assaults;
} battle_t;

static bool all_begun(const battle_t *battle, int first, int last)
{
  for (int i = first; i <= last; i++)
    if (battle->assaults[i].attempts == 0)
      return false;
  return true;
}

/* New jobs are served: so many while all assaults have begun, which keep each other from joining. */
static void watch(const sftest_node_t *node, const battle_t *battle, int first, int last, int jobs)
{
  int left = sftest_scale(jobs);
  for (int64_t until = sftest_now_ms() + SFTEST_HANG_MS; left > 0 && sftest_now_ms() < until;) {
    sftest_expect_serving(node);
    ck_assert_msg(kill(node->pid, 0) == 0, "sfd has died");
    left -= all_begun(battle, first, last);
  }
}

static void fight(const sftest_node_t *node, int first, int last, int jobs)
{
  battle_t *battle = calloc(1, sizeof *battle);
  int fds = sftest_node_rest(node, 0);
  battle->assaults = sftest_shared((size_t)NKINDS * sizeof *battle->assaults);
  for (int i = first; i <= last; i++)
    sftest_job_start(&battle->jobs[i], node, kinds[i].size, kinds[i].run, &battle->assaults[i]);
  watch(node, battle, first, last, jobs);
  for (int i = first; i <= last; i++)
    battle->assaults[i].over = true;
  for (int i = first; i <= last; i++) {
    sftest_job_wait(&battle->jobs[i]);
    printf("%s: %lld attempts\n", kinds[i].name, (long long)battle->assaults[i].attempts);
    ck_assert_msg(battle->assaults[i].attempts > 0, "%s: no attempt", kinds[i].name);
    if (kinds[i].run != sftest_scribble) /* who writes into its own memory may come to harm */
      sftest_job_expect_all(&battle->jobs[i]);
  }
  sftest_node_settle(node, fds);
  free(battle);
}

static void run_fight(int first, int last, int jobs)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  uint64_t seed = sftest_seed();
  sftest_use_seed(seed);
  sftest_node_start(&node,
                    (const char *const[]){sftest_is_sanitized() ? "--hello-timeout=6" : "--hello-timeout=2", NULL});
  sftest_expect_serving(&node);
  sftest_bystander_start(&bystander, &node);
  long before_kib = sftest_node_resident_kib(&node);
  fight(&node, first, last, jobs);
  sftest_bystander_stop(&bystander);
  sftest_expect_serving(&node);
  long grown_kib = sftest_node_resident_kib(&node) - before_kib;
  printf("sfd has grown by %ld KiB\n", grown_kib);
  ck_assert_msg(sftest_is_sanitized() || grown_kib < GROWTH_KIB, "sfd has grown by %ld KiB", grown_kib);
  sftest_node_stop(&node);
}

SFTEST_FOR(alone, NKINDS)
{
  run_fight(_i, _i, SERVED);
}

SFTEST(together)
{
  run_fight(0, NKINDS - 1, SERVED_ALL);
}

/* What the client library never asks for: memory of a rank that is on another node. */
static void ask_elsewhere(sftest_rank_t *self)
{
  sf_graph_t *graph;
  Sfproto__SegmentGet get = SFPROTO__SEGMENT_GET__INIT;
  Sfproto__RegionGet region = SFPROTO__REGION_GET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sf_context_t *context = sftest_join(self);
  get.rank = region.rank = 1 - self->rank;
  message.body_case = SFPROTO__MESSAGE__BODY_SEGMENT_GET;
  message.segment_get = &get;
  SFTEST_EXPECT(self, sfc_daemon_tell(&context->control, &message, NULL, 0), SF_ERR_NOT_FOUND);
  message.body_case = SFPROTO__MESSAGE__BODY_REGION_GET;
  message.region_get = &region;
  SFTEST_EXPECT(self, sfc_daemon_tell(&context->control, &message, NULL, 0), SF_ERR_NOT_FOUND);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 1, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
}

SFTEST(elsewhere)
{
  static sftest_cluster_t cluster;
  static const int32_t places[] = {0, 1};
  sftest_cluster_start_warm(&cluster, 2);
  sftest_cluster_run(&cluster, places, 2, ask_elsewhere, NULL);
  sftest_cluster_stop(&cluster);
}
