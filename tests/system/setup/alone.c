/* A rank alone: see alone.h. */
#include "tests/system/setup/alone.h"

static void make_graph(sftest_alone_t *alone)
{
  int32_t ranks[SFTEST_ALONE_VALUES] = {0};
  int64_t roots[SFTEST_ALONE_VALUES];
  for (int64_t i = 0; i < SFTEST_ALONE_VALUES; i++)
    roots[i] = i;
  SFTEST_OK(alone->self, sf_graph_create(sf_group_world(alone->context), SFTEST_ALONE_VALUES, SFTEST_ALONE_VALUES, NULL,
                                         ranks, roots, 0, &alone->graph));
}

static void expect_working(sftest_alone_t *alone)
{
  for (int i = 0; i < SFTEST_ALONE_VALUES; i++)
    alone->roots[i] = i + 0.5;
  memset(alone->leaves, 0, sizeof alone->leaves);
  SFTEST_OK(alone->self, sf_bcast(alone->graph, SF_DOUBLE, alone->roots, alone->leaves, SF_REPLACE));
  SFTEST_REQUIRE(alone->self, memcmp(alone->roots, alone->leaves, sizeof alone->roots) == 0);
}

static void run_parts(sftest_rank_t *self)
{
  sftest_alone_t *alone = calloc(1, sizeof *alone);
  *alone = (sftest_alone_t){.self = self, .context = sftest_join(self)};
  make_graph(alone);
  for (const sftest_alone_part_t *part = self->argument; part->name != NULL; part++) {
    sftest_at(self, "%s", part->name);
    part->run(alone);
    expect_working(alone);
  }
  sftest_leave(self, alone->context); /* with the graph: it is freed with the context */
  free(alone);
}

void sftest_alone_run(const sftest_alone_part_t parts[])
{
  sftest_run_alone(1, run_parts, (void *)(uintptr_t)parts);
}
