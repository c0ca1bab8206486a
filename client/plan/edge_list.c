/* Makes edge lists: see edge_list.h. */
#include "client/plan/edge_list.h"

#include <stdlib.h>
#include <string.h>

#include "client/plan/edge_duplicates.h"
#include "client/plan/edge_locality.h"
#include "shm/base/error.h"
#include "shm/edges/repeats.h"

/* ---- Bad input ---- */

static int64_t leaf_at(const sfc_edge_input_t *input, int64_t i)
{
  if (input->leaf_index == NULL)
    return i;
  return input->wide ? ((const int64_t *)input->leaf_index)[i] : ((const int32_t *)input->leaf_index)[i];
}

static int64_t root_at(const sfc_edge_input_t *input, int64_t i)
{
  return input->wide ? ((const int64_t *)input->root_index)[i] : ((const int32_t *)input->root_index)[i];
}

/* Returns the error with the lowest leaf. */
static sf_status_t find_bad(const sfc_edge_input_t *input, int32_t size, int64_t *bad_leaf_p)
{
  int64_t worst = -1;
  for (int64_t i = 0; i < input->nleaves; i++) {
    bool bad = input->root_rank[i] < 0 || input->root_rank[i] >= size || root_at(input, i) < 0 || leaf_at(input, i) < 0;
    if (bad && (worst < 0 || leaf_at(input, i) < leaf_at(input, worst)))
      worst = i;
  }
  if (worst < 0)
    return sfshm_error(SF_ERR_RANGE, "the edges were changed by another thread");
  int64_t leaf = leaf_at(input, worst);
  *bad_leaf_p = leaf;
  if (leaf < 0)
    return sfshm_error(SF_ERR_RANGE, "leaf_index[%lld] is %lld", (long long)worst, (long long)leaf);
  if (root_at(input, worst) < 0)
    return sfshm_error(SF_ERR_RANGE, "root index %lld", (long long)root_at(input, worst));
  return sfshm_error(SF_ERR_RANGE, "root rank %d, but the group's ranks are 0..%d", input->root_rank[worst], size - 1);
}

static sf_status_t check_distinct(const sfc_edge_buckets_t *buckets, int64_t *bad_leaf_p)
{
  sfshm_repeats_t repeats = {.n = 0};
  if (buckets->leaves_ascend)
    return SF_OK;
  sf_status_t status = sfshm_repeats_find(&buckets->leaf, &repeats);
  if (repeats.n > 0) {
    *bad_leaf_p = repeats.places[0].key;
    status = sfshm_error(SF_ERR_ARG, "two edges have the same leaf");
  }
  sfshm_repeats_free(&repeats);
  return status;
}

/* Checks root indices on this rank. */
static sf_status_t check_own_roots(const sfc_edge_input_t *input, const sfc_edge_bucket_t *own, int64_t *bad_leaf_p)
{
  int64_t bad_root = -1, bad_leaf = -1;
  if (sfshm_pattern_max(&own->root) < input->nroots)
    return SF_OK;
  for (int64_t i = 0; i < own->root.n; i++) {
    int64_t root = sfshm_pattern_at(&own->root, i), leaf = sfshm_pattern_at(&own->leaf, i);
    if (root >= input->nroots && (bad_leaf < 0 || leaf < bad_leaf)) {
      bad_root = root;
      bad_leaf = leaf;
    }
  }
  *bad_leaf_p = bad_leaf;
  return sfshm_error(SF_ERR_RANGE, "root index %lld, but there are %lld roots", (long long)bad_root,
                     (long long)input->nroots);
}

static sf_status_t check(const sfc_edge_input_t *input, const sfc_edge_buckets_t *buckets, int32_t rank,
                         int64_t *bad_leaf_p)
{
  sf_status_t status = check_distinct(buckets, bad_leaf_p);
  for (int32_t i = 0; i < buckets->n && status == SF_OK; i++)
    if (buckets->bucket[i].rank == rank)
      status = check_own_roots(input, &buckets->bucket[i], bad_leaf_p);
  return status;
}

/* ---- The list ---- */

/* A list being made. */
typedef struct sfc_making {
  sfc_edge_buckets_t buckets;
  sfc_edge_duplicates_t *extras; /* by bucket */
  sfc_edge_cluster_t *clusters;
  char *image;
  size_t length_bytes;
} sfc_edge_list_draft_t;

static void free_making(sfc_edge_list_draft_t *making)
{
  for (int32_t i = 0; making->extras != NULL && i < making->buckets.n; i++)
    sfc_edge_duplicates_free(&making->extras[i]);
  for (int32_t i = 0; making->clusters != NULL && i < making->buckets.n; i++)
    sfc_edge_cluster_free(&making->clusters[i]);
  free(making->extras);
  free(making->clusters);
  free(making->image);
  sfc_edge_buckets_free(&making->buckets);
}

static bool is_array(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_INDEX32 || pattern->kind == SFSHM_PATTERN_INDEX64;
}

/* Whether the indices need 64 bits. */
static bool needs_wide(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_INDEX64 && sfshm_pattern_max(pattern) > UINT32_MAX;
}

static sfshm_stored_pattern_t store_line(const sfshm_pattern_t *pattern)
{
  return (sfshm_stored_pattern_t){
      .kind = (uint32_t)pattern->kind, .n = pattern->n, .start = pattern->start, .stride = pattern->stride};
}

/* Appends n indices, without those in left_out. Padding is zeroed: the list leaves the process. */
static sfshm_stored_pattern_t store_array(sfc_edge_list_draft_t *making, const sfshm_pattern_t *pattern,
                                          const uint64_t left_out[], int64_t n)
{
  bool wide = needs_wide(pattern);
  size_t bytes = sfc_edge_list_array_bytes(n, wide), used = (size_t)n * (wide ? sizeof(int64_t) : sizeof(uint32_t));
  char *array = making->image + making->length_bytes;
  sfshm_stored_pattern_t stored = {
      .kind = wide ? SFSHM_PATTERN_INDEX64 : SFSHM_PATTERN_INDEX32, .n = n, .offset = making->length_bytes};
  sfshm_pattern_copy(pattern, left_out, wide, array);
  memset(array + used, 0, bytes - used);
  making->length_bytes += bytes;
  return stored;
}

static sfshm_stored_pattern_t store(sfc_edge_list_draft_t *making, const sfshm_pattern_t *pattern)
{
  return is_array(pattern) ? store_array(making, pattern, NULL, pattern->n) : store_line(pattern);
}

/* The leaves of a clustered bucket in the plan's order: first those that carry values, then extra ones. */
static sfshm_stored_pattern_t store_arranged(sfc_edge_list_draft_t *making, const sfc_edge_bucket_t *bucket,
                                             const sfc_edge_duplicates_t *extras)
{
  sfshm_stored_pattern_t stored = store_array(making, &bucket->leaf, extras->set, bucket->leaf.n - extras->n);
  uint32_t *leaf = (uint32_t *)(void *)(making->image + stored.offset) + stored.n;
  for (int64_t e = 0; e < extras->n; e++)
    leaf[e] = (uint32_t)sfshm_pattern_at(&bucket->leaf, extras->edge[e]);
  stored.n = bucket->leaf.n;
  making->length_bytes = stored.offset + sfc_edge_list_array_bytes(stored.n, false);
  memset(leaf + extras->n, 0, making->length_bytes - stored.offset - (size_t)stored.n * sizeof *leaf);
  return stored;
}

static sfshm_edge_block_t store_block(sfc_edge_list_draft_t *making, int32_t i)
{
  const sfc_edge_bucket_t *bucket = &making->buckets.bucket[i];
  const sfc_edge_duplicates_t *extras = &making->extras[i];
  sfshm_pattern_t value = sfshm_pattern_from_index64(extras->value, extras->n);
  sfshm_pattern_t edge = sfshm_pattern_from_index64(extras->edge, extras->n);
  bool arranged = extras->n > 0 && making->clusters[i].memory != NULL && bucket->leaf.kind == SFSHM_PATTERN_INDEX32;
  sfshm_edge_block_t block;
  if (extras->n > 0)
    block.value_root = store_array(making, &bucket->root, extras->set, bucket->root.n - extras->n);
  else
    block.value_root = store(making, &bucket->root);
  block.extra_value = store(making, &value);
  if (arranged)
    edge = sfshm_pattern_contiguous(block.value_root.n, extras->n);
  block.extra_edge = store(making, &edge);
  block.leaf = arranged ? store_arranged(making, bucket, extras) : store(making, &bucket->leaf);
  return block;
}

/* Upper bound of the list's length, with space for what sfshm_pattern_copy may write behind an array. */
static size_t longest_list(const sfc_edge_list_draft_t *making)
{
  size_t bytes = sizeof(sfshm_region_header_t) + 2 * SFC_EDGE_LIST_ALIGN;
  for (int32_t i = 0; i < making->buckets.n; i++) {
    const sfc_edge_bucket_t *bucket = &making->buckets.bucket[i];
    int64_t nextra = making->extras[i].n;
    bytes += sizeof(sfshm_edge_block_t) + 2 * sfc_edge_list_array_bytes(nextra, bucket->root.n > UINT32_MAX);
    bytes +=
        is_array(&bucket->root) ? sfc_edge_list_array_bytes(bucket->root.n - nextra, needs_wide(&bucket->root)) : 0;
    bytes += is_array(&bucket->leaf) ? sfc_edge_list_array_bytes(bucket->leaf.n, needs_wide(&bucket->leaf)) : 0;
  }
  return bytes;
}

/* Offset of the first array. */
static size_t blocks_end(const sfc_edge_list_draft_t *making)
{
  size_t end = sizeof(sfshm_region_header_t) + (size_t)making->buckets.n * sizeof(sfshm_edge_block_t);
  return sfc_edge_list_aligned(end);
}

/* Writes blocks, then their arrays. */
static sf_status_t lay_out(sfc_edge_list_draft_t *making, sfc_edge_list_t *list)
{
  size_t offset = sizeof(sfshm_region_header_t);
  size_t room = longest_list(making);
  making->image = aligned_alloc(SFC_EDGE_LIST_ALIGN, sfc_edge_list_aligned(room));
  if (making->image == NULL)
    return sfshm_error(SF_ERR_NOMEM, "edge list of %zu bytes", room);
  making->length_bytes = blocks_end(making);
  memset(making->image, 0, making->length_bytes);
  for (int32_t i = 0; i < making->buckets.n; i++, offset += sizeof(sfshm_edge_block_t)) {
    const sfc_edge_bucket_t *bucket = &making->buckets.bucket[i];
    size_t arrays = making->length_bytes;
    sfshm_edge_block_t block = store_block(making, i);
    memcpy(making->image + offset, &block, sizeof block);
    list->parts[i] = (sfc_edge_part_t){.rank = bucket->rank,
                                       .offset = offset,
                                       .nedges = block.leaf.n,
                                       .nvalues = block.value_root.n,
                                       .arrays = arrays,
                                       .arrays_bytes = making->length_bytes - arrays,
                                       .block = block};
    list->nparts++;
    sf_status_t status = sfshm_edges_open_own(making->image, &block, &list->parts[i].edges);
    if (status != SF_OK)
      return status;
    list->parts[i].root_max = list->parts[i].edges.roots.max;
  }
  list->image = making->image;
  list->length_bytes = making->length_bytes;
  list->has_arrays = making->length_bytes > blocks_end(making);
  making->image = NULL;
  return SF_OK;
}

static sf_status_t make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_edge_list_draft_t *making,
                        sfc_edge_list_t *list, int64_t *bad_leaf_p)
{
  sfc_edge_buckets_t *buckets = &making->buckets;
  sf_status_t status = sfc_edge_buckets_make(input, size, buckets);
  if (status == SF_ERR_RANGE)
    return find_bad(input, size, bad_leaf_p);
  if (status == SF_OK)
    status = check(input, buckets, rank, bad_leaf_p);
  if (status != SF_OK)
    return status;
  making->extras = calloc((size_t)buckets->n, sizeof *making->extras);
  making->clusters = calloc((size_t)buckets->n, sizeof *making->clusters);
  list->parts = malloc((size_t)buckets->n * sizeof *list->parts);
  if (making->extras == NULL || making->clusters == NULL || list->parts == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d root ranks", buckets->n);
  for (int32_t i = 0; i < buckets->n && status == SF_OK; i++) {
    status = sfc_edge_cluster_make(&buckets->bucket[i], &making->clusters[i]);
    if (status == SF_OK)
      status = sfc_edge_duplicates_find(&buckets->bucket[i], &making->clusters[i], buckets->leaves_ascend,
                                        &making->extras[i]);
  }
  return status == SF_OK ? lay_out(making, list) : status;
}

/* Extra edges to one root are consecutive. */
static void find_top(const sfc_edge_part_t *part, sfc_top_root_t *top)
{
  const sfshm_pattern_t *values = &part->edges.extra_value;
  bool short_indices = values->kind == SFSHM_PATTERN_INDEX32;
  int64_t run = 0, longest = 0, value = 0, before = -1;
  for (int64_t i = 0; i < values->n; i++) {
    int64_t next = short_indices ? values->index32[i] : sfshm_pattern_at(values, i);
    run = next == before ? run + 1 : 1;
    before = next;
    if (run > longest) {
      longest = run;
      value = next;
    }
  }
  if (part->nedges > 0 && longest + 1 > top->nleaves)
    *top = (sfc_top_root_t){part->rank, sfshm_pattern_at(&part->edges.value_root, value), longest + 1};
}

sf_status_t sfc_edge_list_make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_edge_list_t *list_p,
                               int64_t *bad_leaf_p)
{
  sfc_edge_list_draft_t making = {.image = NULL};
  sfc_edge_list_t list = {.region = {.fd = -1}};
  sf_status_t status = SF_OK;
  *bad_leaf_p = -1;
  if (input->nleaves > 0)
    status = make(input, rank, size, &making, &list, bad_leaf_p);
  free_making(&making);
  for (int32_t i = 0; i < list.nparts && status == SF_OK; i++)
    find_top(&list.parts[i], &list.top);
  if (status != SF_OK) {
    sfc_edge_list_destroy(&list);
    return status;
  }
  *list_p = list;
  return SF_OK;
}

/* A list without arrays need not be mapped: the open parts hold everything. */
sf_status_t sfc_edge_list_seal(sfc_edge_list_t *list)
{
  sf_status_t status = SF_OK;
  if (list->image == NULL)
    return SF_OK;
  if (!list->has_arrays)
    return sfshm_region_freeze("sf-edges", SFSHM_REGION_EDGES, list->image, list->length_bytes, &list->region);
  status = sfshm_region_publish("sf-edges", SFSHM_REGION_EDGES, list->image, list->length_bytes, &list->region);
  for (int32_t i = 0; i < list->nparts && status == SF_OK; i++)
    sfshm_edges_move(&list->parts[i].edges, list->image, list->region.base);
  if (status == SF_OK) {
    free(list->image);
    list->image = NULL;
  }
  return status;
}

static void move_array(sfshm_stored_pattern_t *stored, size_t from, size_t to)
{
  if (stored->kind == SFSHM_PATTERN_INDEX32 || stored->kind == SFSHM_PATTERN_INDEX64)
    stored->offset = stored->offset - from + to;
}

size_t sfc_edge_list_write_part(const sfc_edge_list_t *list, int32_t part, char *to)
{
  const sfc_edge_part_t *from = &list->parts[part];
  const size_t arrays = sfc_edge_list_aligned(sizeof(sfshm_edge_block_t));
  if (to == NULL)
    return arrays + from->arrays_bytes;
  sfshm_edge_block_t block = from->block;
  move_array(&block.value_root, from->arrays, arrays);
  move_array(&block.leaf, from->arrays, arrays);
  move_array(&block.extra_value, from->arrays, arrays);
  move_array(&block.extra_edge, from->arrays, arrays);
  memset(to, 0, arrays);
  memcpy(to, &block, sizeof block);
  memcpy(to + arrays, list->image + from->arrays, from->arrays_bytes);
  return arrays + from->arrays_bytes;
}

void sfc_edge_list_destroy(sfc_edge_list_t *list)
{
  sfshm_region_destroy(&list->region);
  free(list->image);
  for (int32_t i = 0; i < list->nparts; i++)
    sfshm_edges_close(&list->parts[i].edges);
  free(list->parts);
  *list = (sfc_edge_list_t){.region = {.fd = -1}};
}
