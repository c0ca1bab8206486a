/* Finds extra edges: see edge_duplicates.h. Both methods make pairs of positions: the edge that carries the value,
 * which is the root's first edge by leaf, and an extra edge. Dense roots: a table of first edges. Sparse roots, of
 * which few are shared: sorting. */
#include "client/plan/edge_duplicates.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/base/sort.h"
#include "shm/edges/repeats.h"

#define NONE UINT32_MAX
#define DENSE 4 /* roots per edge up to which a table is used */

/* Pairs of (first edge, extra edge), with scratch memory to sort them. */
typedef struct sfc_pairs {
  sfshm_keyed_t *pair;
  sfshm_keyed_t *scratch;
  int64_t n;
} sfc_pairs_t;

static int64_t leaf_at(const sfc_edge_bucket_t *bucket, int64_t place)
{
  return sfshm_pattern_at(&bucket->leaf, place);
}

static int64_t root_at(const sfc_edge_bucket_t *bucket, int64_t place)
{
  return sfshm_pattern_at(&bucket->root, place);
}

/* ---- Dense roots ---- */

/* Enters each root's first edge in the table. Returns the number of roots. */
static inline __attribute__((always_inline)) int64_t
enter_as(const sfc_edge_bucket_t *bucket, sfshm_pattern_kind_t kind, bool leaves_ascend, uint32_t table[])
{
  sfshm_pattern_t root = bucket->root;
  int64_t nroots = 0;
  root.kind = kind;
  for (int64_t i = 0; i < root.n; i++) {
    uint32_t *first = &table[sfshm_pattern_at(&root, i)];
    bool fresh = *first == NONE;
    nroots += fresh;
    if (fresh || (!leaves_ascend && leaf_at(bucket, i) < leaf_at(bucket, *first)))
      *first = (uint32_t)i;
  }
  return nroots;
}

static int64_t enter(const sfc_edge_bucket_t *bucket, bool leaves_ascend, uint32_t table[])
{
  if (bucket->root.kind == SFSHM_PATTERN_INDEX64)
    return enter_as(bucket, SFSHM_PATTERN_INDEX64, leaves_ascend, table);
  return leaves_ascend ? enter_as(bucket, SFSHM_PATTERN_INDEX32, true, table)
                       : enter_as(bucket, SFSHM_PATTERN_INDEX32, false, table);
}

/* Makes pairs in the order of leaves. */
static sf_status_t pair_by_table(const sfc_edge_bucket_t *bucket, bool leaves_ascend, const uint32_t table[], int64_t n,
                                 sfc_pairs_t *pairs)
{
  pairs->pair = malloc(((size_t)n + 1) *
                       sizeof *pairs->pair); /* one more: entries that are no pair are written and overwritten */
  pairs->scratch = malloc((size_t)n * sizeof *pairs->scratch);
  if (pairs->pair == NULL || pairs->scratch == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%lld extra edges", (long long)n);
  for (int64_t i = 0; i < bucket->root.n; i++) {
    int64_t first = table[root_at(bucket, i)];
    pairs->pair[pairs->n] = (sfshm_keyed_t){first, i};
    pairs->n += first != i;
  }
  if (leaves_ascend)
    return SF_OK;
  for (int64_t e = 0; e < n; e++)
    pairs->pair[e].key = leaf_at(bucket, pairs->pair[e].item);
  sfshm_sort(pairs->pair, pairs->scratch, n, sfshm_pattern_max(&bucket->leaf));
  for (int64_t e = 0; e < n; e++)
    pairs->pair[e].key = table[root_at(bucket, pairs->pair[e].item)];
  return SF_OK;
}

static sf_status_t find_dense(const sfc_edge_bucket_t *bucket, bool leaves_ascend, int64_t root_max, sfc_pairs_t *pairs)
{
  size_t bytes = ((size_t)root_max + 1) * sizeof(uint32_t);
  uint32_t *table = malloc(bytes);
  if (table == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %lld roots", (long long)root_max + 1);
  memset(table, 0xff, bytes);
  int64_t nroots = enter(bucket, leaves_ascend, table);
  sf_status_t status = SF_OK;
  if (nroots < bucket->root.n)
    status = pair_by_table(bucket, leaves_ascend, table, bucket->root.n - nroots, pairs);
  free(table);
  return status;
}

/* ---- Roots spread widely ---- */

/* Orders the positions of each root by leaf. */
static void order_by_leaf(const sfc_edge_bucket_t *bucket, int64_t root_max, sfshm_repeats_t *repeats)
{
  sfshm_keyed_t *places = repeats->places;
  for (int64_t i = 0; i < repeats->n; i++)
    places[i].key = leaf_at(bucket, places[i].item);
  sfshm_sort(places, repeats->scratch, repeats->n, sfshm_pattern_max(&bucket->leaf));
  for (int64_t i = 0; i < repeats->n; i++)
    places[i].key = root_at(bucket, places[i].item);
  sfshm_sort(places, repeats->scratch, repeats->n, root_max);
}

/* Makes pairs from (root, edge), which are ordered by root and leaf. */
static void pair_places(sfshm_repeats_t *repeats, sfc_pairs_t *pairs)
{
  int64_t root = -1, first = -1;
  *pairs = (sfc_pairs_t){.pair = repeats->places, .scratch = repeats->scratch};
  for (int64_t i = 0; i < repeats->n; i++) {
    sfshm_keyed_t place = repeats->places[i];
    if (place.key == root) {
      pairs->pair[pairs->n++] = (sfshm_keyed_t){first, place.item};
    } else {
      root = place.key;
      first = place.item;
    }
  }
}

static sf_status_t find_spread(const sfc_edge_bucket_t *bucket, const sfc_edge_cluster_t *cluster, bool leaves_ascend,
                               int64_t root_max, sfc_pairs_t *pairs)
{
  sfshm_repeats_t repeats = {.n = 0};
  sf_status_t status = cluster->memory != NULL ? sfshm_repeats_find_clustered(bucket->root.index32, bucket->root.n,
                                                                              cluster->shift, &repeats)
                                               : sfshm_repeats_find(&bucket->root, &repeats);
  if (!leaves_ascend)
    order_by_leaf(bucket, root_max, &repeats);
  pair_places(&repeats, pairs);
  return status;
}

/* ---- Values ---- */

/* Values are numbered in the order of the edges that carry them. */
static void number_values(const sfc_pairs_t *by_first, sfc_edge_duplicates_t *extras)
{
  int64_t word = 0, before = 0; /* extra edges in earlier words */
  for (int64_t e = 0; e < extras->n; e++) {
    int64_t first = by_first->pair[e].key;
    for (; word < first >> 6; word++)
      before += __builtin_popcountll(extras->set[word]);
    uint64_t lower = extras->set[word] & ((UINT64_C(1) << (first & 63)) - 1);
    extras->value[e] = first - before - __builtin_popcountll(lower);
    extras->edge[e] = by_first->pair[e].item;
  }
}

static sf_status_t take_pairs(const sfc_edge_bucket_t *bucket, sfc_pairs_t *pairs, sfc_edge_duplicates_t *extras_p)
{
  sfc_edge_duplicates_t extras = {.n = pairs->n};
  extras.value = malloc(2 * (size_t)extras.n * sizeof *extras.value);
  extras.set = calloc((size_t)bucket->root.n / 64 + 1, sizeof *extras.set);
  if (extras.value == NULL || extras.set == NULL) {
    sfc_edge_duplicates_free(&extras);
    return sfshm_error(SF_ERR_NOMEM, "%lld extra edges", (long long)extras.n);
  }
  extras.edge = extras.value + extras.n;
  for (int64_t e = 0; e < extras.n; e++) {
    int64_t edge = pairs->pair[e].item;
    extras.set[edge >> 6] |= UINT64_C(1) << (edge & 63);
  }
  sfshm_sort(pairs->pair, pairs->scratch, pairs->n, bucket->root.n);
  number_values(pairs, &extras);
  *extras_p = extras;
  return SF_OK;
}

sf_status_t sfc_edge_duplicates_find(const sfc_edge_bucket_t *bucket, const sfc_edge_cluster_t *cluster,
                                     bool leaves_ascend, sfc_edge_duplicates_t *extras_p)
{
  int64_t n = bucket->root.n;
  sfc_pairs_t pairs = {.n = 0};
  sf_status_t status;
  *extras_p = (sfc_edge_duplicates_t){.n = 0};
  if (sfshm_pattern_ascends(&bucket->root) || bucket->root.kind == SFSHM_PATTERN_STRIDED)
    return SF_OK;
  int64_t root_max = cluster->memory != NULL ? cluster->root_max : sfshm_pattern_max(&bucket->root);
  if (root_max / DENSE < n && n < NONE)
    status = find_dense(bucket, leaves_ascend, root_max, &pairs);
  else
    status = find_spread(bucket, cluster, leaves_ascend, root_max, &pairs);
  if (status == SF_OK && pairs.n > 0)
    status = take_pairs(bucket, &pairs, extras_p);
  free(pairs.pair);
  free(pairs.scratch);
  return status;
}

void sfc_edge_duplicates_free(sfc_edge_duplicates_t *extras)
{
  free(extras->value);
  free(extras->set);
  *extras = (sfc_edge_duplicates_t){.n = 0};
}
