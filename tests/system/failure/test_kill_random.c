/* Kills one after the other, of random ranks at random moments, while everybody does a bit of everything: no hang, no
 * wrong error, nothing left, and the daemon still serves. */
#include "tests/system/doomed.h"
#include "tests/system/work.h"

#define KILLS 200
#define RANKS_MAX 5
#define WAITING_MAX 8 /* jobs that wait for a victim who never came */

static sftest_doomed_t waiting[WAITING_MAX];

static void kill_once(const sftest_node_t *node, uint64_t seed, sftest_doomed_t *doomed)
{
  static const int32_t places[RANKS_MAX];
  uint64_t random = seed;
  int32_t size = 2 + (int32_t)sftest_below(&random, RANKS_MAX - 1);
  sftest_doom_t *doom = sftest_doom_make(seed, (int32_t)sftest_below(&random, size), &random);
  if (doomed->doom != NULL)
    sftest_doomed_collect(doomed);
  sftest_doomed_kill(doomed, doom, node, places, size, 0);
  if (!doom->early) /* the others may have to wait for their time-out: meanwhile the next are killed */
    sftest_doomed_collect(doomed);
}

static void kill_many(const sftest_node_t *node, int kills)
{
  for (int n = 0, next = 0; n < kills; n++) {
    kill_once(node, sftest_seed(), &waiting[next]);
    if (waiting[next].doom != NULL)
      next = (next + 1) % WAITING_MAX;
  }
  for (int i = 0; i < WAITING_MAX; i++)
    if (waiting[i].doom != NULL)
      sftest_doomed_collect(&waiting[i]);
}

SFTEST(kills)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  sftest_node_start(&node, NULL);
  int fds = sftest_node_rest(&node, 0);
  sftest_expect_serving(&node);
  long kib = sftest_node_resident_kib(&node);
  sftest_bystander_start(&bystander, &node);
  kill_many(&node, sftest_rounds(KILLS));
  sftest_bystander_stop(&bystander);
  sftest_expect_serving(&node);
  sftest_node_settle(&node, fds);
  long grown_kib = sftest_node_resident_kib(&node) - kib;
  ck_assert_msg(sftest_is_sanitized() || grown_kib < 4096, "sfd has grown by %ld KiB", grown_kib);
  sftest_node_stop(&node);
}
