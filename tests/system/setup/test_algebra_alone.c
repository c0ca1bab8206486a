/* Graph algebra and views: errors that every rank finds by itself, ranks without memory, graphs without a group, and
 * the text of views. One rank's bad input: test_algebra_errors.c. */
#include "tests/system/cluster.h"
#include "tests/system/model/algebra.h"

static void try_extents(sftest_rank_t *self)
{
  const int64_t sizes[] = {2, 0, -1}, offsets[] = {5, 9, INT64_MAX};
  sf_section_t section = {.npoints = 2, .size = sizes, .offset = offsets};
  int64_t extent = -1;
  SFTEST_EXPECT(self, sf_section_extent(NULL, &extent), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_section_extent(&section, NULL), SF_ERR_ARG);
  SFTEST_OK(self, sf_section_extent(&section, &extent));
  SFTEST_REQUIRE(self, extent == 7); /* a point without units takes no room */
  section.npoints = 3;
  SFTEST_EXPECT(self, sf_section_extent(&section, &extent), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "point 2 has -1 units");
  section.size = NULL;
  SFTEST_EXPECT(self, sf_section_extent(&section, &extent), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "point 2 has 1 units at offset 9223372036854775807");
  section.npoints = -1;
  SFTEST_EXPECT(self, sf_section_extent(&section, &extent), SF_ERR_ARG);
  SFTEST_REQUIRE(self, extent == 7);
}

/* What every rank finds by itself. */
SFTEST_JOINED(try_alone)
{
  sf_group_t *group = world, *mine;
  sf_graph_t *graph, *lone, *result = NULL, *graphs[2];
  sf_match_t match = {.nnames = 1};
  int32_t rank = self->rank;
  char text[4];
  SFTEST_OK(self, sf_group_create(context, 1, &rank, 0, &mine));
  SFTEST_OK(self, sf_graph_create(group, 1, 0, NULL, NULL, NULL, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_graph_create(mine, 1, 0, NULL, NULL, NULL, SF_GRAPH_DEFAULT, &lone));
  SFTEST_EXPECT(self, sf_graph_compose(graph, NULL, &result), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_compose(NULL, graph, &result), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_compose(graph, graph, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_compose(graph, lone, &result), SF_ERR_ARG);
  SFTEST_DETAIL(self, "different groups");
  SFTEST_EXPECT(self, sf_graph_inverse(NULL, &result), SF_ERR_ARG);
  graphs[0] = graph;
  graphs[1] = NULL;
  SFTEST_EXPECT(self, sf_graph_concatenate(2, graphs, SF_ROOTS_LOCAL, NULL, &result), SF_ERR_ARG);
  SFTEST_DETAIL(self, "graph 1 is NULL");
  SFTEST_EXPECT(self, sf_graph_concatenate(1, graphs, (sf_root_mode_t)3, NULL, &result), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_concatenate(0, graphs, SF_ROOTS_LOCAL, NULL, &result), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create_matching(NULL, &match, SF_GRAPH_DEFAULT, &result), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create_pattern(NULL, SF_PATTERN_ALLTOALL, 1, 0, SF_GRAPH_DEFAULT, &result), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_find_pattern(graph, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_equal(graph, NULL, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_view_part(graph, (sf_view_format_t)2, text, sizeof text, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_view_part(graph, SF_VIEW_TEXT, NULL, 1, NULL), SF_ERR_ARG);
  try_extents(self);
  SFTEST_REQUIRE(self, result == NULL);
  SFTEST_OK(self, sf_graph_destroy(lone));
  SFTEST_OK(self, sf_group_destroy(mine));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Without memory, without a group, without a rank ------------------------------------------------------------- */

/* Rank 1 has more roots than any array can be long for. That is no error of the graph, but nothing can be composed. */
SFTEST_JOINED(starve)
{
  sf_group_t *group = world;
  sf_graph_t *graph, *huge, *result = NULL;
  int32_t ranks[] = {1, 0};
  int64_t roots[] = {0, 0}, leaves[2];
  SFTEST_OK(self, sf_graph_create(group, 1, 2, NULL, ranks, roots, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_graph_create(group, self->rank == 1 ? INT64_MAX / 2 : 1, 2, NULL, ranks, roots, SF_GRAPH_DEFAULT,
                                  &huge));
  SFTEST_EXPECT(self, sf_graph_compose(graph, huge, &result), SF_ERR_NOMEM);
  SFTEST_DETAIL(self, "rank 1: array of");
  SFTEST_REQUIRE(self, result == NULL);
  if (self->rank != 1) /* it waits for values of rank 1 */
    SFTEST_EXPECT(self, sf_bcast(huge, SF_INT64, roots, leaves, SF_REPLACE), SF_ERR_NOMEM);
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  SFTEST_OK(self, sf_graph_destroy(huge));
  int64_t sizes[] = {INT64_C(1) << 60, 0}, offsets[] = {0, 0};
  sf_section_t section = {1, sizes, NULL}, section_of_leaves = {2, (int64_t[]){sizes[0], sizes[0]}, offsets};
  SFTEST_EXPECT(self, sf_section_graph(graph, &section, &section_of_leaves, &result), SF_ERR_NOMEM);
  SFTEST_REQUIRE(self, result == NULL);
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Rank 1 knows no such mode, and so not what the others do next, who may be on their way in either of two places. */
SFTEST_JOINED(join_without_mode)
{
  static const sf_root_mode_t modes[] = {SF_ROOTS_LOCAL, SF_ROOTS_GLOBAL};
  int32_t ranks[] = {1, 0};
  int64_t roots[] = {0, 0};
  for (int i = 0; i < 2; i++) {
    sf_graph_t *graph, *result = NULL;
    sf_root_mode_t mode = self->rank == 1 ? (sf_root_mode_t)3 : modes[i];
    SFTEST_OK(self, sf_graph_create(world, 1, 2, NULL, ranks, roots, SF_GRAPH_DEFAULT, &graph));
    SFTEST_EXPECT(self, sf_graph_concatenate(1, &graph, mode, NULL, &result), SF_ERR_ARG);
    SFTEST_DETAIL(self, "rank 1: ");
    SFTEST_DETAIL(self, "no mode 3");
    SFTEST_REQUIRE(self, result == NULL);
    SFTEST_OK(self, sf_graph_destroy(graph));
  }
}

/* Graphs outlive their group, also in what is made of them. */
SFTEST_JOINED(outlive_group)
{
  sf_group_t *group;
  sf_graph_t *graph, *other, *result;
  int32_t ranks[] = {2, 0, 1}, members[3] = {0, 1, 2};
  int64_t roots[] = {0, 1, 2}, found[3] = {0};
  SFTEST_OK(self, sf_group_create(context, 3, ranks, 0, &group));
  int32_t rank = sf_group_rank(group);
  SFTEST_OK(self, sf_graph_create(group, 3, 3, NULL, members, roots, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_group_destroy(group));
  SFTEST_OK(self, sf_group_create(context, 3, ranks, 1, &group)); /* the same ranks in the same order */
  SFTEST_OK(self, sf_graph_create(group, 3, 1, NULL, &rank, &roots[1], SF_GRAPH_DEFAULT, &other));
  SFTEST_OK(self, sf_group_destroy(group));
  SFTEST_OK(self, sf_graph_compose(graph, other, &result)); /* leaf 0 of rank r: leaf 1 of graph, root 1 of rank 1 */
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_graph_destroy(other));
  for (int i = 0; i < 3; i++)
    roots[i] = 10 * rank + i;
  SFTEST_OK(self, sf_bcast(result, SF_INT64, roots, found, SF_REPLACE));
  SFTEST_REQUIRE(self, found[0] == 11);
  SFTEST_OK(self, sf_graph_destroy(result));
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */

static const char text_view[] = "rank 0 of 2: 2 roots, 3 leaves in a space of 5\n"
                                "  leaves 0..1: rank 1, roots 0..1\n"
                                "  leaf 4: rank 0, root 1\n"
                                "rank 1 of 2: 2 roots, 0 leaves in a space of 0\n";
static const char json_view[] = "{\"size\":2,\"parts\":["
                                "{\"rank\":0,\"nroots\":2,\"nleaves\":3,\"leaf_space\":5,"
                                "\"edges\":[[0,1,0],[1,1,1],[4,0,1]]},\n"
                                "{\"rank\":1,\"nroots\":2,\"nleaves\":0,\"leaf_space\":0,\"edges\":[]}]}\n";

static void expect_view(sftest_rank_t *self, sf_graph_t *graph, sf_view_format_t format, const char *expected)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  SFTEST_OK(self, sf_graph_view(graph, format, self->rank == 0 ? file : NULL));
  fclose(file);
  sftest_require(self, self->rank != 0 || strcmp(text, expected) == 0, __FILE__, __LINE__, "found:\n%s", text);
  free(text);
}

/* Rank 0 finds that its file can't be written, or has none; all are told. */
static void view_in_vain(sftest_rank_t *self, sf_graph_t *graph)
{
  FILE *full = fopen("/dev/full", "w");
  SFTEST_REQUIRE(self, full != NULL);
  SFTEST_EXPECT(self, sf_graph_view(graph, SF_VIEW_TEXT, full), SF_ERR_SYS);
  SFTEST_DETAIL(self, "rank 0: writing the view");
  SFTEST_EXPECT(self, sf_graph_view(graph, SF_VIEW_JSON, self->rank == 0 ? NULL : full), SF_ERR_ARG);
  SFTEST_DETAIL(self, "rank 0: the file is NULL");
  fclose(full);
}

SFTEST_JOINED(view)
{
  sf_group_t *group = world;
  sftest_forest_t forest;
  sf_graph_t *graph;
  char part[100];
  size_t needed;
  sftest_forest_init(&forest, 2);
  forest.nroots[0] = forest.nroots[1] = 2;
  sftest_forest_add(&forest, 0, 0, 1, 0);
  sftest_forest_add(&forest, 0, 1, 1, 1);
  sftest_forest_add(&forest, 0, 4, 0, 1);
  sftest_forest_create(self, &forest, group, &graph);
  expect_view(self, graph, SF_VIEW_TEXT, text_view);
  view_in_vain(self, graph);
  expect_view(self, graph, SF_VIEW_JSON, json_view);
  if (self->rank == 1) {
    SFTEST_OK(self, sf_graph_view_part(graph, SF_VIEW_TEXT, part, sizeof part, &needed));
    SFTEST_REQUIRE(self, strcmp(part, "rank 1 of 2: 2 roots, 0 leaves in a space of 0\n") == 0);
    SFTEST_REQUIRE(self, needed == strlen(part) + 1);
    SFTEST_OK(self, sf_graph_view_part(graph, SF_VIEW_TEXT, part, 8, NULL));
    SFTEST_REQUIRE(self, strcmp(part, "rank 1 ") == 0);
    SFTEST_OK(self, sf_graph_view_part(graph, SF_VIEW_JSON, NULL, 0, &needed));
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_forest_free(&forest);
}

/* ---- On one node and over two ------------------------------------------------------------------------------------ */

static const struct {
  sftest_rank_fn_t run;
  int32_t size;
} jobs[] = {{try_alone, 3}, {starve, 3}, {join_without_mode, 3}, {outlive_group, 3}, {view, 2}};

SFTEST_FOR(over_nodes, (int)(sizeof jobs / sizeof jobs[0]))
{
  static const int32_t places[][3] = {{0, 0, 0}, {0, 1, 0}};
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 2);
  for (int i = 0; i < 2; i++)
    sftest_cluster_run(&cluster, places[i], jobs[_i].size, jobs[_i].run, NULL);
  sftest_cluster_stop(&cluster);
}
