/* Orders edges by regions of roots: see edge_locality.h. One pass counts the edges of each region, a second one places
 * them. */
#include "client/plan/edge_locality.h"

#include <stdlib.h>

#include "shm/base/error.h"

#define MIN_EDGES 8192     /* fewer lines of roots fit into a private cache */
#define SAMPLES 64         /* steps examined */
#define FAR 512            /* distance of a jump: a page of doubles */
#define MIN_SPAN (1 << 18) /* roots beyond a private cache */
#define MAX_REGIONS 1024   /* that a pass can write to in parallel */
#define MIN_SHIFT 9        /* a page */
#define CACHE_SHIFT 12     /* doubles of a first-level cache: regions with less are for many edges */
#define REGION_EDGES 32    /* edges that are many for a region */

/* Whether most steps between consecutive roots jump to another page. */
static bool jumps_about(const sfshm_pattern_t *root)
{
  int jumps = 0;
  for (int64_t s = 0; s < SAMPLES; s++) {
    int64_t i = s * ((root->n - 1) / SAMPLES);
    int64_t step = (int64_t)root->index32[i + 1] - (int64_t)root->index32[i];
    jumps += step > FAR || step < -FAR;
  }
  return jumps > SAMPLES / 2;
}

static bool is_wanted(const sfc_edge_bucket_t *bucket)
{
  return bucket->root.kind == SFSHM_PATTERN_INDEX32 && bucket->root.n >= MIN_EDGES && bucket->root.n <= UINT32_MAX &&
         bucket->leaf.kind != SFSHM_PATTERN_INDEX64 && sfshm_pattern_at(&bucket->leaf, 0) <= UINT32_MAX &&
         sfshm_pattern_at(&bucket->leaf, bucket->leaf.n - 1) <= UINT32_MAX && jumps_about(&bucket->root);
}

static int find_shift(int64_t root_max, int64_t nedges)
{
  int shift = MIN_SHIFT;
  while (root_max >> shift >= MAX_REGIONS || (shift < CACHE_SHIFT && root_max >> shift >= nedges / REGION_EDGES))
    shift++;
  return shift;
}

static inline __attribute__((always_inline)) void place_as(const uint32_t root[], sfshm_pattern_t leaf,
                                                           sfshm_pattern_kind_t kind, int shift, uint32_t next[],
                                                           uint32_t roots[], uint32_t leaves[])
{
  leaf.kind = kind;
  for (int64_t i = 0; i < leaf.n; i++) {
    uint32_t place = next[root[i] >> shift]++;
    roots[place] = root[i];
    leaves[place] = (uint32_t)sfshm_pattern_at(&leaf, i);
  }
}

/* Root and leaf of each edge, by region. */
static void place(const sfc_edge_bucket_t *bucket, int shift, uint32_t roots[], uint32_t leaves[])
{
  const uint32_t *root = bucket->root.index32;
  uint32_t next[MAX_REGIONS] = {0};
  for (int64_t i = 0; i < bucket->root.n; i++)
    next[root[i] >> shift]++;
  for (uint32_t r = 0, sum = 0; r < MAX_REGIONS; r++) {
    uint32_t count = next[r];
    next[r] = sum;
    sum += count;
  }
  if (bucket->leaf.kind == SFSHM_PATTERN_INDEX32)
    place_as(root, bucket->leaf, SFSHM_PATTERN_INDEX32, shift, next, roots, leaves);
  else
    place_as(root, bucket->leaf, SFSHM_PATTERN_STRIDED, shift, next, roots, leaves);
}

sf_status_t sfc_edge_cluster_make(sfc_edge_bucket_t *bucket, sfc_edge_cluster_t *cluster_p)
{
  int64_t n = bucket->root.n;
  *cluster_p = (sfc_edge_cluster_t){.memory = NULL};
  int64_t root_max = is_wanted(bucket) ? sfshm_pattern_max(&bucket->root) : 0;
  if (root_max < MIN_SPAN)
    return SF_OK;
  int shift = find_shift(root_max, n);
  uint32_t *indices = malloc(2 * (size_t)n * sizeof *indices);
  if (indices == NULL)
    return sfshm_error(SF_ERR_NOMEM, "ordering %lld edges", (long long)n);
  place(bucket, shift, indices, indices + n);
  bucket->root = sfshm_pattern_from_index32(indices, n);
  bucket->leaf = sfshm_pattern_from_index32(indices + n, n);
  *cluster_p = (sfc_edge_cluster_t){.memory = indices, .shift = shift, .root_max = root_max};
  return SF_OK;
}

void sfc_edge_cluster_free(sfc_edge_cluster_t *cluster)
{
  free(cluster->memory);
  *cluster = (sfc_edge_cluster_t){.memory = NULL};
}
