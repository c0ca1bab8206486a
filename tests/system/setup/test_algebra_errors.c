/* Graph algebra when one rank has bad input, or dies: all ranks get its error, and what took part goes on working. What
 * each rank finds by itself: test_algebra_alone.c. */
#include "tests/system/cluster.h"
#include "tests/system/model/algebra.h"

#define RANKS 4
#define NROOTS 6

/* What each try gets: the ring graph, in which leaf 2i of a rank is connected to root i of the next one. */
typedef struct scene {
  sftest_rank_t *self;
  sf_group_t *group;
  int32_t rank;
  bool bad; /* this rank spoils it */
  sf_graph_t *ring;
  sf_graph_t *other; /* one root more on the bad rank */
} scene_t;

typedef sf_status_t try_fn_t(const scene_t *scene, sf_graph_t **graph_p);

static sf_status_t embed_beyond(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t selected[] = {0, scene->bad ? NROOTS : 1};
  return sf_graph_embed_roots(scene->ring, 2, selected, graph_p);
}

static sf_status_t embed_null(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t selected[] = {0};
  return sf_graph_embed_leaves(scene->ring, 1, scene->bad ? NULL : selected, graph_p);
}

static sf_status_t embed_negative(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t selected[] = {scene->bad ? -3 : 3};
  return sf_graph_embed_leaves(scene->ring, 1, selected, graph_p);
}

static sf_status_t shared_roots(const scene_t *scene, sf_graph_t **graph_p)
{
  sf_graph_t *graphs[] = {scene->ring, scene->other};
  return sf_graph_concatenate(2, graphs, SF_ROOTS_SHARED, NULL, graph_p);
}

static sf_status_t same_leaves(const scene_t *scene, sf_graph_t **graph_p)
{
  sf_graph_t *graphs[] = {scene->ring, scene->other};
  int64_t offsets[] = {0, scene->bad ? 2 : 100};
  return sf_graph_concatenate(2, graphs, SF_ROOTS_LOCAL, offsets, graph_p);
}

static sf_status_t merge_others(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_merge(scene->ring, scene->other, graph_p);
}

static sf_status_t stride_too_short(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_strided(scene->ring, 2, scene->bad ? NROOTS - 1 : 0, 0, graph_p);
}

static sf_status_t stride_too_long(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_strided(scene->ring, 2, 0, scene->bad ? INT64_MAX / 2 + 1 : 0, graph_p);
}

static sf_status_t other_count(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_strided(scene->ring, scene->bad ? 3 : 2, 0, 0, graph_p);
}

static sf_status_t global_beyond(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t numbers[] = {0, scene->bad ? RANKS * NROOTS : 1};
  return sf_graph_create_global(scene->group, NROOTS, 2, NULL, numbers, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t global_negative(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_global(scene->group, scene->bad ? -1 : 0, 0, NULL, NULL, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t layout_too_long(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_from_layouts(scene->group, INT64_MAX / 3, scene->bad, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t match_beyond(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t names[] = {3, scene->bad ? 10 : 4};
  sf_match_t match = {.nnames = 10, .nleaves = 2, .leaf_name = names};
  return sf_graph_create_matching(scene->group, &match, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t match_root_beyond(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t names[] = {3, 4}, roots[] = {0, scene->bad ? 5 : 4};
  sf_match_t match = {.nnames = 10, .root_space = 5, .nroots = 2, .root_name = names, .root_index = roots};
  return sf_graph_create_matching(scene->group, &match, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t match_names(const scene_t *scene, sf_graph_t **graph_p)
{
  sf_match_t match = {.nnames = scene->bad ? 9 : 10};
  return sf_graph_create_matching(scene->group, &match, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t match_null(const scene_t *scene, sf_graph_t **graph_p)
{
  sf_match_t match = {.nnames = 10};
  return sf_graph_create_matching(scene->group, scene->bad ? NULL : &match, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t other_pattern(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_pattern(scene->group, scene->bad ? SF_PATTERN_ALLGATHER : SF_PATTERN_ALLTOALL, 2, 0,
                                 SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t other_block(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_pattern(scene->group, SF_PATTERN_ALLTOALL, scene->bad ? 3 : 2, 0, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t no_pattern(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_pattern(scene->group, scene->bad ? SF_PATTERN_NONE : SF_PATTERN_GATHER, 2, 0, SF_GRAPH_DEFAULT,
                                 graph_p);
}

static sf_status_t no_such_gatherer(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_create_pattern(scene->group, SF_PATTERN_GATHER, 2, scene->bad ? RANKS : 0, SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t other_flags(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_duplicate(scene->ring, scene->bad ? SF_GRAPH_COPY : SF_GRAPH_DEFAULT, graph_p);
}

static sf_status_t section_sizes(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t root_sizes[NROOTS + 1] = {2, 2, 2, 2, 2, 2, 2}, leaf_sizes[2 * NROOTS];
  for (int i = 0; i < 2 * NROOTS; i++)
    leaf_sizes[i] = i == 4 && scene->bad ? 3 : 2;
  sf_section_t roots = {NROOTS, root_sizes, NULL}, leaves = {2 * NROOTS, leaf_sizes, NULL};
  return sf_section_graph(scene->ring, &roots, &leaves, graph_p);
}

static sf_status_t section_negative(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t sizes[NROOTS] = {1, 2, scene->bad ? -1 : 0, 1, 1, 1}, leaf_size[2 * NROOTS], leaf_offset[2 * NROOTS], n;
  sf_section_t roots = {NROOTS, sizes, NULL};
  (void)graph_p;
  return sf_section_migrate(scene->ring, &roots, leaf_size, leaf_offset, &n);
}

static sf_status_t section_short(const scene_t *scene, sf_graph_t **graph_p)
{
  sf_section_t roots = {scene->bad ? NROOTS - 1 : NROOTS, NULL, NULL}, leaves = {2 * NROOTS, NULL, NULL};
  return sf_section_graph(scene->ring, &roots, &leaves, graph_p);
}

static sf_status_t view_nowhere(const scene_t *scene, sf_graph_t **graph_p)
{
  (void)graph_p;
  return sf_graph_view(scene->ring, scene->bad ? (sf_view_format_t)9 : SF_VIEW_TEXT, scene->rank == 0 ? stdout : NULL);
}

static sf_status_t nowhere_to_compose(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_compose(scene->ring, scene->ring, scene->bad ? NULL : graph_p);
}

static sf_status_t nowhere_to_pattern(const scene_t *scene, sf_graph_t **graph_p)
{
  sf_pattern_t pattern;
  (void)graph_p;
  return sf_graph_find_pattern(scene->ring, scene->bad ? NULL : &pattern);
}

static sf_status_t nowhere_to_compare(const scene_t *scene, sf_graph_t **graph_p)
{
  bool equal;
  (void)graph_p;
  return sf_graph_equal(scene->ring, scene->other, scene->bad ? NULL : &equal);
}

static sf_status_t nowhere_to_migrate(const scene_t *scene, sf_graph_t **graph_p)
{
  int64_t sizes[2 * NROOTS], offsets[2 * NROOTS], nunits;
  sf_section_t roots = {NROOTS, NULL, NULL};
  (void)graph_p;
  return sf_section_migrate(scene->ring, &roots, sizes, offsets, scene->bad ? NULL : &nunits);
}

static sf_status_t unknown_flags(const scene_t *scene, sf_graph_t **graph_p)
{
  return sf_graph_from_layouts(scene->group, NROOTS, NROOTS, scene->bad ? 0x100 : SF_GRAPH_DEFAULT, graph_p);
}

static const struct
try {
  const char *name;
  try_fn_t *run;
  sf_status_t expected;
  const char *detail; /* besides the bad rank; with %d for it: instead */
}
tries[] = {
    {"embed_beyond", embed_beyond, SF_ERR_RANGE, "selected index 6, in place 1"},
    {"embed_null", embed_null, SF_ERR_ARG, "1 selected"},
    {"embed_negative", embed_negative, SF_ERR_RANGE, "selected index -3"},
    {"shared_roots", shared_roots, SF_ERR_ARG, "graph 0 has 6 roots, graph 1 has 7"},
    {"same_leaves", same_leaves, SF_ERR_ARG, "leaf 2"},
    {"merge_others", merge_others, SF_ERR_ARG, "6 and 7 roots"},
    {"stride_too_short", stride_too_short, SF_ERR_RANGE, "root_stride 5"},
    {"stride_too_long", stride_too_long, SF_ERR_RANGE, "leaf_stride"},
    {"other_count", other_count, SF_ERR_MISMATCH, "columns"},
    {"global_beyond", global_beyond, SF_ERR_RANGE, "leaf 1: global root number 24, but there are 24 roots"},
    {"global_negative", global_negative, SF_ERR_ARG, "nroots is -1"},
    {"layout_too_long", layout_too_long, SF_ERR_RANGE, "2^63"},
    {"match_beyond", match_beyond, SF_ERR_RANGE, "leaf 1: name 10 of 10"},
    {"match_root_beyond", match_root_beyond, SF_ERR_RANGE, "root index 5"},
    {"match_names", match_names, SF_ERR_MISMATCH, "names on rank"},
    {"match_null", match_null, SF_ERR_ARG, "NULL"},
    {"other_pattern", other_pattern, SF_ERR_MISMATCH, "pattern 3"},
    {"other_block", other_block, SF_ERR_MISMATCH, "blocks of"},
    {"no_pattern", no_pattern, SF_ERR_ARG, "no pattern 0"},
    {"no_such_gatherer", no_such_gatherer, SF_ERR_RANGE, "rank 4"},
    {"other_flags", other_flags, SF_ERR_MISMATCH, "flags"},
    {"section_sizes", section_sizes, SF_ERR_MISMATCH, "leaf 4: 3 units at the leaf, 2 at its root, number 2"},
    {"section_negative", section_negative, SF_ERR_RANGE, "point 2 has -1 units"},
    {"section_short", section_short, SF_ERR_ARG, "5 points; 6 expected"},
    {"nowhere_to_compose", nowhere_to_compose, SF_ERR_ARG, "no place for the result"},
    {"nowhere_to_pattern", nowhere_to_pattern, SF_ERR_ARG, "no place for the result"},
    {"nowhere_to_compare", nowhere_to_compare, SF_ERR_ARG, "no place for the result"},
    {"nowhere_to_migrate", nowhere_to_migrate, SF_ERR_ARG, "no place for the result"},
    {"unknown_flags", unknown_flags, SF_ERR_ARG, "unknown flags 0x100"},
    {"view_nowhere", view_nowhere, SF_ERR_ARG, "no format 9"},
};

static void make_ring(int32_t size, int64_t nroots, sftest_forest_t *ring)
{
  sftest_forest_init(ring, size);
  for (int32_t rank = 0; rank < size; rank++) {
    ring->nroots[rank] = nroots;
    for (int64_t i = 0; i < NROOTS; i++)
      sftest_forest_add(ring, rank, 2 * i, (rank + 1) % size, i);
  }
}

SFTEST_JOINED(try_all)
{
  sf_group_t *group = world;
  sftest_forest_t ring, other;
  make_ring(RANKS, NROOTS, &ring);
  for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
    int32_t bad = (int32_t)(i % (RANKS - 1)) + 1; /* rank 0 must hear of others' errors */
    scene_t scene = {.self = self, .group = group, .rank = self->rank, .bad = self->rank == bad};
    sf_graph_t *graph = NULL;
    sftest_at(self, "%s", tries[i].name);
    make_ring(RANKS, NROOTS, &other);
    other.nroots[bad]++;
    sftest_forest_create(self, &ring, group, &scene.ring);
    sftest_forest_create(self, &other, group, &scene.other);
    SFTEST_EXPECT(self, tries[i].run(&scene, &graph), tries[i].expected);
    SFTEST_DETAIL(self, tries[i].detail);
    SFTEST_REQUIRE(self, graph == NULL);
    sftest_forest_expect(self, &ring, group, scene.ring);
    SFTEST_OK(self, sf_graph_destroy(scene.ring));
    SFTEST_OK(self, sf_graph_destroy(scene.other));
    sftest_forest_free(&other);
  }
  sftest_forest_free(&ring);
}

/* ---- On one node and over two ------------------------------------------------------------------------------------ */

SFTEST(over_nodes)
{
  static const int32_t places[][RANKS] = {{0, 0, 0, 0}, {0, 1, 0, 1}};
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 2);
  for (int i = 0; i < 2; i++)
    sftest_cluster_run(&cluster, places[i], RANKS, try_all, NULL);
  sftest_cluster_stop(&cluster);
}

/* Rank 1 dies while the others make graphs, wherever they are then. */
static void compose_until_lost(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph, *result = NULL;
  sftest_forest_t ring;
  make_ring(RANKS, NROOTS, &ring);
  sftest_forest_create(self, &ring, sf_group_world(context), &graph);
  sf_status_t status = SF_OK;
  for (int round = 0; status == SF_OK; round++) {
    if (self->rank == 1 && sftest_now_ms() > *(const int64_t *)self->argument)
      raise(SIGKILL);
    status = (round % 2 == 0 ? sf_graph_compose : sf_graph_merge)(graph, graph, &result);
    if (status == SF_OK)
      SFTEST_OK(self, sf_graph_destroy(result));
  }
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "rank 1");
  sftest_forest_free(&ring);
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

SFTEST(a_rank_dies)
{
  static const int32_t places[RANKS] = {0, 1, 0, 1};
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 2);
  for (int i = 0; i < sftest_scale(5); i++) {
    sftest_job_t job;
    int64_t until = sftest_now_ms() + 50 + 7 * i;
    sftest_job_start_over(&job, cluster.nodes, places, RANKS, compose_until_lost, &until);
    sftest_job_wait(&job);
    sftest_job_expect_all_but(&job, 1);
    sftest_cluster_settle(&cluster);
  }
  sftest_cluster_stop(&cluster);
}
