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

/* Also counts the edges to each rank, a run of equal ranks at a time. */
static inline __attribute__((always_inline)) sfc_scan_t scan_as(sfc_edge_input_t input, int32_t size, int64_t count[])
{
  sfc_scan_t scan = {.leaves_ascend = true, .leaf_max = -1, .root_max = -1};
  int64_t previous = -1, lowest = 0, run = 0;
  int32_t run_rank = 0;
  for (int64_t i = 0; i < input.nleaves; i++) {
    int64_t leaf = leaf_at(&input, i), root = root_at(&input, i);
    if (input.root_rank[i] != run_rank) {
      if (input.root_rank[i] < 0 || input.root_rank[i] >= size) {
        scan.bad = true;
        return scan;
      }
      count[run_rank] += run;
      run_rank = input.root_rank[i];
      run = 0;
    }
    run++;
    lowest |= leaf | root; /* negative if one of them is */
    scan.leaves_ascend &= leaf > previous;
    previous = leaf;
    scan.leaf_max = leaf > scan.leaf_max ? leaf : scan.leaf_max;
    scan.root_max = root > scan.root_max ? root : scan.root_max;
  }
  count[run_rank] += run;
  scan.bad = lowest < 0;
  return scan;
}

/* One loop for each form, so that none decides per element. */
static sfc_scan_t scan_input(const sfc_edge_input_t *input, int32_t size, int64_t count[])
{
  sfc_edge_input_t form = *input;
  if (input->leaf_index == NULL) {
    form.leaf_index = NULL;
    form.wide = true;
    if (input->wide)
      return scan_as(form, size, count);
    form.wide = false;
    return scan_as(form, size, count);
  }
  form.wide = true;
  if (input->wide)
    return scan_as(form, size, count);
  form.wide = false;
  return scan_as(form, size, count);
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

/* The making of one list. */
typedef struct sfc_making {
  sfc_scan_t scan;
  int64_t *start; /* by rank: first edge; size + 1 entries, and one for counting */
  int64_t *root;  /* by rank, each rank's edges as they were given */
  int64_t *leaf;
  uint64_t *seen; /* set of roots, empty between ranks; NULL until it is needed */
  sfshm_edges_t *blocks;
  int64_t **extra; /* by block: values of extra edges; NULL: none */
} sfc_making_t;

static void free_making(sfc_making_t *making, int32_t nblocks)
{
  for (int32_t i = 0; making->extra != NULL && i < nblocks; i++)
    free(making->extra[i]);
  free(making->extra);
  free(making->start);
  free(making->root);
  free(making->seen);
  free(making->blocks);
}

static inline __attribute__((always_inline)) void bucket_as(sfc_edge_input_t input, int64_t next[],
                                                            const sfc_making_t *making)
{
  for (int64_t i = 0; i < input.nleaves;) {
    int32_t rank = input.root_rank[i];
    int64_t to = next[rank];
    for (; i < input.nleaves && input.root_rank[i] == rank; i++, to++) {
      making->root[to] = root_at(&input, i);
      making->leaf[to] = leaf_at(&input, i);
    }
    next[rank] = to;
  }
}

/* Distributes the edges to their root ranks, keeping their order. start holds the counts, shifted by two. */
static void bucket_by_rank(const sfc_edge_input_t *input, int32_t size, sfc_making_t *making)
{
  int64_t *next = making->start + 1; /* next[r]: where rank r's next edge goes; at the end start[r + 1] */
  for (int32_t r = 1; r <= size; r++)
    next[r] += next[r - 1];
  sfc_edge_input_t form = *input;
  form.wide = true;
  if (input->wide) {
    bucket_as(form, next, making);
  } else {
    form.wide = false;
    bucket_as(form, next, making);
  }
}

static bool ascends(const int64_t index[], int64_t n)
{
  uint64_t bad = 0; /* collected without a branch, so that the loop vectorises */
  for (int64_t i = 1; i < n; i++)
    bad |= (uint64_t)(index[i - 1] >= index[i]);
  return bad == 0;
}

static inline bool contains(const uint64_t set[], int64_t root)
{
  return (set[root >> 6] >> (root & 63) & 1) != 0;
}

/* Counts the edges to roots that an edge before them leads to; the set then holds all roots. */
static int64_t count_extras(uint64_t seen[], const int64_t root[], int64_t n)
{
  int64_t nextra = 0;
  for (int64_t i = 0; i < n; i++) {
    nextra += contains(seen, root[i]);
    seen[root[i] >> 6] |= UINT64_C(1) << (root[i] & 63);
  }
  return nextra;
}

static void clear(uint64_t seen[], const int64_t root[], int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    seen[root[i] >> 6] = 0;
}

/* Moves the first edge to each root to the front, in their order, and the others to extra. The set is empty, and empty
 * again afterwards. */
static int64_t part_with_set(uint64_t seen[], int64_t root[], int64_t leaf[], int64_t n, sfc_edge_t extra[])
{
  int64_t nvalues = 0;
  for (int64_t i = 0; i < n; i++) {
    if (contains(seen, root[i])) {
      extra[i - nvalues] = (sfc_edge_t){root[i], leaf[i]};
      continue;
    }
    seen[root[i] >> 6] |= UINT64_C(1) << (root[i] & 63);
    root[nvalues] = root[i];
    leaf[nvalues++] = leaf[i];
  }
  clear(seen, root, nvalues);
  return nvalues;
}

/* The values with extra edges, as (root, value). The set is empty before and after. */
static int64_t pick_shared(uint64_t seen[], const int64_t root[], int64_t nvalues, const sfc_edge_t extra[],
                           int64_t nextra, sfc_edge_t picked[])
{
  int64_t n = 0;
  for (int64_t e = 0; e < nextra; e++)
    seen[extra[e].root >> 6] |= UINT64_C(1) << (extra[e].root & 63);
  for (int64_t i = 0; i < nvalues; i++)
    if (contains(seen, root[i]))
      picked[n++] = (sfc_edge_t){root[i], i};
  for (int64_t e = 0; e < nextra; e++)
    seen[extra[e].root >> 6] = 0;
  return n;
}

/* The same by sorting, for sparse roots or leaves in disorder: values are then in the order of their roots. */
static int64_t part_by_sorting(const sfc_scan_t *scan, int64_t root[], int64_t leaf[], int64_t n, sfc_edge_t edges[],
                               sfc_edge_t scratch[])
{
  int64_t nvalues = 0;
  for (int64_t i = 0; i < n; i++)
    edges[i] = (sfc_edge_t){root[i], leaf[i]};
  sfc_sort_edges(edges, scratch, n, scan->root_max, scan->leaf_max);
  for (int64_t i = 0; i < n; i++) {
    if (nvalues > 0 && edges[i].root == root[nvalues - 1]) {
      edges[i - nvalues] = edges[i];
    } else {
      root[nvalues] = edges[i].root;
      leaf[nvalues++] = edges[i].leaf;
    }
  }
  return nvalues;
}

/* Puts the values in place of the roots in the extra edges, and these in the order of (value, leaf). picked holds
 * (root, value) of all that occur. */
static void number_extras(const sfc_scan_t *scan, sfc_edge_t picked[], int64_t npicked, sfc_edge_t extra[],
                          int64_t nextra, int64_t nvalues, sfc_edge_t scratch[])
{
  int64_t v = 0;
  sfc_sort_edges(picked, scratch, npicked, scan->root_max, nvalues);
  sfc_sort_edges(extra, scratch, nextra, scan->root_max, scan->leaf_max);
  for (int64_t e = 0; e < nextra; e++) {
    while (picked[v].root != extra[e].root)
      v++;
    extra[e].root = picked[v].leaf;
  }
  sfc_sort_edges(extra, scratch, nextra, nvalues, scan->leaf_max);
}

/* Puts the edges of a rank some of whose roots have several leaves in the order that shm/edges.h demands. *extra_p: the
 * values of the extra edges. */
static sf_status_t set_extras_apart(sfc_making_t *making, int64_t root[], int64_t leaf[], int64_t n, bool use_set,
                                    int64_t *nvalues_p, int64_t **extra_p)
{
  sfc_edge_t *extra = malloc(3 * (size_t)n * sizeof *extra);
  if (extra == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sorting %lld edges", (long long)n);
  sfc_edge_t *picked = extra + n, *scratch = picked + n;
  int64_t npicked = 0;
  int64_t nvalues = use_set ? part_with_set(making->seen, root, leaf, n, extra)
                            : part_by_sorting(&making->scan, root, leaf, n, extra, scratch);
  int64_t nextra = n - nvalues;
  if (use_set) {
    npicked = pick_shared(making->seen, root, nvalues, extra, nextra, picked);
  } else {
    for (; npicked < nvalues; npicked++)
      picked[npicked] = (sfc_edge_t){root[npicked], npicked};
  }
  number_extras(&making->scan, picked, npicked, extra, nextra, nvalues, scratch);
  int64_t *values = malloc((size_t)nextra * sizeof *values + 1);
  if (values != NULL) {
    for (int64_t e = 0; e < nextra; e++) {
      values[e] = extra[e].root;
      leaf[nvalues + e] = extra[e].leaf;
    }
  }
  free(extra);
  *nvalues_p = nvalues;
  *extra_p = values;
  return values != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "%lld extra edges", (long long)nextra);
}

/* Looks for roots with several leaves, and sets their extra edges apart. A set of bits serves if it is not larger than
 * 32 bytes an edge, and if edges that come first have the lower leaves. */
static sf_status_t find_extras(sfc_making_t *making, int64_t root[], int64_t leaf[], int64_t n, int64_t *nvalues_p,
                               int64_t **extra_p)
{
  const sfc_scan_t *scan = &making->scan;
  *nvalues_p = n;
  *extra_p = NULL;
  if (ascends(root, n))
    return SF_OK;
  if (!scan->leaves_ascend || scan->root_max / 256 > n)
    return set_extras_apart(making, root, leaf, n, false, nvalues_p, extra_p);
  if (making->seen == NULL)
    making->seen = calloc((size_t)scan->root_max / 64 + 1, sizeof *making->seen);
  if (making->seen == NULL)
    return sfshm_error(SF_ERR_NOMEM, "looking for roots with several leaves");
  int64_t nextra = count_extras(making->seen, root, n);
  clear(making->seen, root, n);
  return nextra == 0 ? SF_OK : set_extras_apart(making, root, leaf, n, true, nvalues_p, extra_p);
}

/* The three patterns of one rank's edges. */
static sf_status_t describe(sfc_making_t *making, int64_t first, int64_t n, sfshm_edges_t *block, int64_t **extra_p)
{
  int64_t nvalues;
  sf_status_t status = find_extras(making, making->root + first, making->leaf + first, n, &nvalues, extra_p);
  if (status != SF_OK)
    return status;
  *block = (sfshm_edges_t){.value_root = sfshm_pattern_from_index64(making->root + first, nvalues),
                           .leaf = sfshm_pattern_from_index64(making->leaf + first, n)};
  if (nvalues != n)
    block->extra_value = sfshm_pattern_from_index64(*extra_p, n - nvalues);
  block->roots = sfshm_pattern_survey(&block->value_root);
  block->leaves = sfshm_pattern_survey(&block->leaf);
  return SF_OK;
}

/* Bytes of a pattern's index array in the list, which are as narrow as its highest index allows. */
static size_t stored_bytes(const sfshm_pattern_t *pattern, int64_t max)
{
  if (pattern->kind != SFSHM_PATTERN_INDEX64)
    return 0;
  size_t width = max <= UINT32_MAX ? sizeof(uint32_t) : sizeof(int64_t);
  return ((size_t)pattern->n * width + 63) / 64 * 64;
}

static void store(const sfshm_pattern_t *pattern, int64_t max, char *image, size_t *end, sfshm_stored_pattern_t *stored)
{
  *stored = (sfshm_stored_pattern_t){
      .kind = (uint32_t)pattern->kind, .n = pattern->n, .start = pattern->start, .stride = pattern->stride};
  if (pattern->kind != SFSHM_PATTERN_INDEX64)
    return;
  size_t bytes = stored_bytes(pattern, max);
  memset(image + *end + bytes - 64, 0, 64); /* what lies behind the array must not be other memory of this process */
  stored->offset = *end;
  if (max <= UINT32_MAX) {
    uint32_t *narrow = (uint32_t *)(void *)(image + *end);
    stored->kind = SFSHM_PATTERN_INDEX32;
    for (int64_t i = 0; i < pattern->n; i++)
      narrow[i] = (uint32_t)pattern->index64[i];
  } else {
    memcpy(image + *end, pattern->index64, (size_t)pattern->n * sizeof(int64_t));
  }
  *end += bytes;
}

/* Lays the blocks and then their arrays out in memory, and publishes that. */
static sf_status_t publish(const sfshm_edges_t blocks[], sfc_edge_list_t *list)
{
  size_t bytes = sizeof(sfshm_region_header_t) + (size_t)list->nparts * sizeof(sfshm_edge_block_t);
  size_t end = bytes;
  for (int32_t i = 0; i < list->nparts; i++)
    bytes += stored_bytes(&blocks[i].value_root, blocks[i].roots.max) +
             stored_bytes(&blocks[i].leaf, blocks[i].leaves.max) +
             stored_bytes(&blocks[i].extra_value, list->parts[i].nvalues);
  char *image = aligned_alloc(128, (bytes + 127) / 128 * 128);
  if (image == NULL)
    return sfshm_error(SF_ERR_NOMEM, "edge list of %zu bytes", bytes);
  memset(image, 0, sizeof(sfshm_region_header_t));
  for (int32_t i = 0; i < list->nparts; i++) {
    sfshm_edge_block_t block = {.reserved = 0};
    store(&blocks[i].value_root, blocks[i].roots.max, image, &end, &block.value_root);
    store(&blocks[i].leaf, blocks[i].leaves.max, image, &end, &block.leaf);
    store(&blocks[i].extra_value, list->parts[i].nvalues, image, &end, &block.extra_value);
    memcpy(image + list->parts[i].offset, &block, sizeof block);
  }
  sf_status_t status = sfshm_region_publish("sf-edges", SFSHM_REGION_EDGES, image, bytes, &list->region);
  free(image);
  return status;
}

static sf_status_t make_blocks(sfc_making_t *making, int32_t size, sfc_edge_list_t *list)
{
  size_t nparts = 0;
  for (int32_t r = 0; r < size; r++)
    nparts += making->start[r + 1] > making->start[r];
  making->blocks = calloc(nparts, sizeof *making->blocks);
  making->extra = calloc(nparts + 1, sizeof *making->extra); /* one more: see sfc_edge_list_make */
  list->parts = malloc(nparts * sizeof *list->parts);
  if (making->blocks == NULL || making->extra == NULL || list->parts == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %zu root ranks", nparts);
  for (int32_t r = 0; r < size; r++) {
    int64_t first = making->start[r], n = making->start[r + 1] - first;
    if (n == 0)
      continue;
    int32_t i = list->nparts;
    sf_status_t status = describe(making, first, n, &making->blocks[i], &making->extra[i]);
    if (status != SF_OK)
      return status;
    list->parts[i] = (sfc_edge_part_t){.rank = r,
                                       .offset = sizeof(sfshm_region_header_t) + (size_t)i * sizeof(sfshm_edge_block_t),
                                       .nedges = n,
                                       .nvalues = making->blocks[i].value_root.n,
                                       .root_max = sfshm_pattern_max(&making->blocks[i].value_root)};
    list->nparts++;
  }
  return publish(making->blocks, list);
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

/* Checks the input and fills the list in. */
static sf_status_t make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_making_t *making,
                        sfc_edge_list_t *list, int64_t *bad_leaf_p)
{
  making->start = calloc((size_t)size + 2, sizeof *making->start);
  if (making->start == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d ranks", size);
  making->scan = scan_input(input, size, making->start + 2);
  if (making->scan.bad)
    return find_bad(input, size, bad_leaf_p);
  sf_status_t status = check_distinct(input, &making->scan, bad_leaf_p);
  if (status == SF_OK && making->scan.root_max >= input->nroots)
    status = check_own_roots(input, rank, bad_leaf_p);
  if (status != SF_OK)
    return status;
  making->root = malloc(2 * (size_t)input->nleaves * sizeof *making->root);
  if (making->root == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sorting %lld edges", (long long)input->nleaves);
  making->leaf = making->root + input->nleaves;
  bucket_by_rank(input, size, making);
  return make_blocks(making, size, list);
}

sf_status_t sfc_edge_list_make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_edge_list_t *list_p,
                               int64_t *bad_leaf_p)
{
  sfc_making_t making = {.start = NULL};
  sfc_edge_list_t list = {.region = {.fd = -1}};
  sf_status_t status = SF_OK;
  *bad_leaf_p = -1;
  if (input->nleaves > 0)
    status = make(input, rank, size, &making, &list, bad_leaf_p);
  free_making(&making, list.nparts + 1); /* also that of the block that could not be finished */
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
