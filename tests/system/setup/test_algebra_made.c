/* Graphs made of numbers, names, patterns and sections, copies and orders, compared with a serial model. */
#include "tests/system/algebra_scene.h"

/* ---- Global numbers ---------------------------------------------------------------------------------------------- */

static void global(scene_t *scene)
{
  sftest_forest_t forest;
  sf_graph_t *real;
  sftest_forest_random(&forest, sftest_random(&scene->random), scene->size, MAX_VERTICES);
  int64_t n = forest.n[scene->rank];
  int64_t *leaves = malloc(((size_t)n + 1) * sizeof *leaves), *numbers = malloc(((size_t)n + 1) * sizeof *numbers);
  for (int64_t i = 0; i < n; i++) {
    const sftest_edge_t *edge = &forest.edges[scene->rank][i];
    leaves[i] = edge->leaf;
    numbers[i] = sftest_forest_first(&forest, edge->root_rank) + edge->root;
  }
  leaves[n] = 5;
  numbers[n] = -1; /* is not connected, so that its index does not matter */
  SFTEST_OK(scene->self, sf_graph_create_global(scene->group, forest.nroots[scene->rank], n + 1, leaves, numbers,
                                                SF_GRAPH_DEFAULT, &real));
  free(leaves);
  free(numbers);
  scene_expect(scene, &forest, real);
}

static void layouts(scene_t *scene)
{
  sftest_forest_t forest;
  sf_graph_t *real;
  int64_t nleaves[SFTEST_GROUP_MAX], number = 0;
  sftest_forest_init(&forest, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    forest.nroots[rank] = sftest_below(&scene->random, 4) == 0 ? 0 : sftest_below(&scene->random, MAX_VERTICES);
    nleaves[rank] = sftest_below(&scene->random, 4) == 0 ? 0 : sftest_below(&scene->random, MAX_VERTICES);
  }
  SFTEST_OK(scene->self, sf_graph_from_layouts(scene->group, forest.nroots[scene->rank], nleaves[scene->rank],
                                               SF_GRAPH_DEFAULT, &real));
  for (int32_t rank = 0, owner = 0; rank < scene->size; rank++)
    for (int64_t i = 0; i < nleaves[rank] && number < sftest_forest_total(&forest); i++, number++) {
      while (number >= sftest_forest_first(&forest, owner + 1))
        owner++;
      sftest_forest_add(&forest, rank, i, owner, number - sftest_forest_first(&forest, owner));
    }
  scene_expect(scene, &forest, real);
}

/* A list of names with random indices. */
typedef struct names {
  int64_t n;
  int64_t name[MAX_VERTICES];
  int64_t index[MAX_VERTICES];
} names_t;

static void choose_names(uint64_t *random, int64_t nnames, names_t *names)
{
  names->n = sftest_below(random, 4) == 0 ? 0 : sftest_below(random, MAX_VERTICES);
  for (int64_t i = 0; i < names->n; i++) {
    names->name[i] =
        nnames == 0 || sftest_below(random, 8) == 0 ? -1 - sftest_below(random, 3) : sftest_below(random, nnames);
    names->index[i] = 2 * i + sftest_below(random, 2);
  }
}

static void matching(scene_t *scene)
{
  names_t roots[SFTEST_GROUP_MAX], leaves[SFTEST_GROUP_MAX];
  sftest_forest_t forest;
  sf_graph_t *real;
  int64_t nnames = sftest_below(&scene->random, 3 * MAX_VERTICES);
  bool given = sftest_below(&scene->random, 2) == 0, space = sftest_below(&scene->random, 2) == 0;
  sftest_forest_init(&forest, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    choose_names(&scene->random, nnames, &roots[rank]);
    choose_names(&scene->random, nnames, &leaves[rank]);
    forest.nroots[rank] = space ? 2 * MAX_VERTICES : 0;
    for (int64_t i = 0; i < roots[rank].n; i++) {
      int64_t root = given ? roots[rank].index[i] : i;
      if (roots[rank].name[i] >= 0 && root >= forest.nroots[rank])
        forest.nroots[rank] = root + 1;
    }
  }
  const names_t *own_roots = &roots[scene->rank], *own_leaves = &leaves[scene->rank];
  sf_match_t match = {nnames,           space ? 2 * MAX_VERTICES : 0,    own_roots->n,
                      own_roots->name,  given ? own_roots->index : NULL, own_leaves->n,
                      own_leaves->name, given ? own_leaves->index : NULL};
  SFTEST_OK(scene->self, sf_graph_create_matching(scene->group, &match, SF_GRAPH_DEFAULT, &real));
  for (int32_t rank = 0; rank < scene->size; rank++)
    for (int64_t i = 0; i < leaves[rank].n; i++)
      for (int32_t r = 0; r < scene->size; r++)
        for (int64_t k = 0; k < roots[r].n; k++)
          if (leaves[rank].name[i] >= 0 && leaves[rank].name[i] == roots[r].name[k])
            sftest_forest_add(&forest, rank, given ? leaves[rank].index[i] : i, r, given ? roots[r].index[k] : k);
  scene_expect(scene, &forest, real);
}

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

static void expect_pattern(scene_t *scene, sf_graph_t *graph, sf_pattern_t expected)
{
  sf_pattern_t found = SF_PATTERN_NONE;
  SFTEST_OK(scene->self, sf_graph_find_pattern(graph, &found));
  if (scene->size == 1 && expected != SF_PATTERN_NONE)
    expected = SF_PATTERN_ALLGATHER;
  sftest_require(scene->self, found == expected, __FILE__, __LINE__, "pattern %d, expected %d", (int)found,
                 (int)expected);
}

static void gathering(scene_t *scene, sf_pattern_t pattern)
{
  sftest_forest_t forest;
  sf_graph_t *real;
  int32_t root_rank = (int32_t)sftest_below(&scene->random, scene->size);
  sftest_forest_init(&forest, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++)
    forest.nroots[rank] = rank == 0 ? 1 + sftest_below(&scene->random, 5) : sftest_below(&scene->random, 20);
  for (int32_t rank = 0; rank < scene->size; rank++)
    for (int32_t r = 0; r < scene->size && (pattern == SF_PATTERN_ALLGATHER || rank == root_rank); r++)
      for (int64_t i = 0; i < forest.nroots[r]; i++)
        sftest_forest_add(&forest, rank, sftest_forest_first(&forest, r) + i, r, i);
  SFTEST_OK(scene->self, sf_graph_create_pattern(scene->group, pattern, forest.nroots[scene->rank], root_rank,
                                                 SF_GRAPH_DEFAULT, &real));
  expect_pattern(scene, real, pattern);
  scene_expect(scene, &forest, real);
}

static void all_to_all(scene_t *scene)
{
  sftest_forest_t forest;
  sf_graph_t *real;
  int64_t n = 1 + sftest_below(&scene->random, 5);
  sftest_forest_init(&forest, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    forest.nroots[rank] = n * scene->size;
    for (int64_t leaf = 0; leaf < n * scene->size; leaf++)
      sftest_forest_add(&forest, rank, leaf, (int32_t)(leaf / n), rank * n + leaf % n);
  }
  SFTEST_OK(scene->self, sf_graph_create_pattern(scene->group, SF_PATTERN_ALLTOALL, n, 0, SF_GRAPH_DEFAULT, &real));
  expect_pattern(scene, real, SF_PATTERN_ALLTOALL);
  scene_expect(scene, &forest, real);
}

/* An allgather or an alltoall of two vertices each, but for the last leaf: it is missing, or leads to the other root.
 */
static void almost(scene_t *scene, bool to_all, bool missing)
{
  sf_graph_t *graph;
  sftest_forest_t forest;
  int64_t n = 2 * scene->size;
  sftest_forest_init(&forest, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    bool last = rank == scene->size - 1;
    forest.nroots[rank] = to_all ? n : 2;
    for (int64_t i = 0; i < n - (last && missing); i++)
      sftest_forest_add(&forest, rank, i, (int32_t)(i / 2), (to_all ? 2 * rank : 0) + (i % 2 ^ (last && i == n - 1)));
  }
  sftest_forest_create(scene->self, &forest, scene->group, &graph);
  expect_pattern(scene, graph, SF_PATTERN_NONE);
  scene_destroy(scene, graph);
  sftest_forest_free(&forest);
}

static void patterns(scene_t *scene)
{
  gathering(scene, SF_PATTERN_ALLGATHER);
  gathering(scene, SF_PATTERN_GATHER);
  all_to_all(scene);
  for (int i = 0; i < 4; i++)
    almost(scene, i % 2 == 0, i < 2);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static void duplicate(scene_t *scene)
{
  sftest_forest_t forest, other;
  sf_graph_t *graph, *copy, *changed;
  bool equal = false;
  scene_make(scene, &forest, &graph);
  SFTEST_OK(scene->self, sf_graph_duplicate(graph, SF_GRAPH_REPRODUCIBLE, &copy));
  SFTEST_OK(scene->self, sf_graph_equal(graph, copy, &equal));
  SFTEST_REQUIRE(scene->self, equal);
  sftest_forest_init(&other, scene->size); /* the same but for what one rank has */
  int32_t odd = (int32_t)sftest_below(&scene->random, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    other.nroots[rank] = forest.nroots[rank];
    for (int64_t i = 0; i < forest.n[rank]; i++)
      sftest_forest_add(&other, rank, forest.edges[rank][i].leaf + (rank == odd && i == forest.n[rank] - 1),
                        forest.edges[rank][i].root_rank, forest.edges[rank][i].root);
  }
  other.nroots[odd] += forest.n[odd] == 0;
  sftest_forest_create(scene->self, &other, scene->group, &changed);
  SFTEST_OK(scene->self, sf_graph_equal(copy, changed, &equal));
  SFTEST_REQUIRE(scene->self, !equal);
  scene_destroy(scene, changed);
  scene_destroy(scene, graph);
  scene_expect(scene, &forest, copy);
  sftest_forest_free(&other);
}

static bool comes_before(const sftest_edge_t *a, const sftest_edge_t *b)
{
  if (a->root_rank != b->root_rank)
    return a->root_rank < b->root_rank;
  return a->root != b->root ? a->root < b->root : a->leaf < b->leaf;
}

static void rank_order(scene_t *scene)
{
  sftest_forest_t forest, ordered;
  sf_graph_t *graph, *real;
  int64_t old[8 * MAX_VERTICES];
  scene_make(scene, &forest, &graph);
  SFTEST_OK(scene->self, sf_graph_rank_order(graph, old, &real));
  scene_destroy(scene, graph);
  sftest_forest_init(&ordered, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    ordered.nroots[rank] = forest.nroots[rank];
    for (int64_t i = 0; i < forest.n[rank]; i++) {
      int64_t place = 0;
      for (int64_t k = 0; k < forest.n[rank]; k++)
        place += comes_before(&forest.edges[rank][k], &forest.edges[rank][i]);
      sftest_forest_add(&ordered, rank, place, forest.edges[rank][i].root_rank, forest.edges[rank][i].root);
      SFTEST_REQUIRE(scene->self, rank != scene->rank || old[place] == forest.edges[rank][i].leaf);
    }
  }
  scene_expect(scene, &ordered, real);
  sftest_forest_free(&forest);
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */

/* What rank 0 has written. */
static char *write_view(scene_t *scene, sf_graph_t *graph, sf_view_format_t format)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  SFTEST_REQUIRE(scene->self, file != NULL);
  SFTEST_OK(scene->self, sf_graph_view(graph, format, file));
  fclose(file);
  return text;
}

static char *json_of(const sftest_forest_t *forest)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  fprintf(file, "{\"size\":%d,\"parts\":[", forest->size);
  for (int32_t rank = 0; rank < forest->size; rank++) {
    fprintf(file, "%s{\"rank\":%d,\"nroots\":%lld,\"nleaves\":%lld,\"leaf_space\":%lld,\"edges\":[",
            rank > 0 ? ",\n" : "", rank, (long long)forest->nroots[rank], (long long)forest->n[rank],
            (long long)sftest_forest_space(forest, rank));
    for (int64_t i = 0; i < forest->n[rank]; i++) {
      const sftest_edge_t *edge = &forest->edges[rank][i];
      fprintf(file, "%s[%lld,%d,%lld]", i > 0 ? "," : "", (long long)edge->leaf, edge->root_rank,
              (long long)edge->root);
    }
    fputs("]}", file);
  }
  fputs("]}\n", file);
  fclose(file);
  return text;
}

/* Reads a line of the text for people: edges of the rank that the last line of a rank has named. */
static void read_line(scene_t *scene, const char *line, int32_t *rank, sftest_forest_t *found)
{
  long long first, last, root, roots;
  int size, root_rank;
  if (sscanf(line, "rank %d of %d: %lld roots, %lld leaves in a space of %lld", rank, &size, &roots, &first, &last) ==
      5) {
    SFTEST_REQUIRE(scene->self, *rank >= 0 && *rank < scene->size && size == scene->size);
    found->nroots[*rank] = roots;
    return;
  }
  if (sscanf(line, " leaves %lld..%lld: rank %d, roots %lld..%lld", &first, &last, &root_rank, &root, &roots) == 5)
    SFTEST_REQUIRE(scene->self, roots - root == last - first && last > first);
  else if (sscanf(line, " leaf %lld: rank %d, root %lld", &first, &root_rank, &root) == 3)
    last = first;
  else
    sftest_require(scene->self, false, __FILE__, __LINE__, "not understood: %s", line);
  for (long long k = 0; k <= last - first; k++)
    sftest_forest_add(found, *rank, first + k, root_rank, root + k);
}

static void views(scene_t *scene)
{
  sftest_forest_t forest, found;
  sf_graph_t *graph;
  int32_t rank = -1;
  scene_make(scene, &forest, &graph);
  char *text = write_view(scene, graph, SF_VIEW_TEXT), *json = write_view(scene, graph, SF_VIEW_JSON);
  char *expected = json_of(&forest), *rest = text;
  scene_destroy(scene, graph);
  if (scene->rank == 0) {
    sftest_require(scene->self, strcmp(json, expected) == 0, __FILE__, __LINE__, "found:\n%s\nexpected:\n%s", json,
                   expected);
    sftest_forest_init(&found, scene->size);
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';)
      read_line(scene, line, &rank, &found);
    free(expected);
    expected = json_of(&found);
    sftest_require(scene->self, strcmp(json, expected) == 0, __FILE__, __LINE__, "as text:\n%s\nas JSON:\n%s", expected,
                   json);
    sftest_forest_free(&found);
  }
  free(text);
  free(json);
  free(expected);
  sftest_forest_free(&forest);
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

static int64_t size_of(uint64_t seed, int32_t rank, int64_t point)
{
  return (int64_t)(sftest_hash2(sftest_hash2(seed, (uint64_t)rank), (uint64_t)point) % 4);
}

/* Points lie in the array of units in ascending order, with gaps if wide. */
static void offsets_of(uint64_t seed, int32_t rank, int64_t npoints, bool wide, int64_t sizes[], int64_t offsets[])
{
  int64_t next = 0;
  for (int64_t i = 0; i < npoints; i++) {
    sizes[i] = size_of(seed, rank, i);
    offsets[i] = next;
    next += sizes[i] + (wide && sizes[i] > 1);
  }
}

static int64_t extent_of(int64_t npoints, const int64_t sizes[], const int64_t offsets[])
{
  int64_t extent = 0;
  for (int64_t i = 0; i < npoints; i++)
    if (sizes[i] > 0 && offsets[i] + sizes[i] > extent)
      extent = offsets[i] + sizes[i];
  return extent;
}

static void expect_extent(scene_t *scene, sf_section_t section, int64_t expected)
{
  int64_t found = -1;
  SFTEST_OK(scene->self, sf_section_extent(&section, &found));
  SFTEST_REQUIRE(scene->self, found == expected);
  section.size = NULL; /* one unit each: the last one is the highest if the offsets ascend */
  SFTEST_OK(scene->self, sf_section_extent(&section, &found));
  int64_t last = section.npoints - 1;
  SFTEST_REQUIRE(scene->self,
                 found == (section.offset != NULL && last >= 0 ? section.offset[last] + 1 : section.npoints));
}

static void sections(scene_t *scene)
{
  enum { POINTS = 8 * MAX_VERTICES };
  sftest_forest_t forest, units;
  sf_graph_t *graph, *real;
  uint64_t seed = sftest_random(&scene->random);
  bool wide = sftest_below(&scene->random, 2) == 0;
  static int64_t sizes[SFTEST_GROUP_MAX][POINTS], offsets[SFTEST_GROUP_MAX][POINTS];
  int64_t leaf_size[POINTS], leaf_offset[POINTS], extent = -1;
  scene_make(scene, &forest, &graph);
  sftest_forest_init(&units, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    offsets_of(seed, rank, forest.nroots[rank], wide, sizes[rank], offsets[rank]);
    units.nroots[rank] = extent_of(forest.nroots[rank], sizes[rank], offsets[rank]);
  }
  sf_section_t roots = {forest.nroots[scene->rank], sizes[scene->rank], wide ? offsets[scene->rank] : NULL};
  expect_extent(scene, roots, units.nroots[scene->rank]);
  SFTEST_OK(scene->self, sf_section_migrate(graph, &roots, leaf_size, leaf_offset, &extent));
  for (int32_t rank = 0; rank < scene->size; rank++) {
    int64_t next = 0, space = sftest_forest_space(&forest, rank);
    for (int64_t leaf = 0; leaf < space; leaf++) {
      const sftest_edge_t *edge = sftest_forest_find(&forest, rank, leaf);
      int64_t size = edge == NULL ? 0 : size_of(seed, edge->root_rank, edge->root);
      if (rank == scene->rank)
        SFTEST_REQUIRE(scene->self, leaf_size[leaf] == size && leaf_offset[leaf] == next);
      for (int64_t k = 0; k < size; k++)
        sftest_forest_add(&units, rank, next + k, edge->root_rank, offsets[edge->root_rank][edge->root] + k);
      next += size;
    }
    SFTEST_REQUIRE(scene->self, rank != scene->rank || extent == next);
  }
  sf_section_t leaves = {sftest_forest_space(&forest, scene->rank), leaf_size,
                         sftest_below(&scene->random, 2) == 0 ? leaf_offset : NULL};
  expect_extent(scene, leaves, extent);
  SFTEST_OK(scene->self, sf_section_graph(graph, &roots, &leaves, &real));
  scene_destroy(scene, graph);
  scene_expect(scene, &units, real);
  sftest_forest_free(&forest);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

const part_t scene_parts[] = {
    {"global", global},     {"layouts", layouts},     {"matching", matching},
    {"patterns", patterns}, {"duplicate", duplicate}, {"rank_order", rank_order},
    {"views", views},       {"sections", sections},   {NULL, NULL},
};
