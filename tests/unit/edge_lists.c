/* Random edges and lists of them: see edge_lists.h. */
#include "tests/unit/edge_lists.h"

#include "tests/unit/descriptors.h"
#include "tests/unit/expect.h"
#include "tests/unit/seed.h"

#define MAX_RANKS 7

/* ---- Input ---- */

int64_t sftest_below(uint64_t *random, int64_t bound)
{
  uint64_t bits = (uint64_t)sftest_random(random) << 31 | sftest_random(random);
  return (int64_t)(bits % (uint64_t)bound);
}

/* Distinct leaves in random order, spread over a range of 1, 3, ... times their number. */
static void make_leaves(sftest_edge_input_t *input, uint64_t *random)
{
  static const int64_t spreads[] = {1, 3, 1000, 5000000, INT64_C(1) << 45};
  int64_t spread = spreads[sftest_below(random, input->wide ? 5 : 4)], base = sftest_below(random, 5);
  bool ordered = sftest_below(random, 2) == 0;
  for (int64_t i = 0; i < input->n; i++)
    input->leaf64[i] = input->numbered ? i : base + i * spread + sftest_below(random, spread);
  for (int64_t i = input->n - 1; i > 0 && !ordered && !input->numbered; i--) {
    int64_t other = sftest_below(random, i + 1), leaf = input->leaf64[i];
    input->leaf64[i] = input->leaf64[other];
    input->leaf64[other] = leaf;
  }
}

static void make_roots(sftest_edge_input_t *input, uint64_t *random)
{
  static const int64_t bounds[] = {1, 20, 300, 100000, INT64_C(1) << 30, INT64_C(1) << 61};
  int64_t bound = bounds[sftest_below(random, input->wide ? 6 : 5)];
  int ranks = (int)sftest_below(random, 3), line = (int)sftest_below(random, 4);
  int64_t stride = sftest_below(random, 5) + 1, start = sftest_below(random, 1000);
  for (int64_t i = 0; i < input->n; i++) {
    input->root64[i] = line == 0   ? start + i * stride
                       : line == 1 ? start + (input->n - i) * stride
                                   : sftest_below(random, bound);
    input->root_rank[i] = ranks == 0   ? (int32_t)(i * input->size / input->n)
                          : ranks == 1 ? (int32_t)sftest_below(random, input->size)
                                       : input->size / 2;
  }
}

void sftest_edge_input_make(sftest_edge_input_t *input, uint64_t *random)
{
  input->size = (int32_t)sftest_below(random, MAX_RANKS) + 1;
  input->rank = (int32_t)sftest_below(random, input->size);
  input->wide = sftest_below(random, 2) == 0;
  input->numbered = sftest_below(random, 3) == 0;
  input->nroots = INT64_MAX;
  input->n = sftest_below(random, sftest_below(random, 4) == 0 ? 4 : SFTEST_MAX_EDGES);
  make_leaves(input, random);
  make_roots(input, random);
}

int64_t sftest_edge_input_find(const sftest_edge_input_t *input, int64_t leaf)
{
  for (int64_t i = 0; i < input->n; i++)
    if (input->leaf64[i] == leaf)
      return i;
  return -1;
}

/* ---- Lists ---- */

sfshm_region_t sftest_edge_list_map(const sfc_edge_list_t *list)
{
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_map(list->region.fd, SFSHM_REGION_EDGES, 1 << 20, SFSHM_READ_ONLY, &region), SF_OK);
  return region;
}

sfshm_edges_t sftest_edge_part_open(const sfshm_region_t *region, const sfc_edge_part_t *part)
{
  sfshm_edges_t edges;
  int64_t bad_leaf, bad_root;
  ck_assert_int_eq(
      sfshm_edges_open(region, part->offset, part->nedges, part->nvalues, INT64_MAX, &edges, &bad_leaf, &bad_root),
      SF_OK);
  return edges;
}

int64_t sftest_edge_root(const sfshm_edges_t *edges, int64_t edge)
{
  int64_t nvalues = edges->value_root.n;
  int64_t value = edge < nvalues ? edge : sfshm_pattern_at(&edges->extra_value, edge - nvalues);
  return sfshm_pattern_at(&edges->value_root, value);
}

static void expect_same(const sfshm_pattern_t *a, const sfshm_pattern_t *b)
{
  sftest_must(a->kind == b->kind && a->n == b->n, "both ranks see the same form");
  for (int64_t i = 0; i < a->n; i++)
    sftest_must(sfshm_pattern_at(a, i) == sfshm_pattern_at(b, i), "both ranks see the same vertices");
}

void sftest_edges_compare(const sfshm_edges_t *own, const sfshm_edges_t *opened)
{
  expect_same(&own->value_root, &opened->value_root);
  expect_same(&own->leaf, &opened->leaf);
  expect_same(&own->extra_value, &opened->extra_value);
  expect_same(&own->extra_root, &opened->extra_root);
  sftest_must(memcmp(&own->roots, &opened->roots, sizeof own->roots) == 0, "both know the same about the roots");
  if (opened->leaves.max != SFSHM_EDGES_UNKNOWN)
    sftest_must(memcmp(&own->leaves, &opened->leaves, sizeof own->leaves) == 0, "both know the same about the leaves");
}

/* What others copy out of an inbox is what the rank itself uses. */
static void check_written(const sfc_edge_list_t *list)
{
  for (int32_t p = 0; p < list->nparts; p++) {
    size_t bytes = sfc_edge_list_write_part(list, p, NULL);
    sfshm_region_t copy = {.fd = -1, .base = aligned_alloc(SFC_EDGE_LIST_ALIGN, bytes), .length_bytes = bytes};
    memset(copy.base, 0x55, bytes);
    ck_assert_uint_eq(sfc_edge_list_write_part(list, p, copy.base), bytes);
    sfc_edge_part_t part = list->parts[p];
    part.offset = 0;
    sfshm_edges_t edges = sftest_edge_part_open(&copy, &part);
    sftest_edges_compare(&list->parts[p].edges, &edges);
    sfshm_edges_close(&edges);
    free(copy.base);
  }
}

sf_status_t sftest_edge_list_make(sftest_edge_input_t *input, bool wide, sfc_edge_list_t *list_p, int64_t *bad_leaf_p)
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

/* All edges to the rank are there, once; each root is one value, and meets its leaves in ascending order. */
static void check_part(const sftest_edge_input_t *input, const sfc_edge_part_t *part, const sfshm_edges_t *edges)
{
  sftest_must(edges->leaf.n == part->nedges && edges->value_root.n == part->nvalues,
              "part and block have the same counts");
  for (int64_t e = 0; e < part->nedges; e++) {
    int64_t leaf = sfshm_pattern_at(&edges->leaf, e), root = sftest_edge_root(edges, e);
    int64_t given = sftest_edge_input_find(input, leaf);
    sftest_must(given >= 0, "each leaf was given");
    sftest_must(input->root_rank[given] == part->rank && input->root64[given] == root, "its root is the one given");
    for (int64_t before = 0; before < e; before++) {
      int64_t other = sfshm_pattern_at(&edges->leaf, before);
      sftest_must(other != leaf, "each leaf occurs once");
      sftest_must(sftest_edge_root(edges, before) != root || (other < leaf && e >= part->nvalues),
                  "roots meet their leaves in order");
    }
  }
}

void sftest_edge_list_check(const sftest_edge_input_t *input, const sfc_edge_list_t *list)
{
  int64_t nedges = 0;
  int32_t previous = -1;
  sfshm_region_t region = {.base = NULL};
  if (list->nparts > 0)
    region = sftest_edge_list_map(list);
  for (int32_t p = 0; p < list->nparts; p++) {
    const sfc_edge_part_t *part = &list->parts[p];
    ck_assert_int_gt(part->rank, previous);
    previous = part->rank;
    sfshm_edges_t edges = sftest_edge_part_open(&region, part);
    check_part(input, part, &edges);
    sftest_edges_compare(&part->edges, &edges);
    sfshm_edges_close(&edges);
    nedges += part->nedges;
  }
  sfshm_region_destroy(&region);
  ck_assert_int_eq(nedges, input->n);
}

/* ---- Tests ---- */

static int fds_before;

void sftest_edge_lists_setup(void)
{
  fds_before = sftest_count_fds();
}

void sftest_edge_lists_teardown(void)
{
  ck_assert_int_eq(sftest_count_fds(), fds_before);
}
