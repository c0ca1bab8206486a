/* Edges distributed to their root ranks, against looking for each rank's edges one after the other. */
#include "client/plan/edge_buckets.h"

#include "tests/unit/expect.h"
#include "tests/unit/seed.h"

#define MAX_N 5000

SFTEST_SEED(20261122);

typedef struct edges {
  int64_t n;
  int32_t root_rank[MAX_N];
  int64_t root[MAX_N];
  int64_t leaf[MAX_N];
  int32_t narrow_root[MAX_N];
  int32_t narrow_leaf[MAX_N];
} edges_t;

static edges_t edges;

static void check_bucket(const sfc_edge_bucket_t *bucket, int32_t rank, bool leaves)
{
  int64_t n = 0;
  for (int64_t i = 0; i < edges.n; i++) {
    if (edges.root_rank[i] != rank)
      continue;
    sftest_must(n < bucket->root.n, "a bucket is long enough");
    sftest_must(sfshm_pattern_at(&bucket->root, n) == edges.root[i], "roots are in the order of the edges");
    sftest_must(sfshm_pattern_at(&bucket->leaf, n) == (leaves ? edges.leaf[i] : i), "as leaves are");
    n++;
  }
  sftest_must(n == bucket->root.n && n == bucket->leaf.n, "a bucket has no more");
}

static void check_input(const sfc_edge_input_t *input, int32_t size)
{
  sfc_edge_buckets_t buckets;
  int64_t total = 0;
  ck_assert_int_eq(sfc_edge_buckets_make(input, size, &buckets), SF_OK);
  for (int32_t b = 0; b < buckets.n; b++) {
    sftest_must(b == 0 || buckets.bucket[b].rank > buckets.bucket[b - 1].rank, "ranks ascend");
    sftest_must(buckets.bucket[b].root.n > 0, "no bucket is empty");
    check_bucket(&buckets.bucket[b], buckets.bucket[b].rank, input->leaf_index != NULL);
    total += buckets.bucket[b].root.n;
  }
  ck_assert_int_eq(total, edges.n);
  sfc_edge_buckets_free(&buckets);
}

/* With indices of either width, with leaves and without. */
static void check(int32_t size)
{
  bool fits = true;
  for (int64_t i = 0; i < edges.n; i++) {
    fits = fits && edges.root[i] <= INT32_MAX && edges.leaf[i] <= INT32_MAX;
    edges.narrow_root[i] = (int32_t)edges.root[i];
    edges.narrow_leaf[i] = (int32_t)edges.leaf[i];
  }
  for (int leaves = 0; leaves < 2; leaves++) {
    sfc_edge_input_t wide = {.nleaves = edges.n,
                             .leaf_index = leaves ? edges.leaf : NULL,
                             .root_rank = edges.root_rank,
                             .root_index = edges.root,
                             .wide = true};
    sfc_edge_input_t narrow = {.nleaves = edges.n,
                               .leaf_index = leaves ? edges.narrow_leaf : NULL,
                               .root_rank = edges.root_rank,
                               .root_index = edges.narrow_root};
    check_input(&wide, size);
    if (fits)
      check_input(&narrow, size);
  }
}

static const int64_t lengths[] = {1, 2, 3, 4, 5, 255, 256, 257, 300, 1000, 4097, MAX_N};
#define NLENGTHS (sizeof lengths / sizeof lengths[0])

static void fill_indices(uint64_t *random, int64_t bound)
{
  for (int64_t i = 0; i < edges.n; i++) {
    edges.root[i] = (int64_t)((((uint64_t)sftest_random(random) << 32) ^ sftest_random(random)) % (uint64_t)bound);
    edges.leaf[i] = edges.n - i;
  }
}

SFTEST(random_ranks)
{
  static const int32_t sizes[] = {1, 2, 3, 4, 15, 16, 17, 64, 300, 4000};
  static const int64_t bounds[] = {1, 1000, INT64_C(1) << 31, INT64_C(1) << 33};
  uint64_t random = sftest_random_start(seed, 1);
  for (size_t l = 0; l < NLENGTHS; l++) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      edges.n = lengths[l];
      fill_indices(&random, bounds[(l + s) % 4]);
      for (int64_t i = 0; i < edges.n; i++)
        edges.root_rank[i] = (int32_t)(sftest_random(&random) % (uint32_t)sizes[s]);
      check(sizes[s]);
    }
  }
}

SFTEST(runs_of_ranks)
{
  uint64_t random = sftest_random_start(seed, 2);
  for (size_t l = 0; l < NLENGTHS; l++) {
    for (uint32_t longest = 1; longest < 200; longest *= 3) {
      edges.n = lengths[l];
      fill_indices(&random, 1 << 20);
      for (int64_t i = 0, end; i < edges.n; i = end) {
        int32_t rank = (int32_t)(sftest_random(&random) % 7);
        end = i + 1 + sftest_random(&random) % longest;
        end = end < edges.n ? end : edges.n;
        for (int64_t k = i; k < end; k++)
          edges.root_rank[k] = rank;
      }
      check(7);
    }
  }
}

/* As in patterns in which all ranks meet: ascending, and the other way round. */
SFTEST(one_edge_for_each_rank)
{
  uint64_t random = sftest_random_start(seed, 3);
  for (size_t l = 0; l < NLENGTHS; l++) {
    edges.n = lengths[l];
    fill_indices(&random, 1 << 20);
    for (int64_t i = 0; i < edges.n; i++)
      edges.root_rank[i] = (int32_t)i;
    check((int32_t)edges.n);
    for (int64_t i = 0; i < edges.n; i++)
      edges.root_rank[i] = (int32_t)(edges.n - 1 - i);
    check((int32_t)edges.n);
  }
}

/* Wherever it stands. */
SFTEST(a_bad_rank)
{
  static const int64_t places[] = {0, 200, 256, 300, 1249, 1250, 2499, 4998, MAX_N - 1};
  static const int32_t bad[] = {-1, 4, INT32_MAX, INT32_MIN};
  uint64_t random = sftest_random_start(seed, 4);
  edges.n = MAX_N;
  fill_indices(&random, 1 << 20);
  for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
      sfc_edge_buckets_t buckets;
      for (int64_t i = 0; i < edges.n; i++)
        edges.root_rank[i] = (int32_t)(i % 4);
      edges.root_rank[places[p]] = bad[b];
      sfc_edge_input_t input = {
          .nleaves = edges.n, .root_rank = edges.root_rank, .root_index = edges.root, .wide = true};
      ck_assert_int_eq(sfc_edge_buckets_make(&input, 4, &buckets), SF_ERR_RANGE);
    }
  }
}
