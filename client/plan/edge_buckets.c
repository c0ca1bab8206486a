/* Distributes edges to their root ranks: see edge_buckets.h. If the edges to each rank are consecutive the
 * application's array serves. */
#include "client/plan/edge_buckets.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/clones.h"
#include "shm/base/equal_run.h"
#include "shm/base/error.h"

#if defined(__GNUC__) && !defined(__clang__)
/* -O2 does not vectorise loops of unknown length. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

#define TRIAL 256 /* edges examined before judging the length of runs */

/* ---- Ranks ---- */

/* Whether runs of equal ranks are too short to be worth finding. */
static inline bool are_short(int64_t nruns, int64_t nedges)
{
  return nruns > nedges / 8;
}

/* Distribution of the edges over ranks, by rank. */
typedef struct sfc_spread {
  int64_t *count;
  int64_t *first; /* first edge of the rank: in the input if together, else in the output */
  int64_t nranks; /* with edges */
  int64_t nruns;
  bool together; /* the edges of each rank are consecutive */
} sfc_spread_t;

/* Counts edge by edge, where runs are short: each edge counts as a run; first[] is not set. */
static bool count_singly(const int32_t root_rank[], int64_t first, int64_t n, int32_t size, sfc_spread_t *spread)
{
  for (int64_t i = first; i < n; i++) {
    if ((uint32_t)root_rank[i] >= (uint32_t)size)
      return false;
    spread->count[root_rank[i]]++;
  }
  for (int32_t r = 0; r < size; r++)
    spread->nranks += spread->count[r] > 0;
  spread->nruns += n - first;
  return true;
}

static bool count_ranks(const sfc_edge_input_t *input, int32_t size, sfc_spread_t *spread)
{
  for (int64_t i = 0, end; i < input->nleaves; i = end) {
    if (i >= TRIAL && are_short(spread->nruns, i)) {
      spread->nranks = 0;
      return count_singly(input->root_rank, i, input->nleaves, size, spread);
    }
    int32_t rank = input->root_rank[i];
    if (rank < 0 || rank >= size)
      return false;
    end = sfshm_run_end(input->root_rank, i, input->nleaves);
    if (spread->count[rank] == 0) {
      spread->first[rank] = i;
      spread->nranks++;
    }
    spread->count[rank] += end - i;
    spread->nruns++;
  }
  spread->together = spread->nruns == spread->nranks;
  return true;
}

/* ---- Indices ---- */

SFSHM_CLONES static uint32_t bits_of32(const uint32_t index[], int64_t n)
{
  uint32_t bits = 0;
  for (int64_t i = 0; i < n; i++)
    bits |= index[i];
  return bits;
}

/* Also copies the lower halves of the indices. */
SFSHM_CLONES static uint64_t bits_of64(const int64_t index[], int64_t n, uint32_t narrow[])
{
  uint64_t bits = 0;
  for (int64_t i = 0; i < n; i++) {
    bits |= (uint64_t)index[i];
    narrow[i] = (uint32_t)index[i];
  }
  return bits;
}

/* Reads indices as a general pattern, narrow if possible, in the application's array or in *memory_p. */
static sf_status_t read_indices(const void *index, int64_t n, bool wide, sfshm_pattern_t *pattern_p, void **memory_p)
{
  if (!wide) {
    *pattern_p = (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = index};
    return bits_of32(index, n) > INT32_MAX ? SF_ERR_RANGE : SF_OK;
  }
  uint32_t *narrow = malloc((size_t)n * sizeof *narrow);
  if (narrow == NULL)
    return sfshm_error(SF_ERR_NOMEM, "copying %lld indices", (long long)n);
  uint64_t bits = bits_of64(index, n, narrow);
  if (bits <= UINT32_MAX) {
    *pattern_p = (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = narrow};
    *memory_p = narrow;
    return SF_OK;
  }
  free(narrow);
  *pattern_p = (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = n, .index64 = index};
  return bits > INT64_MAX ? SF_ERR_RANGE : SF_OK;
}

/* ---- Distributing ---- */

/* Copies n entries to the rank's next output position. */
static inline __attribute__((always_inline)) void put(const sfshm_pattern_t *from, int64_t first, int64_t n, bool wide,
                                                      void *to, int64_t at)
{
  for (int64_t i = 0; i < n; i++) {
    if (wide)
      ((int64_t *)to)[at + i] = sfshm_pattern_at(from, first + i);
    else
      ((uint32_t *)to)[at + i] = (uint32_t)sfshm_pattern_at(from, first + i);
  }
}

static inline __attribute__((always_inline)) void distribute_as(sfshm_pattern_t from, sfshm_pattern_kind_t kind,
                                                                const int32_t root_rank[], int64_t next[], bool wide,
                                                                void *to)
{
  from.kind = kind;
  for (int64_t i = 0, end; i < from.n; i = end) {
    int32_t rank = root_rank[i];
    end = sfshm_run_end(root_rank, i, from.n);
    put(&from, i, end - i, wide, to, next[rank]);
    next[rank] += end - i;
  }
}

/* Orders the indices by rank, keeping the order within each rank. Replaces the pattern and its memory. */
static sf_status_t distribute(const sfc_spread_t *spread, const int32_t root_rank[], int32_t size,
                              sfshm_pattern_t *pattern, void **memory)
{
  sfshm_pattern_t from = *pattern;
  bool wide = from.kind == SFSHM_PATTERN_INDEX64 || from.n > UINT32_MAX;
  int64_t *next = malloc((size_t)size * sizeof *next);
  void *to = malloc((size_t)from.n * (wide ? sizeof(int64_t) : sizeof(uint32_t)));
  if (next == NULL || to == NULL) {
    free(next);
    free(to);
    return sfshm_error(SF_ERR_NOMEM, "distributing %lld edges", (long long)from.n);
  }
  memcpy(next, spread->first, (size_t)size * sizeof *next);
  if (from.kind == SFSHM_PATTERN_INDEX32 && !wide)
    distribute_as(from, SFSHM_PATTERN_INDEX32, root_rank, next, false, to);
  else if (from.kind == SFSHM_PATTERN_CONTIGUOUS && !wide)
    distribute_as(from, SFSHM_PATTERN_CONTIGUOUS, root_rank, next, false, to);
  else
    distribute_as(from, from.kind, root_rank, next, true, to);
  free(next);
  free(*memory);
  *memory = to;
  *pattern = (sfshm_pattern_t){.kind = wide ? SFSHM_PATTERN_INDEX64 : SFSHM_PATTERN_INDEX32, .n = from.n};
  if (wide)
    pattern->index64 = to;
  else
    pattern->index32 = to;
  return SF_OK;
}

static inline __attribute__((always_inline)) void distribute_pairs_as(const uint32_t root[], sfshm_pattern_t leaf,
                                                                      sfshm_pattern_kind_t kind,
                                                                      const int32_t root_rank[], int64_t next[],
                                                                      uint32_t to_root[], uint32_t to_leaf[])
{
  leaf.kind = kind;
  for (int64_t i = 0; i < leaf.n; i++) {
    int64_t at = next[root_rank[i]]++;
    to_root[at] = root[i];
    to_leaf[at] = (uint32_t)sfshm_pattern_at(&leaf, i);
  }
}

/* Distributes roots and leaves in one pass: with short runs most time goes into finding the output position. */
static sf_status_t distribute_pairs(const sfc_spread_t *spread, const int32_t root_rank[], int32_t size,
                                    sfshm_pattern_t *root, sfshm_pattern_t *leaf, void *memory[2])
{
  size_t n = (size_t)root->n;
  int64_t *next = malloc((size_t)size * sizeof *next);
  uint32_t *to_root = malloc(n * sizeof *to_root), *to_leaf = malloc(n * sizeof *to_leaf);
  if (next == NULL || to_root == NULL || to_leaf == NULL) {
    free(next);
    free(to_root);
    free(to_leaf);
    return sfshm_error(SF_ERR_NOMEM, "distributing %zu edges", n);
  }
  memcpy(next, spread->first, (size_t)size * sizeof *next);
  if (leaf->kind == SFSHM_PATTERN_INDEX32)
    distribute_pairs_as(root->index32, *leaf, SFSHM_PATTERN_INDEX32, root_rank, next, to_root, to_leaf);
  else
    distribute_pairs_as(root->index32, *leaf, SFSHM_PATTERN_CONTIGUOUS, root_rank, next, to_root, to_leaf);
  free(next);
  free(memory[0]);
  free(memory[1]);
  memory[0] = to_root;
  memory[1] = to_leaf;
  *root = (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = root->n, .index32 = to_root};
  *leaf = (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = root->n, .index32 = to_leaf};
  return SF_OK;
}

static bool are_narrow(const sfshm_pattern_t *root, const sfshm_pattern_t *leaf)
{
  return root->kind == SFSHM_PATTERN_INDEX32 && root->n <= UINT32_MAX &&
         (leaf->kind == SFSHM_PATTERN_INDEX32 || leaf->kind == SFSHM_PATTERN_CONTIGUOUS);
}

/* Orders roots and leaves by rank. */
static sf_status_t distribute_all(sfc_spread_t *spread, const int32_t root_rank[], int32_t size, sfshm_pattern_t *root,
                                  sfshm_pattern_t *leaf, void *memory[2])
{
  for (int64_t r = 0, first = 0; r < size; first += spread->count[r++])
    spread->first[r] = first;
  if (are_short(spread->nruns, root->n) && are_narrow(root, leaf))
    return distribute_pairs(spread, root_rank, size, root, leaf, memory);
  sf_status_t status = distribute(spread, root_rank, size, root, &memory[0]);
  return status == SF_OK ? distribute(spread, root_rank, size, leaf, &memory[1]) : status;
}

/* ---- Buckets ---- */

static sfshm_pattern_t slice(const sfshm_pattern_t *pattern, int64_t first, int64_t n)
{
  sfshm_pattern_t part = sfshm_pattern_slice(pattern, first, n);
  if (part.kind == SFSHM_PATTERN_INDEX32)
    return sfshm_pattern_from_index32(part.index32, n);
  return part.kind == SFSHM_PATTERN_INDEX64 ? sfshm_pattern_from_index64(part.index64, n) : part;
}

/* Cuts the indices into buckets. */
static sf_status_t cut(const sfc_spread_t *spread, int32_t size, const sfshm_pattern_t *root,
                       const sfshm_pattern_t *leaf, sfc_edge_buckets_t *buckets)
{
  buckets->bucket = malloc((size_t)spread->nranks * sizeof *buckets->bucket);
  if (buckets->bucket == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %lld root ranks", (long long)spread->nranks);
  for (int32_t r = 0; r < size; r++)
    if (spread->count[r] > 0)
      buckets->bucket[buckets->n++] = (sfc_edge_bucket_t){.rank = r,
                                                          .root = slice(root, spread->first[r], spread->count[r]),
                                                          .leaf = slice(leaf, spread->first[r], spread->count[r])};
  return SF_OK;
}

static sf_status_t fill(const sfc_edge_input_t *input, int32_t size, sfc_spread_t *spread, sfc_edge_buckets_t *buckets)
{
  int64_t n = input->nleaves;
  sfshm_pattern_t root, leaf = sfshm_pattern_contiguous(0, n);
  if (!count_ranks(input, size, spread))
    return SF_ERR_RANGE;
  sf_status_t status = read_indices(input->root_index, n, input->wide, &root, &buckets->memory[0]);
  if (status == SF_OK && input->leaf_index != NULL)
    status = read_indices(input->leaf_index, n, input->wide, &leaf, &buckets->memory[1]);
  if (status == SF_OK)
    buckets->leaves_ascend = sfshm_pattern_ascends(&leaf);
  if (status == SF_OK && !spread->together)
    status = distribute_all(spread, input->root_rank, size, &root, &leaf, buckets->memory);
  buckets->leaf = leaf;
  return status == SF_OK ? cut(spread, size, &root, &leaf, buckets) : status;
}

sf_status_t sfc_edge_buckets_make(const sfc_edge_input_t *input, int32_t size, sfc_edge_buckets_t *buckets_p)
{
  sfc_spread_t spread = {.nranks = 0};
  sfc_edge_buckets_t buckets = {.n = 0};
  sf_status_t status;
  spread.count = calloc(2 * (size_t)size, sizeof *spread.count);
  if (spread.count == NULL) {
    status = sfshm_error(SF_ERR_NOMEM, "table of %d ranks", size);
  } else {
    spread.first = spread.count + size;
    status = fill(input, size, &spread, &buckets);
  }
  free(spread.count);
  if (status == SF_OK)
    *buckets_p = buckets;
  else
    sfc_edge_buckets_free(&buckets);
  return status;
}

void sfc_edge_buckets_free(sfc_edge_buckets_t *buckets)
{
  free(buckets->bucket);
  free(buckets->memory[0]);
  free(buckets->memory[1]);
  *buckets = (sfc_edge_buckets_t){.n = 0};
}
