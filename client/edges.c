/* Making edge lists: see edges.h. */
#include "client/edges.h"

#include <stdlib.h>
#include <string.h>

#include "client/sort.h"
#include "shm/error.h"

static inline int64_t leaf_at(const sfc_edge_input_t *input, int64_t i)
{
  if (input->leaf_index == NULL)
    return i;
  return input->wide ? ((const int64_t *)input->leaf_index)[i] : ((const int32_t *)input->leaf_index)[i];
}

static inline int64_t root_at(const sfc_edge_input_t *input, int64_t i)
{
  return input->wide ? ((const int64_t *)input->root_index)[i] : ((const int32_t *)input->root_index)[i];
}

/* What one pass over the input finds. */
typedef struct sfc_scan {
  bool bad;           /* some value is out of range */
  bool leaves_ascend; /* strictly: then they are distinct */
  int64_t leaf_max;
  int64_t root_max;
} sfc_scan_t;

static inline __attribute__((always_inline)) sfc_scan_t scan_as(sfc_edge_input_t input, int32_t size)
{
  sfc_scan_t scan = {.leaves_ascend = true, .leaf_max = -1, .root_max = -1};
  int64_t previous = -1, lowest = 0;
  for (int64_t i = 0; i < input.nleaves; i++) {
    int64_t leaf = leaf_at(&input, i), root = root_at(&input, i);
    scan.bad |= (uint32_t)input.root_rank[i] >= (uint32_t)size;
    lowest |= leaf | root; /* negative if one of them is */
    scan.leaves_ascend &= leaf > previous;
    previous = leaf;
    scan.leaf_max = leaf > scan.leaf_max ? leaf : scan.leaf_max;
    scan.root_max = root > scan.root_max ? root : scan.root_max;
  }
  scan.bad |= lowest < 0;
  return scan;
}

/* One loop for each width, so that none decides per element. */
static sfc_scan_t scan_input(const sfc_edge_input_t *input, int32_t size)
{
  sfc_edge_input_t form = *input;
  form.wide = true;
  if (input->wide)
    return scan_as(form, size);
  form.wide = false;
  return scan_as(form, size);
}

/* The error with the lowest leaf. */
static sf_status_t find_bad(const sfc_edge_input_t *input, int32_t size, int64_t *bad_leaf_p)
{
  int64_t worst = -1;
  for (int64_t i = 0; i < input->nleaves; i++) {
    bool bad = input->root_rank[i] < 0 || input->root_rank[i] >= size || root_at(input, i) < 0 || leaf_at(input, i) < 0;
    if (bad && (worst < 0 || leaf_at(input, i) < leaf_at(input, worst)))
      worst = i;
  }
  int64_t leaf = leaf_at(input, worst);
  *bad_leaf_p = leaf;
  if (leaf < 0)
    return sfshm_error(SF_ERR_RANGE, "leaf_index[%lld] is %lld", (long long)worst, (long long)leaf);
  if (root_at(input, worst) < 0)
    return sfshm_error(SF_ERR_RANGE, "root index %lld", (long long)root_at(input, worst));
  return sfshm_error(SF_ERR_RANGE, "root rank %d, but the group's ranks are 0..%d", input->root_rank[worst], size - 1);
}

static int compare_leaves(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static sf_status_t duplicate_error(int64_t leaf, int64_t *bad_leaf_p)
{
  *bad_leaf_p = leaf;
  return sfshm_error(SF_ERR_ARG, "two edges have the same leaf");
}

/* For leaf indices that are spread widely: sort a copy. */
static sf_status_t check_distinct_sparse(const sfc_edge_input_t *input, int64_t *bad_leaf_p)
{
  int64_t *leaves = malloc((size_t)input->nleaves * sizeof *leaves);
  if (leaves == NULL)
    return sfshm_error(SF_ERR_NOMEM, "checking %lld leaves", (long long)input->nleaves);
  for (int64_t i = 0; i < input->nleaves; i++)
    leaves[i] = leaf_at(input, i);
  qsort(leaves, (size_t)input->nleaves, sizeof *leaves, compare_leaves);
  sf_status_t status = SF_OK;
  for (int64_t i = 1; i < input->nleaves && status == SF_OK; i++)
    if (leaves[i] == leaves[i - 1])
      status = duplicate_error(leaves[i], bad_leaf_p);
  free(leaves);
  return status;
}

static sf_status_t check_distinct(const sfc_edge_input_t *input, const sfc_scan_t *scan, int64_t *bad_leaf_p)
{
  if (scan->leaves_ascend)
    return SF_OK;
  if (scan->leaf_max / 64 > input->nleaves)
    return check_distinct_sparse(input, bad_leaf_p);
  uint64_t *seen = calloc((size_t)scan->leaf_max / 64 + 1, sizeof *seen);
  if (seen == NULL)
    return sfshm_error(SF_ERR_NOMEM, "checking %lld leaves", (long long)input->nleaves);
  int64_t lowest = INT64_MAX;
  for (int64_t i = 0; i < input->nleaves; i++) {
    int64_t leaf = leaf_at(input, i);
    uint64_t bit = UINT64_C(1) << (leaf & 63);
    if ((seen[leaf >> 6] & bit) != 0 && leaf < lowest)
      lowest = leaf;
    seen[leaf >> 6] |= bit;
  }
  free(seen);
  return lowest == INT64_MAX ? SF_OK : duplicate_error(lowest, bad_leaf_p);
}

/* Scratch memory of the making of one list. */
typedef struct sfc_making {
  sfc_edge_t *edges; /* by rank, then sorted */
  sfc_edge_t *scratch;
  int64_t *start; /* by rank: first edge; size + 1 */
  int64_t *index; /* three arrays of nleaves: distinct roots, leaves, values */
  int64_t nleaves;
} sfc_making_t;

static void free_making(sfc_making_t *making)
{
  free(making->edges);
  free(making->scratch);
  free(making->start);
  free(making->index);
}

static sf_status_t alloc_making(sfc_making_t *making, int64_t nleaves, int32_t size)
{
  size_t n = (size_t)nleaves;
  *making = (sfc_making_t){.edges = malloc(n * sizeof(sfc_edge_t)),
                           .scratch = malloc(n * sizeof(sfc_edge_t)),
                           .start = calloc((size_t)size + 2, sizeof(int64_t)),
                           .index = malloc(3 * n * sizeof(int64_t)),
                           .nleaves = nleaves};
  if (making->edges != NULL && making->scratch != NULL && making->start != NULL && making->index != NULL)
    return SF_OK;
  free_making(making);
  return sfshm_error(SF_ERR_NOMEM, "sorting %zu edges", n);
}

/* Distributes the edges to their root ranks, keeping their order. */
static void bucket_by_rank(const sfc_edge_input_t *input, int32_t size, sfc_making_t *making)
{
  int64_t *next = making->start + 1; /* next[r]: where rank r's next edge goes; at the end start[r + 1] */
  for (int64_t i = 0; i < input->nleaves; i++)
    next[input->root_rank[i] + 1]++;
  for (int32_t r = 1; r <= size; r++)
    next[r] += next[r - 1];
  for (int64_t i = 0; i < input->nleaves; i++)
    making->edges[next[input->root_rank[i]]++] = (sfc_edge_t){root_at(input, i), leaf_at(input, i)};
}

/* The three patterns of a block, over the scratch arrays. */
static sfshm_edges_t describe(const sfc_making_t *making, int64_t first, int64_t n)
{
  const sfc_edge_t *edges = making->edges + first;
  int64_t *roots = making->index + first;
  int64_t *leaves = roots + making->nleaves;
  int64_t *values = leaves + making->nleaves;
  int64_t nvalues = 0;
  for (int64_t e = 0; e < n; e++) {
    if (e == 0 || edges[e].root != edges[e - 1].root)
      roots[nvalues++] = edges[e].root;
    leaves[e] = edges[e].leaf;
    values[e] = nvalues - 1;
  }
  return (sfshm_edges_t){.value_root = sfshm_pattern_from_index64(roots, nvalues),
                         .leaf = sfshm_pattern_from_index64(leaves, n),
                         .edge_value = sfshm_pattern_from_index64(values, nvalues == n ? 0 : n)};
}

/* Bytes of a pattern's index array in the list. */
static size_t stored_bytes(const sfshm_pattern_t *pattern)
{
  if (pattern->kind != SFSHM_PATTERN_INDEX64)
    return 0;
  size_t width = sfshm_pattern_max(pattern) <= UINT32_MAX ? sizeof(uint32_t) : sizeof(int64_t);
  return ((size_t)pattern->n * width + 63) / 64 * 64;
}

static void store(const sfshm_pattern_t *pattern, char *base, size_t *end, sfshm_stored_pattern_t *stored)
{
  *stored = (sfshm_stored_pattern_t){
      .kind = (uint32_t)pattern->kind, .n = pattern->n, .start = pattern->start, .stride = pattern->stride};
  if (pattern->kind != SFSHM_PATTERN_INDEX64)
    return;
  stored->offset = *end;
  if (sfshm_pattern_max(pattern) <= UINT32_MAX) {
    uint32_t *narrow = (uint32_t *)(void *)(base + *end);
    stored->kind = SFSHM_PATTERN_INDEX32;
    for (int64_t i = 0; i < pattern->n; i++)
      narrow[i] = (uint32_t)pattern->index64[i];
  } else {
    memcpy(base + *end, pattern->index64, (size_t)pattern->n * sizeof(int64_t));
  }
  *end += stored_bytes(pattern);
}

static sf_status_t write_region(const sfshm_edges_t blocks[], sfc_edge_list_t *list)
{
  size_t bytes = sizeof(sfshm_region_header_t) + (size_t)list->nparts * sizeof(sfshm_edge_block_t);
  size_t end = bytes;
  for (int32_t i = 0; i < list->nparts; i++)
    bytes += stored_bytes(&blocks[i].value_root) + stored_bytes(&blocks[i].leaf) + stored_bytes(&blocks[i].edge_value);
  sf_status_t status =
      sfshm_region_create("sf-edges", SFSHM_REGION_EDGES, bytes, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL, &list->region);
  if (status != SF_OK)
    return status;
  char *base = list->region.base;
  for (int32_t i = 0; i < list->nparts; i++) {
    sfshm_edge_block_t *block = (sfshm_edge_block_t *)(void *)(base + list->parts[i].offset);
    store(&blocks[i].value_root, base, &end, &block->value_root);
    store(&blocks[i].leaf, base, &end, &block->leaf);
    store(&blocks[i].edge_value, base, &end, &block->edge_value);
  }
  return sfshm_region_freeze(&list->region);
}

/* Sorts and describes each rank's edges, then writes them out. */
static sf_status_t make_blocks(sfc_making_t *making, int32_t size, const sfc_scan_t *scan, sfc_edge_list_t *list)
{
  int32_t nparts = 0;
  for (int32_t r = 0; r < size; r++)
    nparts += making->start[r + 1] > making->start[r];
  sfshm_edges_t *blocks = malloc((size_t)nparts * sizeof *blocks);
  list->parts = malloc((size_t)nparts * sizeof *list->parts);
  if (blocks == NULL || list->parts == NULL) {
    free(blocks);
    return sfshm_error(SF_ERR_NOMEM, "table of %d root ranks", nparts);
  }
  for (int32_t r = 0; r < size; r++) {
    int64_t first = making->start[r], n = making->start[r + 1] - first;
    if (n == 0)
      continue;
    sfc_sort_edges(making->edges + first, making->scratch, n, scan->root_max, scan->leaf_max);
    sfshm_edges_t *block = &blocks[list->nparts];
    *block = describe(making, first, n);
    list->parts[list->nparts] =
        (sfc_edge_part_t){.rank = r,
                          .offset = sizeof(sfshm_region_header_t) + (size_t)list->nparts * sizeof(sfshm_edge_block_t),
                          .nedges = n,
                          .nvalues = block->value_root.n};
    list->nparts++;
  }
  sf_status_t status = write_region(blocks, list);
  free(blocks);
  return status;
}

/* Root indices on the rank itself are its own to check. */
static sf_status_t check_own_roots(const sfc_edge_input_t *input, int32_t rank, int64_t *bad_leaf_p)
{
  int64_t bad = -1;
  for (int64_t i = 0; i < input->nleaves; i++)
    if (input->root_rank[i] == rank && root_at(input, i) >= input->nroots &&
        (bad < 0 || leaf_at(input, i) < leaf_at(input, bad)))
      bad = i;
  if (bad < 0)
    return SF_OK;
  *bad_leaf_p = leaf_at(input, bad);
  return sfshm_error(SF_ERR_RANGE, "root index %lld, but there are %lld roots", (long long)root_at(input, bad),
                     (long long)input->nroots);
}

sf_status_t sfc_edge_list_make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_edge_list_t *list_p,
                               int64_t *bad_leaf_p)
{
  sfc_making_t making;
  sfc_edge_list_t list = {.region = {.fd = -1}};
  *bad_leaf_p = -1;
  if (input->nleaves == 0) {
    *list_p = list;
    return SF_OK;
  }
  sfc_scan_t scan = scan_input(input, size);
  if (scan.bad)
    return find_bad(input, size, bad_leaf_p);
  sf_status_t status = check_distinct(input, &scan, bad_leaf_p);
  if (status == SF_OK && scan.root_max >= input->nroots)
    status = check_own_roots(input, rank, bad_leaf_p);
  if (status != SF_OK)
    return status;
  status = alloc_making(&making, input->nleaves, size);
  if (status != SF_OK)
    return status;
  bucket_by_rank(input, size, &making);
  status = make_blocks(&making, size, &scan, &list);
  free_making(&making);
  if (status != SF_OK) {
    sfc_edge_list_destroy(&list);
    return status;
  }
  *list_p = list;
  return SF_OK;
}

void sfc_edge_list_destroy(sfc_edge_list_t *list)
{
  sfshm_region_destroy(&list->region);
  free(list->parts);
  *list = (sfc_edge_list_t){.region = {.fd = -1}};
}
