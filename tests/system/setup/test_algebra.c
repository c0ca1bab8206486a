/* Graphs made of other graphs, compared with a serial model: composition, inverse, parts, unions. What a graph is made
 * from is destroyed before the graph is looked at. */
#include "tests/system/algebra_scene.h"

/* ---- Composition ------------------------------------------------------------------------------------------------- */

static void compose(scene_t *scene)
{
  sftest_forest_t a, b, ab;
  sf_graph_t *real_a, *real_b, *real_ab;
  scene_make(scene, &a, &real_a);
  scene_make(scene, &b, &real_b);
  SFTEST_OK(scene->self, sf_graph_compose(real_a, real_b, &real_ab));
  scene_destroy(scene, real_a);
  scene_destroy(scene, real_b);
  sftest_forest_init(&ab, scene->size);
  memcpy(ab.nroots, a.nroots, sizeof ab.nroots);
  for (int32_t rank = 0; rank < scene->size; rank++)
    for (int64_t i = 0; i < b.n[rank]; i++) {
      const sftest_edge_t *lower = &b.edges[rank][i], *upper = sftest_forest_find(&a, lower->root_rank, lower->root);
      if (upper != NULL)
        sftest_forest_add(&ab, rank, lower->leaf, upper->root_rank, upper->root);
    }
  scene_expect(scene, &ab, real_ab);
  sftest_forest_free(&a);
  sftest_forest_free(&b);
}

/* Roots of b as leaves of a's roots. False, with the lowest root that leads to several: it cannot be done. */
static bool model_compose_inverse(const sftest_forest_t *a, const sftest_forest_t *b, sftest_forest_t *ab,
                                  int32_t *bad_rank, int64_t *bad_root)
{
  bool good = true;
  sftest_forest_init(ab, a->size);
  memcpy(ab->nroots, a->nroots, sizeof ab->nroots);
  for (int32_t rank = 0; rank < a->size; rank++)
    for (int64_t i = 0; i < b->n[rank]; i++) {
      const sftest_edge_t *lower = &b->edges[rank][i], *upper = sftest_forest_find(a, rank, lower->leaf);
      if (upper == NULL)
        continue;
      const sftest_edge_t *present = sftest_forest_find(ab, lower->root_rank, lower->root);
      bool differs = present != NULL && (present->root_rank != upper->root_rank || present->root != upper->root);
      if (differs &&
          (good || lower->root_rank < *bad_rank || (lower->root_rank == *bad_rank && lower->root < *bad_root))) {
        *bad_rank = lower->root_rank;
        *bad_root = lower->root;
      }
      good &= !differs;
      if (!differs)
        sftest_forest_add(ab, lower->root_rank, lower->root, upper->root_rank, upper->root);
    }
  return good;
}

static void expect_error(scene_t *scene, sf_status_t status, sf_graph_t *graph, sf_status_t expected, int32_t rank,
                         int64_t leaf)
{
  char where[80];
  SFTEST_EXPECT(scene->self, status, expected);
  SFTEST_REQUIRE(scene->self, graph == NULL);
  snprintf(where, sizeof where, leaf < 0 ? "rank %d" : "rank %d, leaf %lld: ", rank, (long long)leaf);
  SFTEST_DETAIL(scene->self, where);
}

static void check_compose_inverse(scene_t *scene, const sftest_forest_t *a, const sftest_forest_t *b)
{
  sf_graph_t *real_a, *real_b, *real_ab = NULL;
  sftest_forest_t ab;
  int32_t bad_rank;
  int64_t bad_root;
  sftest_forest_create(scene->self, a, scene->group, &real_a);
  sftest_forest_create(scene->self, b, scene->group, &real_b);
  sf_status_t status = sf_graph_compose_inverse(real_a, real_b, &real_ab);
  if (model_compose_inverse(a, b, &ab, &bad_rank, &bad_root)) {
    SFTEST_OK(scene->self, status);
    scene_destroy(scene, real_a);
    scene_destroy(scene, real_b);
    scene_expect(scene, &ab, real_ab);
    return;
  }
  expect_error(scene, status, real_ab, SF_ERR_ARG, bad_rank, bad_root);
  sftest_forest_expect(scene->self, b, scene->group, real_b); /* nothing has happened to them */
  scene_destroy(scene, real_a);
  scene_destroy(scene, real_b);
  sftest_forest_free(&ab);
}

/* Roots of b with any number of leaves, which mostly lead to different roots. */
static void compose_inverse(scene_t *scene)
{
  sftest_forest_t a, b;
  sftest_forest_random(&a, sftest_random(&scene->random), scene->size, MAX_VERTICES);
  sftest_forest_random(&b, sftest_random(&scene->random), scene->size, MAX_VERTICES);
  check_compose_inverse(scene, &a, &b);
  sftest_forest_thin(&b);
  check_compose_inverse(scene, &a, &b);
  sftest_forest_free(&a);
  sftest_forest_free(&b);
  for (int i = 0; i < 6; i++) { /* roots that differ by their ranks alone, or by their indices alone */
    sftest_forest_random(&a, sftest_random(&scene->random), scene->size, 1 + i % 2);
    sftest_forest_random(&b, sftest_random(&scene->random), scene->size, 1 + i % 2);
    check_compose_inverse(scene, &a, &b);
    sftest_forest_free(&a);
    sftest_forest_free(&b);
  }
}

/* Roots of b with several leaves that lead to one root: the root (r, i) of a leads to (r + 1, i) of b. */
static void compose_inverse_of_stars(scene_t *scene)
{
  sftest_forest_t a, b;
  sftest_forest_random(&a, sftest_random(&scene->random), scene->size, MAX_VERTICES);
  sftest_forest_init(&b, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    b.nroots[(rank + 1) % scene->size] = a.nroots[rank] + 2;
    for (int64_t i = 0; i < a.n[rank]; i++)
      if (sftest_below(&scene->random, 5) > 0)
        sftest_forest_add(&b, rank, a.edges[rank][i].leaf, (a.edges[rank][i].root_rank + 1) % scene->size,
                          a.edges[rank][i].root);
  }
  for (int32_t rank = 0; rank < scene->size; rank++) /* leaves that a does not have, of any root */
    sftest_forest_add(&b, rank, sftest_forest_space(&a, rank) + 3, 0, sftest_below(&scene->random, b.nroots[0]));
  check_compose_inverse(scene, &a, &b);
  sftest_forest_free(&a);
  sftest_forest_free(&b);
}

static void inverse(scene_t *scene)
{
  sftest_forest_t forest, inverted;
  sf_graph_t *graph, *real = NULL;
  sftest_forest_random(&forest, sftest_random(&scene->random), scene->size, MAX_VERTICES);
  for (int thin = 0; thin < 2; thin++) {
    int64_t before = 0, after = 0;
    for (int32_t rank = 0; rank < scene->size; rank++)
      before += forest.n[rank];
    sftest_forest_create(scene->self, &forest, scene->group, &graph);
    sf_status_t status = sf_graph_inverse(graph, &real);
    scene_destroy(scene, graph);
    if (thin == 0) {
      sftest_forest_thin(&forest);
      for (int32_t rank = 0; rank < scene->size; rank++)
        after += forest.n[rank];
      if (after < before) {
        SFTEST_EXPECT(scene->self, status, SF_ERR_ARG);
        SFTEST_REQUIRE(scene->self, real == NULL);
        continue;
      }
    }
    SFTEST_OK(scene->self, status);
    sftest_forest_init(&inverted, scene->size);
    for (int32_t rank = 0; rank < scene->size; rank++) {
      inverted.nroots[rank] = sftest_forest_space(&forest, rank);
      for (int64_t i = 0; i < forest.n[rank]; i++)
        sftest_forest_add(&inverted, forest.edges[rank][i].root_rank, forest.edges[rank][i].root, rank,
                          forest.edges[rank][i].leaf);
    }
    scene_expect(scene, &inverted, real);
    real = NULL;
  }
  sftest_forest_free(&forest);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

/* Some of 0..n-1, one of them perhaps twice. */
static int64_t *choose(uint64_t seed, int64_t n, int64_t *nchosen)
{
  uint64_t random = seed;
  int64_t *chosen = malloc(((size_t)n + 2) * sizeof *chosen), modulus = 1 + sftest_below(&random, 4);
  *nchosen = 0;
  for (int64_t i = n - 1; i >= 0; i--)
    if (sftest_below(&random, modulus) == 0)
      chosen[(*nchosen)++] = i;
  if (*nchosen > 0)
    chosen[(*nchosen)++] = chosen[0];
  return chosen;
}

static bool contains(const int64_t list[], int64_t n, int64_t value)
{
  for (int64_t i = 0; i < n; i++)
    if (list[i] == value)
      return true;
  return false;
}

static void embed(scene_t *scene, bool roots)
{
  sftest_forest_t forest, part;
  sf_graph_t *graph, *real;
  int64_t *chosen[SFTEST_GROUP_MAX], nchosen[SFTEST_GROUP_MAX];
  scene_make(scene, &forest, &graph);
  for (int32_t rank = 0; rank < scene->size; rank++)
    chosen[rank] = choose(sftest_random(&scene->random),
                          roots ? forest.nroots[rank] : sftest_forest_space(&forest, rank) + 3, &nchosen[rank]);
  SFTEST_OK(scene->self, (roots ? sf_graph_embed_roots : sf_graph_embed_leaves)(graph, nchosen[scene->rank],
                                                                                chosen[scene->rank], &real));
  scene_destroy(scene, graph);
  sftest_forest_init(&part, scene->size);
  memcpy(part.nroots, forest.nroots, sizeof part.nroots);
  for (int32_t rank = 0; rank < scene->size; rank++)
    for (int64_t i = 0; i < forest.n[rank]; i++) {
      const sftest_edge_t *edge = &forest.edges[rank][i];
      int32_t chooser = roots ? edge->root_rank : rank;
      if (contains(chosen[chooser], nchosen[chooser], roots ? edge->root : edge->leaf))
        sftest_forest_add(&part, rank, edge->leaf, edge->root_rank, edge->root);
    }
  scene_expect(scene, &part, real);
  for (int32_t rank = 0; rank < scene->size; rank++)
    free(chosen[rank]);
  sftest_forest_free(&forest);
}

static void embed_roots(scene_t *scene)
{
  embed(scene, true);
}

static void embed_leaves(scene_t *scene)
{
  embed(scene, false);
}

/* ---- Unions ------------------------------------------------------------------------------------------------------ */

#define JOINED 3

/* Where root i of graph k on rank goes in global order. */
static sftest_edge_t place_globally(const sftest_forest_t forests[], const sftest_forest_t *joined, int32_t k,
                                    int32_t rank, int64_t i)
{
  int64_t number = i + sftest_forest_first(&forests[k], rank);
  for (int32_t before = 0; before < k; before++)
    number += sftest_forest_total(&forests[before]);
  int32_t owner = 0;
  while (number >= sftest_forest_first(joined, owner + 1))
    owner++;
  return (sftest_edge_t){.root_rank = owner, .root = number - sftest_forest_first(joined, owner)};
}

static void model_concatenate(const sftest_forest_t forests[], sf_root_mode_t mode,
                              int64_t (*offsets)[SFTEST_GROUP_MAX], sftest_forest_t *joined)
{
  sftest_forest_init(joined, forests[0].size);
  for (int32_t rank = 0; rank < joined->size; rank++)
    for (int32_t k = 0; k < (mode == SF_ROOTS_SHARED ? 1 : JOINED); k++)
      joined->nroots[rank] += forests[k].nroots[rank];
  for (int32_t k = 0; k < JOINED; k++)
    for (int32_t rank = 0; rank < joined->size; rank++)
      for (int64_t i = 0; i < forests[k].n[rank]; i++) {
        const sftest_edge_t *edge = &forests[k].edges[rank][i];
        sftest_edge_t root = *edge;
        for (int32_t before = 0; mode == SF_ROOTS_LOCAL && before < k; before++)
          root.root += forests[before].nroots[edge->root_rank];
        if (mode == SF_ROOTS_GLOBAL)
          root = place_globally(forests, joined, k, edge->root_rank, edge->root);
        sftest_forest_add(joined, rank, edge->leaf + offsets[k][rank], root.root_rank, root.root);
      }
}

static void concatenate_in_mode(scene_t *scene, sf_root_mode_t mode, bool given)
{
  sftest_forest_t forests[JOINED], joined;
  sf_graph_t *graphs[JOINED], *real;
  int64_t offsets[JOINED][SFTEST_GROUP_MAX] = {{0}}, own[JOINED];
  for (int32_t k = 0; k < JOINED; k++) {
    sftest_forest_random(&forests[k], sftest_random(&scene->random), scene->size, MAX_VERTICES / 2);
    for (int32_t rank = 0; mode == SF_ROOTS_SHARED && rank < scene->size; rank++)
      forests[k].nroots[rank] = MAX_VERTICES;
    sftest_forest_create(scene->self, &forests[k], scene->group, &graphs[k]);
    for (int32_t rank = 0; rank < scene->size; rank++) {
      for (int32_t before = 0; before < k; before++)
        offsets[k][rank] += sftest_forest_space(&forests[before], rank) + (given ? 5 : 0);
      offsets[k][rank] += given ? rank : 0;
    }
    own[k] = offsets[k][scene->rank];
  }
  SFTEST_OK(scene->self, sf_graph_concatenate(JOINED, graphs, mode, given ? own : NULL, &real));
  model_concatenate(forests, mode, offsets, &joined);
  for (int32_t k = 0; k < JOINED; k++) {
    scene_destroy(scene, graphs[k]);
    sftest_forest_free(&forests[k]);
  }
  scene_expect(scene, &joined, real);
}

static void concatenate(scene_t *scene)
{
  for (int mode = SF_ROOTS_LOCAL; mode <= SF_ROOTS_GLOBAL; mode++)
    concatenate_in_mode(scene, (sf_root_mode_t)mode, sftest_below(&scene->random, 2) == 0);
}

static void merge(scene_t *scene)
{
  sftest_forest_t forests[2], merged;
  sf_graph_t *graphs[2], *real;
  sftest_forest_init(&merged, scene->size);
  for (int k = 0; k < 2; k++) {
    sftest_forest_random(&forests[k], sftest_random(&scene->random), scene->size, MAX_VERTICES);
    for (int32_t rank = 0; rank < scene->size; rank++) {
      merged.nroots[rank] = forests[k].nroots[rank] = MAX_VERTICES + rank;
      for (int64_t i = 0; i < forests[k].n[rank]; i++)
        sftest_forest_add(&merged, rank, forests[k].edges[rank][i].leaf, forests[k].edges[rank][i].root_rank,
                          forests[k].edges[rank][i].root);
    }
    sftest_forest_create(scene->self, &forests[k], scene->group, &graphs[k]);
  }
  SFTEST_OK(scene->self, sf_graph_merge(graphs[0], graphs[1], &real));
  for (int k = 0; k < 2; k++) {
    scene_destroy(scene, graphs[k]);
    sftest_forest_free(&forests[k]);
  }
  scene_expect(scene, &merged, real);
}

static void strided(scene_t *scene)
{
  sftest_forest_t forest, columns;
  sf_graph_t *graph, *real;
  int64_t root_stride[SFTEST_GROUP_MAX], leaf_stride[SFTEST_GROUP_MAX], count = 1 + sftest_below(&scene->random, 4);
  bool tight = sftest_below(&scene->random, 2) == 0;
  scene_make(scene, &forest, &graph);
  sftest_forest_init(&columns, scene->size);
  for (int32_t rank = 0; rank < scene->size; rank++) {
    root_stride[rank] = forest.nroots[rank] + (tight ? 0 : sftest_below(&scene->random, 4));
    leaf_stride[rank] = sftest_forest_space(&forest, rank) + (tight ? 0 : sftest_below(&scene->random, 4));
    columns.nroots[rank] = count * root_stride[rank];
  }
  SFTEST_OK(scene->self, sf_graph_create_strided(graph, count, tight ? 0 : root_stride[scene->rank],
                                                 tight ? 0 : leaf_stride[scene->rank], &real));
  scene_destroy(scene, graph);
  for (int32_t rank = 0; rank < scene->size; rank++)
    for (int64_t i = 0; i < forest.n[rank]; i++)
      for (int64_t k = 0; k < count; k++) {
        const sftest_edge_t *edge = &forest.edges[rank][i];
        sftest_forest_add(&columns, rank, edge->leaf + k * leaf_stride[rank], edge->root_rank,
                          edge->root + k * root_stride[edge->root_rank]);
      }
  scene_expect(scene, &columns, real);
  sftest_forest_free(&forest);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

const part_t scene_parts[] = {
    {"compose", compose},
    {"compose_inverse", compose_inverse},
    {"compose_inverse of stars", compose_inverse_of_stars},
    {"inverse", inverse},
    {"embed_roots", embed_roots},
    {"embed_leaves", embed_leaves},
    {"concatenate", concatenate},
    {"merge", merge},
    {"strided", strided},
    {NULL, NULL},
};
