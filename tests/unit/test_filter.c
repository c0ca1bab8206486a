/* Links of which only some edges stay: compared with the edges that were chosen, one by one, and between both ends. */
#include "client/filter.h"

#include <stdlib.h>
#include <string.h>

#include "client/edges.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_EDGES 200
#define ROUNDS 600
#define FAR (INT64_C(1) << 33) /* indices that need 64 bits */

static uint64_t random_state;

static int64_t below(int64_t bound)
{
  return sftest_random(&random_state) % (uint32_t)bound;
}

/* Random edges, as given and as both ends see them. */
typedef struct scene {
  int64_t n;
  int64_t leaf[MAX_EDGES];
  int64_t root[MAX_EDGES];
  int32_t root_rank[MAX_EDGES];
  int64_t leaf_base, root_base; /* subtracted before marks are looked up */
  uint8_t leaf_marks[4 * MAX_EDGES];
  uint8_t root_marks[4 * MAX_EDGES];
  sfc_edge_list_t list;
  sfc_link_t own;
  sfc_link_t foreign;
} scene_t;

static void choose_edges(scene_t *scene)
{
  static const int64_t bounds[] = {1, 10, 60, 3 * MAX_EDGES};
  int64_t bound = bounds[below(4)], line = below(4), step = 1 + below(3);
  scene->n = 1 + below(MAX_EDGES);
  for (int64_t i = 0; i < scene->n; i++) {
    scene->leaf[i] = line == 1 ? i + 5 : 3 * i + below(3);
    scene->root[i] = line >= 2 ? below(bound) : i * step;
  }
  for (int64_t i = scene->n - 1; i > 0 && line == 3; i--) {
    int64_t other = below(i + 1), leaf = scene->leaf[i];
    scene->leaf[i] = scene->leaf[other];
    scene->leaf[other] = leaf;
  }
  scene->leaf_base = below(4) == 0 ? FAR : 0;
  scene->root_base = below(4) == 0 ? FAR : 0;
  for (int64_t i = 0; i < scene->n; i++) {
    scene->leaf[i] += scene->leaf_base;
    scene->root[i] += scene->root_base;
  }
}

/* What the owner of the roots sees: a copy of the block. */
static void open_foreign(scene_t *scene)
{
  size_t bytes = sfc_edge_part_write(&scene->list, 0, NULL);
  char *copy = aligned_alloc(SFC_EDGE_ALIGN, (bytes + SFC_EDGE_ALIGN - 1) / SFC_EDGE_ALIGN * SFC_EDGE_ALIGN);
  sfc_edge_part_write(&scene->list, 0, copy);
  sfshm_region_t region = {.fd = -1, .base = copy, .length_bytes = bytes};
  const sfc_edge_part_t *part = &scene->list.parts[0];
  sfshm_edges_t edges;
  int64_t bad_leaf, bad_root;
  ck_assert_int_eq(sfshm_edges_open(&region, 0, part->nedges, part->nvalues, 2 * FAR, &edges, &bad_leaf, &bad_root),
                   SF_OK);
  sfc_link_init(&scene->foreign, &edges, copy);
}

static void scene_make(scene_t *scene)
{
  int64_t bad_leaf;
  memset(scene, 0, sizeof *scene);
  choose_edges(scene);
  sfc_edge_input_t input = {2 * FAR, scene->n, scene->leaf, scene->root_rank, scene->root, true};
  ck_assert_int_eq(sfc_edge_list_make(&input, 0, 1, &scene->list, &bad_leaf), SF_OK);
  open_foreign(scene);
  sfc_link_init(&scene->own, &scene->list.parts[0].edges, NULL);
}

static void scene_free(scene_t *scene)
{
  sfc_link_destroy(&scene->own);
  sfc_link_destroy(&scene->foreign);
  sfc_edge_list_destroy(&scene->list);
}

/* ---- Filtering --------------------------------------------------------------------------------------------------- */

typedef struct set {
  uint64_t words[MAX_EDGES / 64 + 1];
} set_t;

/* Where the edge stands in the link. */
static int64_t leaf_at(const sfc_link_t *link, int64_t edge)
{
  return sfshm_pattern_at(&link->leaf, edge);
}

static int64_t root_at(const sfc_link_t *link, int64_t edge)
{
  return edge < link->nvalues ? sfshm_pattern_at(&link->value_root, edge)
                              : sfshm_pattern_at(&link->extra_root, edge - link->nvalues);
}

static void add_edges(const scene_t *scene, bool by_roots, set_t *set)
{
  const sfc_link_t *link = &scene->own;
  *set = (set_t){{0}};
  for (int64_t edge = 0; edge < link->nedges; edge++) {
    bool kept = by_roots ? scene->root_marks[root_at(link, edge) - scene->root_base] != 0
                         : scene->leaf_marks[leaf_at(link, edge) - scene->leaf_base] != 0;
    if (kept)
      set->words[edge / 64] |= UINT64_C(1) << (edge % 64);
  }
}

static void filter(const sfc_link_t *from, const set_t *set, int64_t n, sfc_link_t *to)
{
  ck_assert_int_eq(sfc_filter_count(from, set->words), n);
  size_t room = sfc_filter_room(from, n), offset = 3 * SFC_EDGE_ALIGN;
  char *image = aligned_alloc(SFC_EDGE_ALIGN, offset + room + SFC_EDGE_ALIGN);
  memset(image + offset + room, 0x5a, SFC_EDGE_ALIGN);
  sfshm_edge_block_t block;
  ck_assert_int_eq(sfc_filter_write(from, set->words, n, image, offset, &block), SF_OK);
  for (size_t i = 0; i < SFC_EDGE_ALIGN; i++)
    ck_assert_int_eq(image[offset + room + i], 0x5a);
  sfshm_edges_t edges;
  ck_assert_int_eq(sfshm_edges_open_own(image, &block, &edges), SF_OK);
  sfc_link_init(to, &edges, image);
}

/* Values are distinct roots; the leaves of each ascend, the first one being that of the edge of its number. */
static void expect_sound(const sfc_link_t *link)
{
  bool distinct = true;
  for (int64_t i = 0; i < link->nvalues; i++)
    for (int64_t k = 0; k < i; k++)
      distinct &= root_at(link, i) != root_at(link, k);
  ck_assert(distinct);
  ck_assert_int_eq(link->extra_value.n, link->nedges - link->nvalues);
  for (int64_t e = 0; e < link->extra_value.n; e++) {
    int64_t value = sfshm_pattern_at(&link->extra_value, e);
    bool same = e > 0 && sfshm_pattern_at(&link->extra_value, e - 1) == value;
    ck_assert(value < link->nvalues);
    ck_assert(e == 0 || value >= sfshm_pattern_at(&link->extra_value, e - 1));
    ck_assert_int_gt(leaf_at(link, link->nvalues + e), leaf_at(link, same ? link->nvalues + e - 1 : value));
    ck_assert_int_eq(root_at(link, link->nvalues + e), root_at(link, value));
  }
}

/* Each edge that was given is there if it was marked, and only then. */
static void expect_edges(const scene_t *scene, bool by_roots, const sfc_link_t *link)
{
  for (int64_t i = 0; i < scene->n; i++) {
    bool kept = by_roots ? scene->root_marks[scene->root[i] - scene->root_base] != 0
                         : scene->leaf_marks[scene->leaf[i] - scene->leaf_base] != 0;
    int64_t edge = 0;
    while (edge < link->nedges && leaf_at(link, edge) != scene->leaf[i])
      edge++;
    ck_assert(kept == (edge < link->nedges));
    if (kept)
      ck_assert_int_eq(root_at(link, edge), scene->root[i]);
  }
}

static void expect_equal(const sfc_link_t *a, const sfc_link_t *b)
{
  ck_assert_int_eq(a->nedges, b->nedges);
  ck_assert_int_eq(a->nvalues, b->nvalues);
  ck_assert_int_eq(a->leaf_max, b->leaf_max);
  ck_assert_int_eq(a->root_max, b->root_max);
  for (int64_t edge = 0; edge < a->nedges; edge++) {
    ck_assert_int_eq(leaf_at(a, edge), leaf_at(b, edge));
    ck_assert_int_eq(root_at(a, edge), root_at(b, edge));
  }
  for (int64_t e = 0; e < a->extra_value.n; e++)
    ck_assert_int_eq(sfshm_pattern_at(&a->extra_value, e), sfshm_pattern_at(&b->extra_value, e));
}

static void check_filter(scene_t *scene, bool by_roots)
{
  static const int64_t odds[] = {1, 2, 10};
  int64_t odd = odds[below(3)], n = 0;
  set_t set, marked = {{0}};
  sfc_link_t own, foreign;
  for (int64_t i = 0; i < 4 * MAX_EDGES; i++) {
    scene->leaf_marks[i] = below(odd) == 0 ? (uint8_t)(1 + below(255)) : 0;
    scene->root_marks[i] = below(odd) == 0;
  }
  add_edges(scene, by_roots, &set);
  for (int64_t edge = 0; edge < scene->n; edge++)
    n += (int64_t)(set.words[edge / 64] >> (edge % 64) & 1);
  if (scene->leaf_base == 0 && scene->root_base == 0) {
    if (by_roots)
      sfc_filter_by_roots(&scene->foreign, scene->root_marks, marked.words);
    else
      sfc_filter_by_leaves(&scene->foreign, scene->leaf_marks, marked.words);
    ck_assert(memcmp(&marked, &set, sizeof set) == 0);
  }
  if (scene->n % 64 != 0) /* what is beyond the last edge counts for nothing */
    set.words[scene->n / 64] |= ~UINT64_C(0) << (scene->n % 64);
  if (n == 0) {
    ck_assert_int_eq(sfc_filter_count(&scene->own, set.words), 0);
    return;
  }
  filter(&scene->own, &set, n, &own);
  filter(&scene->foreign, &set, n, &foreign);
  expect_sound(&own);
  expect_edges(scene, by_roots, &own);
  expect_equal(&own, &foreign);
  sfc_link_destroy(&own);
  sfc_link_destroy(&foreign);
}

START_TEST(by_leaves_and_roots)
{
  static scene_t scene;
  for (int round = 0; round < ROUNDS; round++) {
    scene_make(&scene);
    check_filter(&scene, round % 2 != 0);
    scene_free(&scene);
  }
}
END_TEST

/* Lines stay lines: nothing is read to go through them. */
START_TEST(lines)
{
  static scene_t scene;
  set_t set = {{UINT64_C(0xff00)}};
  sfc_link_t link;
  memset(&scene, 0, sizeof scene);
  for (scene.n = 0; scene.n < 64; scene.n++) {
    scene.leaf[scene.n] = 2 * scene.n;
    scene.root[scene.n] = 100 + scene.n;
  }
  sfc_edge_input_t input = {2 * FAR, scene.n, scene.leaf, scene.root_rank, scene.root, true};
  int64_t bad_leaf;
  ck_assert_int_eq(sfc_edge_list_make(&input, 0, 1, &scene.list, &bad_leaf), SF_OK);
  open_foreign(&scene);
  sfc_link_init(&scene.own, &scene.list.parts[0].edges, NULL);
  filter(&scene.own, &set, 8, &link);
  ck_assert_int_eq(link.value_root.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(link.value_root.start, 108);
  ck_assert_int_eq(link.leaf.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(link.leaf.start, 16);
  ck_assert_int_eq(link.leaf.stride, 2);
  sfc_link_destroy(&link);
  scene_free(&scene);
}
END_TEST

static Suite *suite(void)
{
  Suite *s = suite_create("filtered links");
  TCase *tc = tcase_create("filter");
  tcase_add_test(tc, by_leaves_and_roots);
  tcase_add_test(tc, lines);
  suite_add_tcase(s, tc);
  return s;
}

int main(void)
{
  random_state = sftest_random_start(sftest_seed(20250101), 1);
  return sftest_run(suite());
}
