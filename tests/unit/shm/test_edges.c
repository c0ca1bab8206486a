/* Opening edge lists: good ones, and ones that only somebody hostile makes. */
#include "shm/edges/edges.h"

#include "shm/base/error.h"
#include "tests/unit/expect.h"
#include "tests/unit/seed.h"

SFTEST_SEED(20240904);

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

/* 3 values with the roots 8, 3, 5; 5 edges with the leaves 40, 10, 30, 20, 50; extra ones, to leaves 30 and 50, carry
 * values 0 and 2. */
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
  memcpy(stored.index64, (const int64_t[]){40, 10, 30, 20, 50}, 40);
  stored.block->value_root = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = 3, .offset = ARRAYS_OFFSET};
  stored.block->leaf = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = 5, .offset = IMAGE_BYTES - 40};
  stored.block->extra_value = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = 0, .stride = 2};
  stored.block->extra_edge = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = 2, .stride = 2};
}

/* As many values as edges. */
static void drop_extras(void)
{
  stored.nedges = stored.block->leaf.n = 3;
  stored.block->extra_value.n = stored.block->extra_edge.n = 0;
}

static void teardown(void)
{
  sfshm_edges_close(&stored.edges);
  free(stored.region.base);
}

SFTEST_FIXTURE(setup, teardown);

static sf_status_t open_stored(void)
{
  sfshm_edges_close(&stored.edges);
  return sfshm_edges_open(&stored.region, stored.offset, stored.nedges, stored.nvalues, stored.nroots, &stored.edges,
                          &stored.bad_leaf, &stored.bad_root);
}

SFTEST(a_good_block_is_opened)
{
  ck_assert_int_eq(open_stored(), SF_OK);
  const sfshm_edges_t *edges = &stored.edges;
  ck_assert_ptr_eq(edges->value_root.index32, stored.index32);
  ck_assert_int_eq(edges->value_root.n, 3);
  ck_assert_int_eq(edges->leaf.n, 5);
  const int64_t leaves[] = {40, 10, 20, 30, 50}; /* extra ones last */
  for (int i = 0; i < 5; i++)
    ck_assert_int_eq(sfshm_pattern_at(&edges->leaf, i), leaves[i]);
  ck_assert_int_eq(edges->extra_value.n, 2);
  ck_assert_int_eq(sfshm_pattern_at(&edges->extra_value, 1), 2);
  ck_assert_int_eq(edges->extra_root.n, 2);
  ck_assert_int_eq(sfshm_pattern_at(&edges->extra_root, 0), 8);
  ck_assert_int_eq(sfshm_pattern_at(&edges->extra_root, 1), 5);
  ck_assert_int_eq(edges->roots.min, 3);
  ck_assert_int_eq(edges->roots.max, 8);
  ck_assert_int_eq(edges->leaves.min, 10);
  ck_assert_int_eq(edges->leaves.max, 50);
}

SFTEST(without_extra_edges_all_lies_in_the_region)
{
  drop_extras();
  ck_assert_int_eq(open_stored(), SF_OK);
  ck_assert_ptr_eq(stored.edges.value_root.index32, stored.index32);
  ck_assert_ptr_eq(stored.edges.leaf.index64, stored.index64);
  ck_assert_int_eq(stored.edges.extra_root.n, 0);
  ck_assert_ptr_null(stored.edges.memory);
}

/* Roots that were stored as an array, and leaves that become a line. */
SFTEST(plans_are_in_the_shortest_form)
{
  memcpy(stored.index32, (const uint32_t[]){2, 4, 6}, 12);
  stored.block->leaf = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 5, .start = 7};
  stored.block->extra_edge = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 2, .start = 3};
  ck_assert_int_eq(open_stored(), SF_OK);
  ck_assert_int_eq(stored.edges.value_root.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(stored.edges.leaf.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(stored.edges.leaf.start, 7);
  ck_assert_int_eq(stored.edges.leaves.runs, 1);
  stored.block->leaf.start = INT64_C(1) << 40;
  ck_assert_int_eq(open_stored(), SF_OK);
  ck_assert_int_eq(stored.edges.leaf.start, INT64_C(1) << 40);
  stored.block->extra_edge.start = 2;
  ck_assert_int_eq(open_stored(), SF_OK);
  ck_assert_int_eq(stored.edges.leaf.kind, SFSHM_PATTERN_INDEX64);
  ck_assert_int_eq(sfshm_pattern_at(&stored.edges.leaf, 2), (INT64_C(1) << 40) + 4);
}

SFTEST(the_lowest_leaf_of_a_bad_root_is_named)
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

/* The same of roots in a line, with leaves in a line or not, against a look at each. */
SFTEST(the_lowest_leaf_of_a_bad_root_on_a_line_is_named)
{
  uint64_t random = sftest_random_start(seed, 2);
  for (int round = 0; round < 20000; round++) {
    int64_t root[5], leaf[5], start = sftest_random(&random) % 60, stride = (int64_t)(sftest_random(&random) % 21) - 10;
    int64_t leaf_start = sftest_random(&random) % 60, leaf_stride = (int64_t)(sftest_random(&random) % 21) - 10;
    bool line = sftest_random(&random) % 2 == 0, descends = stride < 0;
    stride = stride == 0 ? 1 : stride;
    leaf_stride = leaf_stride == 0 ? 1 : leaf_stride;
    start += descends ? -4 * stride : 0;
    leaf_start += leaf_stride < 0 ? -4 * leaf_stride : 0;
    int64_t n = stored.nvalues = stored.nedges = 1 + sftest_random(&random) % 5, worst = -1;
    stored.nroots = sftest_random(&random) % 110;
    for (int64_t i = 0; i < n; i++) {
      root[i] = start + i * stride;
      leaf[i] = line ? leaf_start + i * leaf_stride : (int64_t)(sftest_random(&random) % 100) * 5 + i;
      stored.index64[i] = leaf[i];
      if (root[i] >= stored.nroots && (worst < 0 || leaf[i] < leaf[worst]))
        worst = i;
    }
    sfshm_edge_block_t *block = stored.block;
    block->value_root =
        (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = n, .start = start, .stride = stride};
    block->leaf.n = n;
    if (line)
      block->leaf =
          (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = n, .start = leaf_start, .stride = leaf_stride};
    else
      block->leaf = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = n, .offset = IMAGE_BYTES - 40};
    block->extra_value.n = block->extra_edge.n = 0;
    sf_status_t status = open_stored();
    sftest_must(status == (worst < 0 ? SF_OK : SF_ERR_RANGE), "roots that are too high are found");
    sftest_must(worst < 0 || (stored.bad_leaf == leaf[worst] && stored.bad_root == root[worst]),
                "the lowest leaf is named");
  }
}

static void expect_malformed(const char *what)
{
  sfshm_edges_close(&stored.edges);
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

SFTEST(blocks_outside_of_the_region)
{
  EXPECT_MALFORMED(offset = BLOCK_OFFSET + 4);
  EXPECT_MALFORMED(offset = IMAGE_BYTES - sizeof(sfshm_edge_block_t) + 8);
  EXPECT_MALFORMED(offset = IMAGE_BYTES);
  EXPECT_MALFORMED(offset = IMAGE_BYTES + 8);
  EXPECT_MALFORMED(offset = UINT64_MAX - 7);
  EXPECT_MALFORMED(region.length_bytes = ARRAYS_OFFSET - 1);
  EXPECT_MALFORMED(region.length_bytes = 0);
}

SFTEST(counts_that_do_not_fit)
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
  EXPECT_MALFORMED(block->extra_edge.n = 0);
  EXPECT_MALFORMED(block->extra_edge.n = 1);
  EXPECT_MALFORMED(block->extra_edge.n = 3);
}

SFTEST(arrays_outside_of_the_region)
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

static void set_line(sfshm_stored_pattern_t *pattern, sfshm_pattern_kind_t kind, int64_t start, int64_t stride)
{
  pattern->kind = kind;
  pattern->start = start;
  pattern->stride = stride;
}

SFTEST(lines_out_of_range)
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
               {SFSHM_PATTERN_STRIDED, -5, 5},
               {SFSHM_PATTERN_STRIDED, 2, 0}};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    drop_extras();
    set_line(&stored.block->value_root, lines[i].kind, lines[i].start, lines[i].stride);
    expect_malformed("a line of roots");
    set_line(&stored.block->leaf, lines[i].kind, lines[i].start, lines[i].stride);
    expect_malformed("a line of leaves");
    set_line(&stored.block->extra_value, lines[i].kind, lines[i].start, lines[i].stride);
    expect_malformed("a line of values");
    if (lines[i].start == 3) /* edges 3 and 1 are there */
      continue;
    set_line(&stored.block->extra_edge, lines[i].kind, lines[i].start, lines[i].stride);
    expect_malformed("a line of extra edges");
  }
  /* The stride of a contiguous pattern counts for nothing. */
  set_line(&stored.block->leaf, SFSHM_PATTERN_CONTIGUOUS, INT64_MAX - 4, -77);
  ck_assert_int_eq(open_stored(), SF_OK);
  ck_assert_int_eq(stored.edges.leaves.max, INT64_MAX);
}

SFTEST(negative_indices)
{
  EXPECT_MALFORMED(index64[0] = -1);
  EXPECT_MALFORMED(index64[4] = INT64_MIN);
  stored.block->value_root = stored.block->leaf;
  stored.block->value_root.n = 3;
  EXPECT_MALFORMED(index64[2] = -20);
}

SFTEST(extra_values_out_of_order)
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
  stored.block->extra_value = stored.block->leaf;
  stored.block->extra_value.n = 2;
  stored.index64[0] = stored.index64[1] = 2; /* both of the same root */
  set_line(&stored.block->leaf, SFSHM_PATTERN_CONTIGUOUS, 0, 1);
  ck_assert_int_eq(open_stored(), SF_OK);
}

SFTEST(extra_edges_that_are_none)
{
  set_line(&stored.block->extra_edge, SFSHM_PATTERN_CONTIGUOUS, 4, 1);
  expect_malformed("an edge that is not there");
  for (int64_t edge = -1; edge < 6; edge++) {
    stored.block->extra_edge =
        (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = 2, .offset = IMAGE_BYTES - 40};
    set_line(&stored.block->leaf, SFSHM_PATTERN_CONTIGUOUS, 0, 1);
    stored.index64[0] = 3;
    stored.index64[1] = edge;
    if (edge < 0 || edge == 3 || edge == 5) {
      expect_malformed("an edge twice, or one that is not there");
      continue;
    }
    ck_assert_int_eq(open_stored(), SF_OK);
    ck_assert_int_eq(sfshm_pattern_at(&stored.edges.leaf, 3), 3);
    ck_assert_int_eq(sfshm_pattern_at(&stored.edges.leaf, 4), edge);
  }
}

static void set_pattern(sfshm_stored_pattern_t *pattern, int64_t n, int64_t start, int64_t stride)
{
  *pattern = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = n, .start = start, .stride = stride};
}

/* Lists whose length nothing explains must neither be walked through nor given memory: the test ends at once, or
 * never. */
SFTEST(endless_lists)
{
  const int64_t counts[] = {INT64_C(1) << 34, INT64_C(1) << 43, INT64_C(1) << 61, INT64_MAX / 2, INT64_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    int64_t n = counts[i];
    sfshm_edge_block_t *block = stored.block;
    stored.nedges = stored.nvalues = block->leaf.n = block->value_root.n = n;
    block->extra_value.n = block->extra_edge.n = 0;
    expect_malformed("arrays longer than the region");
    block = stored.block;
    stored.nedges = stored.nvalues = n;
    drop_extras();
    stored.nedges = n;
    set_pattern(&block->value_root, n, 0, 1);
    set_pattern(&block->leaf, n, 0, 1);
    ck_assert_int_ne(open_stored(), SF_OK); /* roots out of range, or too many at all */
    set_pattern(&block->value_root, n, n - 1, -1);
    ck_assert_int_ne(open_stored(), SF_OK);
    set_pattern(&block->value_root, n, 5, 0); /* the same root all over */
    ck_assert_int_eq(open_stored(), SF_ERR_PROTO);
    stored.nvalues = n - 5;
    set_pattern(&block->value_root, n - 5, 0, 1);
    set_pattern(&block->extra_value, 5, 0, 1);
    set_pattern(&block->extra_edge, 5, 1, 1);
    ck_assert_int_eq(open_stored(), SF_ERR_PROTO); /* extra edges, but a line of roots */
    stored.nvalues = 3;
    block->value_root = (sfshm_stored_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = 3, .offset = ARRAYS_OFFSET};
    set_pattern(&block->extra_value, n - 3, 0, 1);
    set_pattern(&block->extra_edge, n - 3, 3, 1);
    ck_assert_int_eq(open_stored(), SF_ERR_PROTO); /* more extra edges than values */
    teardown();
    setup();
  }
}

/* Whatever is accepted lies in range; sanitizers see whether anything else was touched. */
SFTEST(random_damage)
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
      sftest_must(stored.edges.leaf.n == stored.nedges, "all leaves are there");
      for (int64_t i = 0; i < stored.edges.extra_root.n; i++)
        sftest_must(sfshm_pattern_at(&stored.edges.extra_root, i) ==
                        sfshm_pattern_at(&stored.edges.value_root, sfshm_pattern_at(&stored.edges.extra_value, i)),
                    "extra edges lead to the roots of their values");
      for (int64_t i = 0; i < stored.nedges; i++)
        sftest_must(sfshm_pattern_at(&stored.edges.leaf, i) >= 0, "leaves are not negative");
      for (int64_t i = 0; i < stored.nvalues; i++)
        sftest_must((uint64_t)sfshm_pattern_at(&stored.edges.value_root, i) < (uint64_t)stored.nroots,
                    "roots are there");
      for (int64_t i = 0; i < stored.edges.extra_value.n; i++)
        sftest_must((uint64_t)sfshm_pattern_at(&stored.edges.extra_value, i) < (uint64_t)stored.nvalues,
                    "values are there");
    }
    teardown();
    setup();
  }
  ck_assert_int_gt(accepted, 1000);
}
