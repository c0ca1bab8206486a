/* Making edge lists of random edges, compared with a naive reading of what they must hold; and of bad ones. */
#include "client/edges.h"

#include <stdlib.h>

#include "client/origin.h"
#include "shm/error.h"
#include "tests/unit/frames.h"
#include "tests/unit/runner.h"

#define MAX_EDGES 400
#define MAX_RANKS 7
#define ROUNDS 5000

static unsigned seed;

/* For inner loops, where each ck_assert would write to the pipe that Check listens to. */
static void expect(bool condition, const char *what)
{
  if (!condition)
    ck_abort_msg("not so: %s", what);
}

/* ---- Good input ---- */

/* Random edges as the application may give them, in both widths. */
typedef struct input {
  int32_t rank;
  int32_t size;
  bool wide;
  bool numbered; /* leaf i has index i: leaf_index NULL */
  int64_t nroots;
  int64_t n;
  int32_t root_rank[MAX_EDGES];
  int64_t leaf64[MAX_EDGES];
  int64_t root64[MAX_EDGES];
  int32_t leaf32[MAX_EDGES];
  int32_t root32[MAX_EDGES];
} input_t;

static int64_t below(uint64_t *random, int64_t bound)
{
  uint64_t bits = (uint64_t)sftest_random(random) << 31 | sftest_random(random);
  return (int64_t)(bits % (uint64_t)bound);
}

/* Distinct leaves in random order, spread over a range of 1, 3, ... times their number. */
static void make_leaves(input_t *input, uint64_t *random)
{
  static const int64_t spreads[] = {1, 3, 1000, 5000000, INT64_C(1) << 45};
  int64_t spread = spreads[below(random, input->wide ? 5 : 4)], base = below(random, 5);
  bool ordered = below(random, 2) == 0;
  for (int64_t i = 0; i < input->n; i++)
    input->leaf64[i] = input->numbered ? i : base + i * spread + below(random, spread);
  for (int64_t i = input->n - 1; i > 0 && !ordered && !input->numbered; i--) {
    int64_t other = below(random, i + 1), leaf = input->leaf64[i];
    input->leaf64[i] = input->leaf64[other];
    input->leaf64[other] = leaf;
  }
}

static void check_written(const sfc_edge_list_t *list);

static void make_roots(input_t *input, uint64_t *random)
{
  static const int64_t bounds[] = {1, 20, 300, 100000, INT64_C(1) << 30, INT64_C(1) << 61};
  int64_t bound = bounds[below(random, input->wide ? 6 : 5)];
  int ranks = (int)below(random, 3), line = (int)below(random, 4);
  int64_t stride = below(random, 5) + 1, start = below(random, 1000);
  for (int64_t i = 0; i < input->n; i++) {
    input->root64[i] = line == 0   ? start + i * stride
                       : line == 1 ? start + (input->n - i) * stride
                                   : below(random, bound);
    input->root_rank[i] = ranks == 0   ? (int32_t)(i * input->size / input->n)
                          : ranks == 1 ? (int32_t)below(random, input->size)
                                       : input->size / 2;
  }
}

static void make_input(input_t *input, uint64_t *random)
{
  input->size = (int32_t)below(random, MAX_RANKS) + 1;
  input->rank = (int32_t)below(random, input->size);
  input->wide = below(random, 2) == 0;
  input->numbered = below(random, 3) == 0;
  input->nroots = INT64_MAX;
  input->n = below(random, below(random, 4) == 0 ? 4 : MAX_EDGES);
  make_leaves(input, random);
  make_roots(input, random);
}

static sf_status_t make_list(input_t *input, bool wide, sfc_edge_list_t *list_p, int64_t *bad_leaf_p)
{
  sfc_edge_input_t given = {.nroots = input->nroots,
                            .nleaves = input->n,
                            .root_rank = input->root_rank,
                            .leaf_index = input->leaf64,
                            .root_index = input->root64,
                            .wide = wide};
  if (!wide) {
    for (int64_t i = 0; i < input->n; i++) {
      input->leaf32[i] = (int32_t)input->leaf64[i];
      input->root32[i] = (int32_t)input->root64[i];
    }
    given.leaf_index = input->leaf32;
    given.root_index = input->root32;
  }
  if (input->numbered)
    given.leaf_index = NULL;
  sf_status_t status = sfc_edge_list_make(&given, input->rank, input->size, list_p, bad_leaf_p);
  if (status == SF_OK)
    check_written(list_p);
  return status == SF_OK ? sfc_edge_list_seal(list_p) : status;
}

/* The edge of the input with that leaf; -1 if there is none. */
static int64_t find_leaf(const input_t *input, int64_t leaf)
{
  for (int64_t i = 0; i < input->n; i++)
    if (input->leaf64[i] == leaf)
      return i;
  return -1;
}

/* The list as the owners of the roots see it. */
static sfshm_region_t map_list(const sfc_edge_list_t *list)
{
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_map(list->region.fd, SFSHM_REGION_EDGES, 1 << 20, SFSHM_READ_ONLY, &region), SF_OK);
  return region;
}

static sfshm_edges_t open_part(const sfshm_region_t *region, const sfc_edge_part_t *part)
{
  sfshm_edges_t edges;
  int64_t bad_leaf, bad_root;
  ck_assert_int_eq(
      sfshm_edges_open(region, part->offset, part->nedges, part->nvalues, INT64_MAX, &edges, &bad_leaf, &bad_root),
      SF_OK);
  return edges;
}

/* Root of each edge of a block, in order. */
static int64_t root_of(const sfshm_edges_t *edges, int64_t edge)
{
  int64_t nvalues = edges->value_root.n;
  int64_t value = edge < nvalues ? edge : sfshm_pattern_at(&edges->extra_value, edge - nvalues);
  return sfshm_pattern_at(&edges->value_root, value);
}

static void expect_same(const sfshm_pattern_t *a, const sfshm_pattern_t *b)
{
  expect(a->kind == b->kind && a->n == b->n, "both ranks see the same form");
  for (int64_t i = 0; i < a->n; i++)
    expect(sfshm_pattern_at(a, i) == sfshm_pattern_at(b, i), "both ranks see the same vertices");
}

/* What the rank itself uses is what others read. */
static void compare(const sfshm_edges_t *own, const sfshm_edges_t *opened)
{
  expect_same(&own->value_root, &opened->value_root);
  expect_same(&own->leaf, &opened->leaf);
  expect_same(&own->extra_value, &opened->extra_value);
  expect_same(&own->extra_root, &opened->extra_root);
  expect(memcmp(&own->roots, &opened->roots, sizeof own->roots) == 0, "both know the same about the roots");
  if (opened->leaves.max != SFSHM_EDGES_UNKNOWN)
    expect(memcmp(&own->leaves, &opened->leaves, sizeof own->leaves) == 0, "both know the same about the leaves");
}

/* What others copy out of an inbox is what the rank itself uses. */
static void check_written(const sfc_edge_list_t *list)
{
  for (int32_t p = 0; p < list->nparts; p++) {
    size_t bytes = sfc_edge_part_write(list, p, NULL);
    sfshm_region_t copy = {.fd = -1, .base = aligned_alloc(SFC_EDGE_ALIGN, bytes), .length_bytes = bytes};
    memset(copy.base, 0x55, bytes);
    ck_assert_uint_eq(sfc_edge_part_write(list, p, copy.base), bytes);
    sfc_edge_part_t part = list->parts[p];
    part.offset = 0;
    sfshm_edges_t edges = open_part(&copy, &part);
    compare(&list->parts[p].edges, &edges);
    sfshm_edges_close(&edges);
    free(copy.base);
  }
}

/* All edges to the rank are there, once; each root is one value, and meets its leaves in ascending order. */
static void check_part(const input_t *input, const sfc_edge_part_t *part, const sfshm_edges_t *edges)
{
  expect(edges->leaf.n == part->nedges && edges->value_root.n == part->nvalues, "part and block have the same counts");
  for (int64_t e = 0; e < part->nedges; e++) {
    int64_t leaf = sfshm_pattern_at(&edges->leaf, e), root = root_of(edges, e);
    int64_t given = find_leaf(input, leaf);
    expect(given >= 0, "each leaf was given");
    expect(input->root_rank[given] == part->rank && input->root64[given] == root, "its root is the one given");
    for (int64_t before = 0; before < e; before++) {
      int64_t other = sfshm_pattern_at(&edges->leaf, before);
      expect(other != leaf, "each leaf occurs once");
      expect(root_of(edges, before) != root || (other < leaf && e >= part->nvalues),
             "roots meet their leaves in order");
    }
  }
}

static void check_list(const input_t *input, const sfc_edge_list_t *list)
{
  int64_t nedges = 0;
  int32_t previous = -1;
  sfshm_region_t region = {.base = NULL};
  if (list->nparts > 0)
    region = map_list(list);
  for (int32_t p = 0; p < list->nparts; p++) {
    const sfc_edge_part_t *part = &list->parts[p];
    ck_assert_int_gt(part->rank, previous);
    previous = part->rank;
    sfshm_edges_t edges = open_part(&region, part);
    check_part(input, part, &edges);
    compare(&part->edges, &edges);
    sfshm_edges_close(&edges);
    nedges += part->nedges;
  }
  sfshm_region_destroy(&region);
  ck_assert_int_eq(nedges, input->n);
}

/* The edges can be read again, by leaf, all of them and each of the arrays alone. */
static void check_origin(const input_t *input, sfc_edge_list_t *list)
{
  static int64_t leaf[MAX_EDGES], root[MAX_EDGES], lone[MAX_EDGES];
  static int32_t rank[MAX_EDGES];
  sfc_origin_t *origin;
  int64_t leaf_space = 0;
  for (int64_t i = 0; i < input->n; i++)
    leaf_space = input->leaf64[i] < leaf_space ? leaf_space : input->leaf64[i] + 1;
  ck_assert_int_eq(sfc_origin_make(list, &origin), SF_OK);
  ck_assert_int_eq(sfc_origin_count(origin), input->n);
  ck_assert_int_eq(sfc_origin_read(origin, leaf_space, leaf, rank, root), SF_OK);
  ck_assert_int_eq(sfc_origin_read(origin, leaf_space, NULL, NULL, lone), SF_OK);
  for (int64_t i = 0; i < input->n; i++) {
    int64_t given = find_leaf(input, leaf[i]);
    expect(given >= 0 && (i == 0 || leaf[i - 1] < leaf[i]), "each leaf was given, and they ascend");
    expect(input->root_rank[given] == rank[i] && input->root64[given] == root[i], "its root is the one given");
    expect(lone[i] == root[i], "one array alone is the same");
  }
  sfc_origin_free(origin);
}

START_TEST(lists_hold_the_edges_given)
{
  static input_t input;
  uint64_t random = sftest_random_start(seed, 2);
  for (int round = 0; round < ROUNDS; round++) {
    sfc_edge_list_t list;
    int64_t bad_leaf = -7;
    make_input(&input, &random);
    ck_assert_int_eq(make_list(&input, input.wide, &list, &bad_leaf), SF_OK);
    ck_assert_int_eq(bad_leaf, -1);
    ck_assert_int_eq(list.region.length_bytes == 0, input.n == 0);
    check_list(&input, &list);
    check_origin(&input, &list);
    sfc_edge_list_destroy(&list);
    ck_assert_int_eq(list.nparts, 0);
    sfc_edge_list_destroy(&list);
  }
}
END_TEST

START_TEST(both_widths_give_the_same_list)
{
  static input_t input;
  uint64_t random = sftest_random_start(seed, 3);
  for (int round = 0; round < ROUNDS / 4; round++) {
    sfc_edge_list_t narrow, wide;
    int64_t bad_leaf;
    make_input(&input, &random);
    if (input.wide)
      continue; /* too large for 32 bits, perhaps */
    ck_assert_int_eq(make_list(&input, false, &narrow, &bad_leaf), SF_OK);
    ck_assert_int_eq(make_list(&input, true, &wide, &bad_leaf), SF_OK);
    if (input.n > 0) {
      sfshm_region_t narrow_region = map_list(&narrow), wide_region = map_list(&wide);
      ck_assert_uint_eq(narrow_region.length_bytes, wide_region.length_bytes);
      ck_assert_int_eq(memcmp(narrow_region.base, wide_region.base, wide_region.length_bytes), 0);
      sfshm_region_destroy(&narrow_region);
      sfshm_region_destroy(&wide_region);
    }
    sfc_edge_list_destroy(&narrow);
    sfc_edge_list_destroy(&wide);
  }
}
END_TEST

/* ---- Scattered roots ---- */

#define MANY 40000

/* Many edges to each of two ranks. */
typedef struct scattered {
  int64_t leaf[2 * MANY];
  int64_t root[2 * MANY];
  int32_t rank[2 * MANY];
  int64_t at_leaf[2 * MANY]; /* the edge of each leaf */
} scattered_t;

static void make_scattered(scattered_t *many, int64_t nroots, bool ordered, uint64_t *random)
{
  for (int64_t i = 0; i < 2 * MANY; i++) {
    many->leaf[i] = i;
    many->rank[i] = (int32_t)below(random, 2);
    many->root[i] = below(random, 100) == 0 && i > 0 ? many->root[i - 1] : below(random, nroots);
  }
  for (int64_t i = 2 * MANY - 1; i > 0 && !ordered; i--) {
    int64_t other = below(random, i + 1), leaf = many->leaf[i];
    many->leaf[i] = many->leaf[other];
    many->leaf[other] = leaf;
  }
  for (int64_t i = 0; i < 2 * MANY; i++)
    many->at_leaf[many->leaf[i]] = i;
}

/* All edges to the rank are there, each root is one value and meets its leaves in order, and the values' roots ascend
 * but for steps back within a region. */
static void check_scattered(const scattered_t *many, const sfc_edge_part_t *part, int64_t nroots)
{
  static int64_t last[1 << 22]; /* leaf of each root met, + 1 */
  static bool met[2 * MANY];
  memset(last, 0, sizeof last);
  memset(met, 0, sizeof met);
  int64_t backward = 0;
  for (int64_t e = 0; e < part->nedges; e++) {
    int64_t leaf = sfshm_pattern_at(&part->edges.leaf, e), root = root_of(&part->edges, e);
    int64_t given = many->at_leaf[leaf];
    expect(!met[leaf] && many->rank[given] == part->rank && many->root[given] == root, "each edge is there once");
    expect(last[root] == 0 || (e >= part->nvalues && last[root] < leaf + 1), "roots meet their leaves in order");
    met[leaf] = true;
    last[root] = leaf + 1;
    if (e > 0 && e < part->nvalues) {
      int64_t step = root - sfshm_pattern_at(&part->edges.value_root, e - 1);
      expect(step >= -nroots / 500, "roots of values go forward");
      backward += step < 0;
    }
  }
  ck_assert_int_lt(backward, part->nvalues);
}

START_TEST(scattered_roots_are_clustered)
{
  static scattered_t many;
  uint64_t random = sftest_random_start(seed, 5);
  static const int64_t nroots[] = {1 << 19, 3000000, 1 << 22};
  for (int round = 0; round < 6; round++) {
    sfc_edge_list_t list;
    int64_t bad_leaf, n = nroots[round % 3];
    make_scattered(&many, n, round < 3, &random);
    sfc_edge_input_t given = {.nroots = n,
                              .nleaves = 2 * MANY,
                              .leaf_index = many.leaf,
                              .root_rank = many.rank,
                              .root_index = many.root,
                              .wide = true};
    ck_assert_int_eq(sfc_edge_list_make(&given, 0, 2, &list, &bad_leaf), SF_OK);
    ck_assert_int_eq(sfc_edge_list_seal(&list), SF_OK);
    ck_assert_int_eq(list.nparts, 2);
    ck_assert_int_eq(list.parts[0].nedges + list.parts[1].nedges, 2 * MANY);
    sfshm_region_t region = map_list(&list);
    for (int p = 0; p < 2; p++) {
      sfshm_edges_t edges = open_part(&region, &list.parts[p]);
      check_scattered(&many, &list.parts[p], n);
      compare(&list.parts[p].edges, &edges);
      sfshm_edges_close(&edges);
    }
    sfshm_region_destroy(&region);
    sfc_edge_list_destroy(&list);
  }
}
END_TEST

/* The first block of a list of n edges to rank 0 with the given lines of leaves and roots. */
static sfshm_edge_block_t block_of(input_t *input, int64_t n, int64_t leaf, int64_t leaf_step, int64_t root,
                                   int64_t root_step)
{
  sfc_edge_list_t list;
  sfshm_edge_block_t block;
  int64_t bad_leaf;
  *input = (input_t){.size = 2, .rank = 1, .nroots = 1, .n = n};
  for (int64_t i = 0; i < n; i++) {
    input->leaf64[i] = leaf + i * leaf_step;
    input->root64[i] = root + i * root_step;
  }
  ck_assert_int_eq(make_list(input, true, &list, &bad_leaf), SF_OK);
  ck_assert_int_eq(list.nparts, 1);
  sfshm_region_t region = map_list(&list);
  memcpy(&block, (const char *)region.base + list.parts[0].offset, sizeof block);
  sfshm_region_destroy(&region);
  sfc_edge_list_destroy(&list);
  return block;
}

START_TEST(the_shortest_form_is_stored)
{
  static input_t input;
  sfshm_edge_block_t block = block_of(&input, 10, 100, 1, 7, 1);
  ck_assert_uint_eq(block.leaf.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(block.leaf.start, 100);
  ck_assert_uint_eq(block.value_root.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(block.value_root.start, 7);
  ck_assert_int_eq(block.extra_value.n, 0);

  block = block_of(&input, 10, 0, 3, 5000000000, 8);
  ck_assert_uint_eq(block.leaf.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(block.leaf.stride, 3);
  ck_assert_uint_eq(block.value_root.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(block.value_root.start, 5000000000);

  block = block_of(&input, 10, 0, 1, 42, 0); /* one root for all */
  ck_assert_int_eq(block.value_root.n, 1);
  ck_assert_int_eq(block.leaf.n, 10);
  ck_assert_int_eq(block.extra_value.n, 9);
}
END_TEST

START_TEST(lists_without_arrays_are_not_mapped)
{
  static input_t input;
  sfc_edge_list_t list;
  int64_t bad_leaf;
  input = (input_t){.size = 2, .rank = 1, .nroots = 1, .n = 3, .leaf64 = {4, 5, 6}, .root64 = {9, 7, 5}};
  ck_assert_int_eq(make_list(&input, true, &list, &bad_leaf), SF_OK);
  ck_assert_ptr_null(list.region.base);
  ck_assert_int_eq(list.parts[0].edges.value_root.stride, -2);
  sfc_edge_list_destroy(&list);
  input.root64[2] = 6;
  ck_assert_int_eq(make_list(&input, true, &list, &bad_leaf), SF_OK);
  ck_assert_ptr_nonnull(list.region.base);
  sfc_edge_list_destroy(&list);
}
END_TEST

/* An array is as narrow as its highest index allows. */
START_TEST(arrays_are_narrow_if_they_can_be)
{
  static input_t input;
  const int64_t highest[] = {UINT32_MAX, (int64_t)UINT32_MAX + 1, INT64_MAX};
  for (int i = 0; i < 3; i++) {
    sfc_edge_list_t list;
    sfshm_edges_t edges;
    int64_t bad_leaf;
    input = (input_t){.size = 1, .nroots = INT64_MAX, .n = 3};
    memcpy(input.leaf64, (const int64_t[]){0, 5, highest[i]}, 24);
    memcpy(input.root64, (const int64_t[]){0, highest[i] - 1, 9}, 24);
    ck_assert_int_eq(make_list(&input, true, &list, &bad_leaf), SF_OK);
    sfshm_region_t region = map_list(&list);
    edges = open_part(&region, list.parts);
    ck_assert_int_eq(edges.leaf.kind, i == 0 ? SFSHM_PATTERN_INDEX32 : SFSHM_PATTERN_INDEX64);
    ck_assert_int_eq(edges.value_root.kind, i <= 1 ? SFSHM_PATTERN_INDEX32 : SFSHM_PATTERN_INDEX64);
    ck_assert_int_eq(edges.leaves.max, i == 0 ? SFSHM_EDGES_UNKNOWN : highest[i]);
    ck_assert_int_eq(list.parts[0].root_max, highest[i] - 1);
    sfshm_region_destroy(&region);
    check_list(&input, &list);
    sfc_edge_list_destroy(&list);
  }
}
END_TEST

START_TEST(no_edges)
{
  sfc_edge_list_t list;
  int64_t bad_leaf = -7;
  const sfc_edge_input_t input = {.nroots = 5};
  ck_assert_int_eq(sfc_edge_list_make(&input, 0, 1, &list, &bad_leaf), SF_OK);
  ck_assert_int_eq(sfc_edge_list_seal(&list), SF_OK);
  ck_assert_uint_eq(list.region.length_bytes, 0);
  ck_assert_int_eq(list.nparts, 0);
  ck_assert_int_eq(bad_leaf, -1);
  sfc_edge_list_destroy(&list);
}
END_TEST

/* ---- Bad input ---- */

/* What is wrong with the input, and the lowest leaf that it concerns: the first kind of error that there is counts. */
static sf_status_t judge(const input_t *input, int64_t *bad_leaf_p)
{
  int64_t range = INT64_MAX, twice = INT64_MAX, own = INT64_MAX;
  bool any_range = false;
  for (int64_t i = 0; i < input->n; i++) {
    int64_t leaf = input->leaf64[i], root = input->root64[i];
    int32_t rank = input->root_rank[i];
    if (rank < 0 || rank >= input->size || root < 0 || leaf < 0) {
      range = leaf < range ? leaf : range;
      any_range = true;
    }
    if (find_leaf(input, leaf) < i && leaf < twice)
      twice = leaf;
    if (rank == input->rank && root >= input->nroots && leaf < own)
      own = leaf;
  }
  *bad_leaf_p = any_range ? range : twice < INT64_MAX ? twice : own < INT64_MAX ? own : -1;
  return any_range ? SF_ERR_RANGE : twice < INT64_MAX ? SF_ERR_ARG : own < INT64_MAX ? SF_ERR_RANGE : SF_OK;
}

static void spoil(input_t *input, uint64_t *random)
{
  int64_t i = below(random, input->n);
  switch (below(random, 5)) {
  case 0:
    input->root_rank[i] = below(random, 2) == 0 ? -1 - (int32_t)below(random, 9) : input->size;
    break;
  case 1:
    input->root64[i] = -1 - below(random, 5);
    break;
  case 2:
    if (!input->numbered)
      input->leaf64[i] = -1 - below(random, 5);
    break;
  case 3:
    if (!input->numbered)
      input->leaf64[i] = input->leaf64[below(random, input->n)];
    break;
  default:
    input->nroots = below(random, 1000);
  }
}

START_TEST(the_lowest_bad_leaf_is_named)
{
  static input_t input;
  uint64_t random = sftest_random_start(seed, 4);
  int good = 0;
  for (int round = 0; round < ROUNDS; round++) {
    sfc_edge_list_t list = {.nparts = -5};
    int64_t bad_leaf, expected_leaf;
    make_input(&input, &random);
    if (input.n == 0)
      continue;
    for (int64_t errors = below(&random, 4); errors >= 0; errors--)
      spoil(&input, &random);
    sf_status_t expected = judge(&input, &expected_leaf);
    ck_assert_int_eq(make_list(&input, input.wide, &list, &bad_leaf), expected);
    ck_assert_int_eq(bad_leaf, expected_leaf);
    if (expected == SF_OK) {
      good++;
      sfc_edge_list_destroy(&list);
    } else {
      ck_assert_int_eq(list.nparts, -5);
      ck_assert_str_ne(sfshm_error_detail(), "");
    }
  }
  ck_assert_int_lt(good, ROUNDS / 2);
}
END_TEST

START_TEST(errors_in_words)
{
  static input_t input;
  sfc_edge_list_t list;
  int64_t bad_leaf;
  input = (input_t){.size = 3, .rank = 1, .nroots = 10, .n = 2, .leaf64 = {4, 2}, .root_rank = {0, 1}};
  input.root64[1] = 10;
  ck_assert_int_eq(make_list(&input, true, &list, &bad_leaf), SF_ERR_RANGE);
  ck_assert_str_eq(sfshm_error_detail(), "root index 10, but there are 10 roots");
  ck_assert_int_eq(bad_leaf, 2);
  input.root_rank[1] = 2; /* another rank's: that one knows */
  ck_assert_int_eq(make_list(&input, true, &list, &bad_leaf), SF_OK);
  sfc_edge_list_destroy(&list);
  input.root_rank[0] = 3;
  ck_assert_int_eq(make_list(&input, true, &list, &bad_leaf), SF_ERR_RANGE);
  ck_assert_str_eq(sfshm_error_detail(), "root rank 3, but the group's ranks are 0..2");
  ck_assert_int_eq(bad_leaf, 4);
  input.leaf64[1] = -2;
  ck_assert_int_eq(make_list(&input, false, &list, &bad_leaf), SF_ERR_RANGE);
  ck_assert_str_eq(sfshm_error_detail(), "leaf_index[1] is -2");
  input.root_rank[0] = 0;
  input.leaf64[1] = 4;
  ck_assert_int_eq(make_list(&input, false, &list, &bad_leaf), SF_ERR_ARG);
  ck_assert_str_eq(sfshm_error_detail(), "two edges have the same leaf");
  ck_assert_int_eq(bad_leaf, 4);
}
END_TEST

static int fds_before;

static void setup(void)
{
  fds_before = sftest_count_fds();
}

static void teardown(void)
{
  ck_assert_int_eq(sftest_count_fds(), fds_before);
}

static Suite *edge_lists_suite(void)
{
  Suite *suite = suite_create("edge lists");
  TCase *tcase = tcase_create("edge lists");
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, lists_hold_the_edges_given);
  tcase_add_test(tcase, both_widths_give_the_same_list);
  tcase_add_test(tcase, scattered_roots_are_clustered);
  tcase_add_test(tcase, the_shortest_form_is_stored);
  tcase_add_test(tcase, lists_without_arrays_are_not_mapped);
  tcase_add_test(tcase, arrays_are_narrow_if_they_can_be);
  tcase_add_test(tcase, no_edges);
  tcase_add_test(tcase, the_lowest_bad_leaf_is_named);
  tcase_add_test(tcase, errors_in_words);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  seed = sftest_seed(20240906);
  return sftest_run(edge_lists_suite());
}
