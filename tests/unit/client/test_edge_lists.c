/* Edge lists of random edges hold the edges given, in either width, and can be read again; scattered roots are
 * clustered. */
#include "client/plan/edge_readback.h"
#include "tests/unit/edge_lists.h"
#include "tests/unit/expect.h"
#include "tests/unit/seed.h"

#define ROUNDS 5000

SFTEST_FIXTURE(sftest_edge_lists_setup, sftest_edge_lists_teardown);

SFTEST_SEED(20240906);

/* ---- Random edges ---- */

/* The edges can be read again, by leaf, all of them and each of the arrays alone. */
static void check_origin(const sftest_edge_input_t *input, sfc_edge_list_t *list)
{
  static int64_t leaf[SFTEST_MAX_EDGES], root[SFTEST_MAX_EDGES], lone[SFTEST_MAX_EDGES];
  static int32_t rank[SFTEST_MAX_EDGES];
  sfc_edge_readback_t *readback;
  int64_t leaf_space = 0;
  for (int64_t i = 0; i < input->n; i++)
    leaf_space = input->leaf64[i] < leaf_space ? leaf_space : input->leaf64[i] + 1;
  ck_assert_int_eq(sfc_edge_readback_make(list, &readback), SF_OK);
  ck_assert_int_eq(sfc_edge_readback_count(readback), input->n);
  ck_assert_int_eq(sfc_edge_readback_read(readback, leaf_space, leaf, rank, root), SF_OK);
  ck_assert_int_eq(sfc_edge_readback_read(readback, leaf_space, NULL, NULL, lone), SF_OK);
  for (int64_t i = 0; i < input->n; i++) {
    int64_t given = sftest_edge_input_find(input, leaf[i]);
    sftest_must(given >= 0 && (i == 0 || leaf[i - 1] < leaf[i]), "each leaf was given, and they ascend");
    sftest_must(input->root_rank[given] == rank[i] && input->root64[given] == root[i], "its root is the one given");
    sftest_must(lone[i] == root[i], "one array alone is the same");
  }
  sfc_edge_readback_free(readback);
}

SFTEST(lists_hold_the_edges_given)
{
  static sftest_edge_input_t input;
  uint64_t random = sftest_random_start(seed, 2);
  for (int round = 0; round < ROUNDS; round++) {
    sfc_edge_list_t list;
    int64_t bad_leaf = -7;
    sftest_edge_input_make(&input, &random);
    ck_assert_int_eq(sftest_edge_list_make(&input, input.wide, &list, &bad_leaf), SF_OK);
    ck_assert_int_eq(bad_leaf, -1);
    ck_assert_int_eq(list.region.length_bytes == 0, input.n == 0);
    sftest_edge_list_check(&input, &list);
    check_origin(&input, &list);
    sfc_edge_list_destroy(&list);
    ck_assert_int_eq(list.nparts, 0);
    sfc_edge_list_destroy(&list);
  }
}

SFTEST(both_widths_give_the_same_list)
{
  static sftest_edge_input_t input;
  uint64_t random = sftest_random_start(seed, 3);
  for (int round = 0; round < ROUNDS / 4; round++) {
    sfc_edge_list_t narrow, wide;
    int64_t bad_leaf;
    sftest_edge_input_make(&input, &random);
    if (input.wide)
      continue; /* too large for 32 bits, perhaps */
    ck_assert_int_eq(sftest_edge_list_make(&input, false, &narrow, &bad_leaf), SF_OK);
    ck_assert_int_eq(sftest_edge_list_make(&input, true, &wide, &bad_leaf), SF_OK);
    if (input.n > 0) {
      sfshm_region_t narrow_region = sftest_edge_list_map(&narrow), wide_region = sftest_edge_list_map(&wide);
      ck_assert_uint_eq(narrow_region.length_bytes, wide_region.length_bytes);
      ck_assert_int_eq(memcmp(narrow_region.base, wide_region.base, wide_region.length_bytes), 0);
      sfshm_region_destroy(&narrow_region);
      sfshm_region_destroy(&wide_region);
    }
    sfc_edge_list_destroy(&narrow);
    sfc_edge_list_destroy(&wide);
  }
}

/* ---- Scattered roots ---- */

#define MANY 40000

/* Many edges to each of two ranks. */
typedef struct scattered {
  int64_t n;
  int64_t leaf[2 * MANY];
  int64_t root[2 * MANY];
  int32_t rank[2 * MANY];
  int64_t at_leaf[2 * MANY]; /* the edge of each leaf */
} scattered_t;

static void make_scattered(scattered_t *many, int64_t n, int64_t nroots, bool ordered, uint64_t *random)
{
  many->n = n;
  for (int64_t i = 0; i < n; i++) {
    many->leaf[i] = i;
    many->rank[i] = (int32_t)sftest_below(random, 2);
    many->root[i] = sftest_below(random, 100) == 0 && i > 0 ? many->root[i - 1] : sftest_below(random, nroots);
  }
  for (int64_t i = n - 1; i > 0 && !ordered; i--) {
    int64_t other = sftest_below(random, i + 1), leaf = many->leaf[i];
    many->leaf[i] = many->leaf[other];
    many->leaf[other] = leaf;
  }
  for (int64_t i = 0; i < n; i++)
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
    int64_t leaf = sfshm_pattern_at(&part->edges.leaf, e), root = sftest_edge_root(&part->edges, e);
    int64_t given = many->at_leaf[leaf];
    sftest_must(!met[leaf] && many->rank[given] == part->rank && many->root[given] == root, "each edge is there once");
    sftest_must(last[root] == 0 || (e >= part->nvalues && last[root] < leaf + 1), "roots meet their leaves in order");
    met[leaf] = true;
    last[root] = leaf + 1;
    if (e > 0 && e < part->nvalues) {
      int64_t step = root - sfshm_pattern_at(&part->edges.value_root, e - 1);
      sftest_must(step >= -nroots / 500, "roots of values go forward");
      backward += step < 0;
    }
  }
  ck_assert_int_lt(backward, part->nvalues);
}

SFTEST(scattered_roots_are_clustered)
{
  static scattered_t many;
  uint64_t random = sftest_random_start(seed, 5);
  static const int64_t nroots[] = {1 << 19, 3000000, 1 << 22}, few_roots = 1 << 22, few = 20000;
  for (int round = 0; round < 8; round++) {
    sfc_edge_list_t list;
    int64_t bad_leaf, n = round < 6 ? nroots[round % 3] : few_roots;
    make_scattered(&many, round < 6 ? 2 * MANY : few, n, round < 3 || round == 6, &random);
    sfc_edge_input_t given = {.nroots = n,
                              .nleaves = many.n,
                              .leaf_index = many.leaf,
                              .root_rank = many.rank,
                              .root_index = many.root,
                              .wide = true};
    ck_assert_int_eq(sfc_edge_list_make(&given, 0, 2, &list, &bad_leaf), SF_OK);
    ck_assert_int_eq(sfc_edge_list_seal(&list), SF_OK);
    ck_assert_int_eq(list.nparts, 2);
    ck_assert_int_eq(list.parts[0].nedges + list.parts[1].nedges, many.n);
    sfshm_region_t region = sftest_edge_list_map(&list);
    for (int p = 0; p < 2; p++) {
      sfshm_edges_t edges = sftest_edge_part_open(&region, &list.parts[p]);
      check_scattered(&many, &list.parts[p], n);
      sftest_edges_compare(&list.parts[p].edges, &edges);
      sfshm_edges_close(&edges);
    }
    sfshm_region_destroy(&region);
    sfc_edge_list_destroy(&list);
  }
}
