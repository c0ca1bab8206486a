/* Opening edge lists: good ones, and ones that only somebody hostile makes. */
#include "shm/edges.h"

#include "shm/error.h"
#include "tests/unit/frames.h"
#include "tests/unit/runner.h"

static unsigned seed;

/* For inner loops, where each ck_assert would write to the pipe that Check listens to. */
static void expect(bool condition, const char *what)
{
  if (!condition)
    ck_abort_msg("not so: %s", what);
}

#define BLOCK_OFFSET sizeof(sfshm_region_header_t)
#define ARRAYS_OFFSET (BLOCK_OFFSET + sizeof(sfshm_edge_block_t))
#define IMAGE_BYTES (ARRAYS_OFFSET + 128)

/* An edge list that lies at the very end of its memory, and how it is opened. */
typedef struct stored {
  sfshm_region_t region;
  sfshm_edge_block_t *block;
  uint32_t *index32;
  int64_t *index64;
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
  int64_t nroots;
  sfshm_edges_t edges;
  int64_t bad_leaf;
  int64_t bad_root;
} stored_t;

static stored_t stored;

/* 3 values with the roots 8, 3, 5; 5 edges with the leaves 40, 10, 20, 30, 50; the last two carry values 0 and 2. */
static void setup(void)
{
  char *base = malloc(IMAGE_BYTES);
  memset(base, 0, IMAGE_BYTES);
  stored = (stored_t){.region = {.fd = -1, .base = base, .length_bytes = IMAGE_BYTES},
                      .block = (sfshm_edge_block_t *)(void *)(base + BLOCK_OFFSET),
                      .index32 = (uint32_t *)(void *)(base + ARRAYS_OFFSET),
                      .index64 = (int64_t *)(void *)(base + IMAGE_BYTES - 40),
                      .offset = BLOCK_OFFSET,
                      .nedges = 5,
                      .nvalues = 3,
                      .nroots = 9,
                      .bad_leaf = -7,
                      .bad_root = -7};
  memcpy(stored.index32, (const uint32_t[]){8, 3, 5}, 12);
  memcpy(stored.index64, (const int64_t[]){40, 10, 20, 30, 50}, 40);
  stored.block->value_root = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = 3, .offset = ARRAYS_OFFSET};
  stored.block->leaf = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = 5, .offset = IMAGE_BYTES - 40};
  stored.block->extra_value = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = 0, .stride = 2};
}

static void teardown(void)
{
  free(stored.region.base);
}

static sf_status_t open_stored(void)
{
  return sfshm_edges_open(&stored.region, stored.offset, stored.nedges, stored.nvalues, stored.nroots, &stored.edges,
                          &stored.bad_leaf, &stored.bad_root);
}

START_TEST(a_good_block_is_opened)
{
  ck_assert_int_eq(open_stored(), SF_OK);
  const sfshm_edges_t *edges = &stored.edges;
  ck_assert_ptr_eq(edges->value_root.index32, stored.index32);
  ck_assert_ptr_eq(edges->leaf.index64, stored.index64);
  ck_assert_int_eq(edges->value_root.n, 3);
  ck_assert_int_eq(edges->leaf.n, 5);
  ck_assert_int_eq(edges->extra_value.n, 2);
  ck_assert_int_eq(sfshm_pattern_at(&edges->extra_value, 1), 2);
  ck_assert_int_eq(edges->roots.min, 3);
  ck_assert_int_eq(edges->roots.max, 8);
  ck_assert_int_eq(edges->leaves.min, 10);
  ck_assert_int_eq(edges->leaves.max, 50);
}
END_TEST

START_TEST(the_lowest_leaf_of_a_bad_root_is_named)
{
  stored.nroots = 8; /* root 8 of value 0: edges 0 and 3 */
  ck_assert_int_eq(open_stored(), SF_ERR_RANGE);
  ck_assert_int_eq(stored.bad_leaf, 30);
  ck_assert_int_eq(stored.bad_root, 8);
  ck_assert_str_eq(sfshm_error_detail(), "root index 8, but there are 8 roots");
  stored.nroots = 4; /* root 5 of value 2 as well: edges 2 and 4 */
  ck_assert_int_eq(open_stored(), SF_ERR_RANGE);
  ck_assert_int_eq(stored.bad_leaf, 20);
  ck_assert_int_eq(stored.bad_root, 5);
  stored.nroots = 0;
  ck_assert_int_eq(open_stored(), SF_ERR_RANGE);
  ck_assert_int_eq(stored.bad_leaf, 10);
  ck_assert_int_eq(stored.bad_root, 3);
}
END_TEST

static void expect_malformed(const char *what)
{
  sfshm_edges_t before = stored.edges;
  ck_assert_msg(open_stored() == SF_ERR_PROTO, "%s is accepted", what);
  ck_assert_str_ne(sfshm_error_detail(), "");
  ck_assert_int_eq(memcmp(&before, &stored.edges, sizeof before), 0);
  teardown();
  setup();
}

#define EXPECT_MALFORMED(change)                                                                                       \
  stored.change;                                                                                                       \
  expect_malformed(#change)

START_TEST(blocks_outside_of_the_region)
{
  EXPECT_MALFORMED(offset = BLOCK_OFFSET + 4);
  EXPECT_MALFORMED(offset = IMAGE_BYTES - sizeof(sfshm_edge_block_t) + 8);
  EXPECT_MALFORMED(offset = IMAGE_BYTES);
  EXPECT_MALFORMED(offset = IMAGE_BYTES + 8);
  EXPECT_MALFORMED(offset = UINT64_MAX - 7);
  EXPECT_MALFORMED(region.length_bytes = ARRAYS_OFFSET - 1);
  EXPECT_MALFORMED(region.length_bytes = 0);
}
END_TEST

START_TEST(counts_that_do_not_fit)
{
  EXPECT_MALFORMED(nedges = 0);
  EXPECT_MALFORMED(nedges = -1);
  EXPECT_MALFORMED(nedges = INT64_MIN);
  EXPECT_MALFORMED(nedges = INT64_MAX);
  EXPECT_MALFORMED(nedges = 4);
  EXPECT_MALFORMED(nvalues = 0);
  EXPECT_MALFORMED(nvalues = -3);
  EXPECT_MALFORMED(nvalues = 2);
  EXPECT_MALFORMED(nvalues = 6);
  EXPECT_MALFORMED(block->value_root.n = 4);
  EXPECT_MALFORMED(block->value_root.n = -3);
  EXPECT_MALFORMED(block->leaf.n = 6);
  EXPECT_MALFORMED(block->extra_value.n = 0);
  EXPECT_MALFORMED(block->extra_value.n = 3);
}
END_TEST

START_TEST(arrays_outside_of_the_region)
{
  EXPECT_MALFORMED(block->value_root.kind = 4);
  EXPECT_MALFORMED(block->leaf.kind = UINT32_MAX);
  EXPECT_MALFORMED(block->value_root.offset = ARRAYS_OFFSET + 2);
  EXPECT_MALFORMED(block->value_root.offset = IMAGE_BYTES - 8);
  EXPECT_MALFORMED(block->value_root.offset = UINT64_MAX - 3);
  EXPECT_MALFORMED(block->leaf.offset = IMAGE_BYTES - 36);
  EXPECT_MALFORMED(block->leaf.offset = IMAGE_BYTES - 32);
  EXPECT_MALFORMED(block->leaf.offset = IMAGE_BYTES);
  EXPECT_MALFORMED(block->leaf.offset = UINT64_MAX - 7);
  EXPECT_MALFORMED(region.length_bytes -= 8);
}
END_TEST

static void set_line(sfshm_stored_pattern_t *pattern, sfshm_pattern_kind_t kind, int64_t start, int64_t stride)
{
  pattern->kind = kind;
  pattern->start = start;
  pattern->stride = stride;
}

START_TEST(lines_out_of_range)
{
  static const struct {
    sfshm_pattern_kind_t kind;
    int64_t start;
    int64_t stride;
  } lines[] = {{SFSHM_PATTERN_CONTIGUOUS, -1, 1},
               {SFSHM_PATTERN_CONTIGUOUS, INT64_MAX - 1, 1},
               {SFSHM_PATTERN_CONTIGUOUS, INT64_MIN, 1},
               {SFSHM_PATTERN_STRIDED, 3, -2},
               {SFSHM_PATTERN_STRIDED, 0, INT64_MAX},
               {SFSHM_PATTERN_STRIDED, INT64_MAX, INT64_MIN},
               {SFSHM_PATTERN_STRIDED, 10, INT64_MAX / 2 + 1},
               {SFSHM_PATTERN_STRIDED, -5, 5}};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    set_line(&stored.block->value_root, lines[i].kind, lines[i].start, lines[i].stride);
    expect_malformed("a line of roots");
    set_line(&stored.block->leaf, lines[i].kind, lines[i].start, lines[i].stride);
    expect_malformed("a line of leaves");
    set_line(&stored.block->extra_value, lines[i].kind, lines[i].start, lines[i].stride);
    expect_malformed("a line of values");
  }
  /* The stride of a contiguous pattern counts for nothing. */
  set_line(&stored.block->leaf, SFSHM_PATTERN_CONTIGUOUS, INT64_MAX - 4, -77);
  ck_assert_int_eq(open_stored(), SF_OK);
  ck_assert_int_eq(stored.edges.leaves.max, INT64_MAX);
}
END_TEST

START_TEST(negative_indices)
{
  EXPECT_MALFORMED(index64[0] = -1);
  EXPECT_MALFORMED(index64[4] = INT64_MIN);
  stored.block->value_root = stored.block->leaf;
  stored.block->value_root.n = 3;
  EXPECT_MALFORMED(index64[2] = -20);
}
END_TEST

START_TEST(extra_values_out_of_order)
{
  set_line(&stored.block->extra_value, SFSHM_PATTERN_STRIDED, 2, -1);
  expect_malformed("descending values");
  set_line(&stored.block->extra_value, SFSHM_PATTERN_CONTIGUOUS, 2, 1);
  expect_malformed("a value that is not there");
  stored.block->extra_value = stored.block->leaf;
  stored.block->extra_value.n = 2;
  stored.index64[0] = -1;
  stored.index64[1] = 1;
  set_line(&stored.block->leaf, SFSHM_PATTERN_CONTIGUOUS, 0, 1);
  expect_malformed("a negative value");
  set_line(&stored.block->extra_value, SFSHM_PATTERN_STRIDED, 2, 0); /* both of the same root */
  ck_assert_int_eq(open_stored(), SF_OK);
}
END_TEST

/* Whatever is accepted lies in range; sanitizers see whether anything else was touched. */
START_TEST(random_damage)
{
  uint64_t random = sftest_random_start(seed, 1);
  int accepted = 0;
  for (int round = 0; round < 100000; round++) {
    uint64_t *words = (uint64_t *)(void *)((char *)stored.region.base + BLOCK_OFFSET);
    unsigned nwords = (IMAGE_BYTES - BLOCK_OFFSET) / sizeof *words;
    for (unsigned changes = 1 + sftest_random(&random) % 3; changes > 0; changes--) {
      uint64_t small = sftest_random(&random) % 20, large = (uint64_t)sftest_random(&random) << 33;
      words[sftest_random(&random) % nwords] = sftest_random(&random) % 4 != 0 ? small : large - small;
    }
    if (open_stored() == SF_OK) {
      accepted++;
      for (int64_t i = 0; i < stored.nedges; i++)
        expect(sfshm_pattern_at(&stored.edges.leaf, i) >= 0, "leaves are not negative");
      for (int64_t i = 0; i < stored.nvalues; i++)
        expect((uint64_t)sfshm_pattern_at(&stored.edges.value_root, i) < (uint64_t)stored.nroots, "roots are there");
      for (int64_t i = 0; i < stored.edges.extra_value.n; i++)
        expect((uint64_t)sfshm_pattern_at(&stored.edges.extra_value, i) < (uint64_t)stored.nvalues, "values are there");
    }
    teardown();
    setup();
  }
  ck_assert_int_gt(accepted, 1000);
}
END_TEST

static Suite *edges_suite(void)
{
  Suite *suite = suite_create("edges");
  TCase *tcase = tcase_create("edges");
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, a_good_block_is_opened);
  tcase_add_test(tcase, the_lowest_leaf_of_a_bad_root_is_named);
  tcase_add_test(tcase, blocks_outside_of_the_region);
  tcase_add_test(tcase, counts_that_do_not_fit);
  tcase_add_test(tcase, arrays_outside_of_the_region);
  tcase_add_test(tcase, lines_out_of_range);
  tcase_add_test(tcase, negative_indices);
  tcase_add_test(tcase, extra_values_out_of_order);
  tcase_add_test(tcase, random_damage);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  seed = sftest_seed(20240904);
  return sftest_run(edges_suite());
}
