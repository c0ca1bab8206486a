/* Jobs that are slow: see slow_job.h. */
#include "tests/system/tools/slow_job.h"

#include "tests/system/sfctl.h"

sftest_cluster_t sftest_slow_cluster;
sftest_job_t sftest_slow_job;
sftest_slow_t *sftest_slow;

bool sftest_slow_goes_on(sftest_rank_t *self, sf_graph_t *star)
{
  const sftest_slow_t *told = self->argument;
  int32_t own = told->over, over = 0;
  SFTEST_OK(self, sf_bcast(star, SF_INT32, &own, &over, SF_REPLACE));
  return over == 0;
}

sf_graph_t *sftest_slow_star(sftest_rank_t *self, sf_context_t *context)
{
  const int32_t rank = 0;
  const int64_t root = 0;
  sf_graph_t *star = NULL;
  SFTEST_OK(self,
            sf_graph_create(sf_group_world(context), self->rank == 0, 1, NULL, &rank, &root, SF_GRAPH_DEFAULT, &star));
  return star;
}

SFTEST_JOINED(follow)
{
  sftest_slow_t *told = self->argument;
  const int32_t before = (self->rank + SFTEST_SLOW_RANKS - 1) % SFTEST_SLOW_RANKS;
  const int64_t index = 0;
  double root = 0, leaf = 0;
  sf_graph_t *ring = NULL, *star = sftest_slow_star(self, context);
  SFTEST_OK(self, sf_graph_create(world, 1, 1, NULL, &before, &index, SF_GRAPH_DEFAULT, &ring));
  while (sftest_slow_goes_on(self, star)) {
    if (self->rank == SFTEST_CULPRIT && told->pause_ms > 0)
      sftest_sleep_ms(told->pause_ms);
    while (self->rank == SFTEST_CULPRIT && told->hold) {
      told->held = 1;
      sftest_sleep_ms(1);
    }
    SFTEST_OK(self, sf_bcast(ring, SF_DOUBLE, &root, &leaf, SF_REPLACE));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(ring));
  SFTEST_OK(self, sf_graph_destroy(star));
}

const sftest_rank_fn_t sftest_slow_follow = follow;

void sftest_slow_start_over(int32_t nnodes, sftest_rank_fn_t run)
{
  int32_t places[SFTEST_SLOW_RANKS];
  sftest_places_cyclic(places, SFTEST_SLOW_RANKS, nnodes);
  sftest_cluster_start(&sftest_slow_cluster, nnodes);
  sftest_slow = sftest_shared(sizeof *sftest_slow);
  sftest_job_start_over(&sftest_slow_job, sftest_slow_cluster.nodes, places, SFTEST_SLOW_RANKS, run, sftest_slow);
}

void sftest_slow_start(sftest_rank_fn_t run)
{
  sftest_slow_start_over(1, run);
}

void sftest_slow_await_rounds(int32_t n)
{
  sftest_job_await(&sftest_slow_job, &sftest_slow->rounds[SFTEST_CULPRIT], n);
}

void sftest_slow_end(void)
{
  sftest_slow->over = true;
  sftest_job_end_well(&sftest_slow_job);
  sftest_cluster_stop(&sftest_slow_cluster);
}

void sftest_slow_ask(const char *const words[])
{
  sftest_sfctl(sftest_slow_cluster.nodes[0].socket, words, 0);
}

double sftest_slow_share_of(const char *fragment, const char *name)
{
  char member[48];
  snprintf(member, sizeof member, "\"%s\":", name);
  const char *row = strstr(sftest_sfctl_out, fragment), *at = row != NULL ? strstr(row, member) : NULL;
  ck_assert_msg(at != NULL, "no %s behind %s in: %s", name, fragment, sftest_sfctl_out);
  return strtod(at + strlen(member), NULL);
}
