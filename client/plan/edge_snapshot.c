/* Edge snapshots: see edge_snapshot.h. Strided indices are kept as lines, root ranks as runs if these are long. */
#include "client/plan/edge_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/clones.h"

#if defined(__GNUC__) && !defined(__clang__)
/* -O2 does not vectorise loops of unknown length. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

#define RUN_MIN 8 /* edges per run below which ranks are copied */

typedef struct sfc_rank_run {
  int64_t end;
  int32_t rank;
} sfc_rank_run_t;

/* One array of indices. */
typedef struct sfc_given_indices {
  sfshm_pattern_t line; /* if copy is NULL */
  void *copy;
} sfc_snapshot_indices_t;

struct sfc_edge_snapshot {
  int64_t nroots;
  int64_t nleaves;
  bool wide;
  bool numbered; /* leaf_index was NULL */
  sfc_snapshot_indices_t root;
  sfc_snapshot_indices_t leaf;
  int32_t *root_rank; /* NULL: runs */
  sfc_rank_run_t *runs;
  int64_t nruns;
};

/* ---- Indices ---- */

static bool is_line(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED;
}

static size_t index_bytes(const sfc_edge_snapshot_t *given)
{
  return (size_t)given->nleaves * (given->wide ? sizeof(int64_t) : sizeof(int32_t));
}

static void *copy_of(const void *array, size_t bytes)
{
  void *copy = malloc(bytes + 1);
  if (copy != NULL)
    memcpy(copy, array, bytes);
  return copy;
}

static bool keep_indices(const sfc_edge_snapshot_t *given, const void *index, sfc_snapshot_indices_t *kept)
{
  kept->line = sfshm_pattern_from_indices(index, given->nleaves, given->wide);
  if (is_line(&kept->line))
    return true;
  kept->copy = copy_of(index, index_bytes(given));
  return kept->copy != NULL;
}

static int64_t index_at(const void *index, bool wide, int64_t i)
{
  return wide ? ((const int64_t *)index)[i] : ((const uint32_t *)index)[i];
}

/* Different lines mostly differ at their beginning. */
static bool begins_as(const sfc_edge_snapshot_t *given, const sfshm_pattern_t *line, const void *index)
{
  int64_t start = index_at(index, given->wide, 0);
  return start == line->start && (given->nleaves == 1 || index_at(index, given->wide, 1) == sfshm_pattern_at(line, 1));
}

static bool indices_equal(const sfc_edge_snapshot_t *given, const sfc_snapshot_indices_t *kept, const void *index)
{
  if (kept->copy != NULL)
    return memcmp(kept->copy, index, index_bytes(given)) == 0;
  if (!begins_as(given, &kept->line, index))
    return false;
  sfshm_pattern_t line = sfshm_pattern_from_indices(index, given->nleaves, given->wide);
  return is_line(&line) && line.start == kept->line.start && line.stride == kept->line.stride;
}

/* ---- Ranks ---- */

/* Whether n ranks are equal. */
SFSHM_CLONES static bool all_are(const int32_t rank[], int64_t n, int32_t value)
{
  uint32_t differences = 0;
  for (int64_t i = 0; i < n; i++)
    differences |= (uint32_t)(rank[i] ^ value);
  return differences == 0;
}

SFSHM_CLONES static int64_t count_runs(const int32_t rank[], int64_t n)
{
  int64_t breaks = 0;
  for (int64_t i = 1; i < n; i++)
    breaks += rank[i] != rank[i - 1];
  return breaks + 1;
}

static bool keep_runs(sfc_edge_snapshot_t *given, const int32_t rank[])
{
  given->runs = malloc((size_t)given->nruns * sizeof *given->runs);
  if (given->runs == NULL)
    return false;
  for (int64_t i = 0, run = 0; i < given->nleaves && given->nruns > 1; i++)
    if (i + 1 == given->nleaves || rank[i + 1] != rank[i])
      given->runs[run++] = (sfc_rank_run_t){i + 1, rank[i]};
  if (given->nruns == 1)
    given->runs[0] = (sfc_rank_run_t){given->nleaves, rank[0]};
  return true;
}

static bool keep_ranks(sfc_edge_snapshot_t *given, const int32_t rank[])
{
  given->nruns = all_are(rank, given->nleaves, rank[0]) ? 1 : count_runs(rank, given->nleaves);
  if (given->nruns == 1 || given->nruns <= given->nleaves / RUN_MIN)
    return keep_runs(given, rank);
  given->root_rank = copy_of(rank, (size_t)given->nleaves * sizeof *rank);
  return given->root_rank != NULL;
}

static bool ranks_equal(const sfc_edge_snapshot_t *given, const int32_t rank[])
{
  if (given->root_rank != NULL)
    return memcmp(given->root_rank, rank, (size_t)given->nleaves * sizeof *rank) == 0;
  int64_t first = 0;
  for (int64_t run = 0; run < given->nruns; first = given->runs[run++].end)
    if (!all_are(rank + first, given->runs[run].end - first, given->runs[run].rank))
      return false;
  return true;
}

/* ---- The whole ---- */

static bool keep(sfc_edge_snapshot_t *given, const sfc_edge_input_t *input)
{
  return given->nleaves == 0 ||
         (keep_ranks(given, input->root_rank) && keep_indices(given, input->root_index, &given->root) &&
          (given->numbered || keep_indices(given, input->leaf_index, &given->leaf)));
}

sfc_edge_snapshot_t *sfc_edge_snapshot_make(const sfc_edge_input_t *input)
{
  size_t width = input->wide ? sizeof(int64_t) : sizeof(int32_t);
  if ((uint64_t)input->nleaves > SFC_EDGE_SNAPSHOT_MAX_BYTES / (2 * width + sizeof(int32_t)))
    return NULL;
  sfc_edge_snapshot_t *given = calloc(1, sizeof *given);
  if (given == NULL)
    return NULL;
  given->nroots = input->nroots;
  given->nleaves = input->nleaves;
  given->wide = input->wide;
  given->numbered = input->leaf_index == NULL;
  if (keep(given, input))
    return given;
  sfc_edge_snapshot_free(given);
  return NULL;
}

void sfc_edge_snapshot_free(sfc_edge_snapshot_t *given)
{
  if (given == NULL)
    return;
  free(given->root.copy);
  free(given->leaf.copy);
  free(given->root_rank);
  free(given->runs);
  free(given);
}

bool sfc_edge_snapshot_equals(const sfc_edge_snapshot_t *given, const sfc_edge_input_t *input)
{
  if (given->nroots != input->nroots || given->nleaves != input->nleaves || given->wide != input->wide)
    return false;
  if (given->nleaves == 0)
    return true;
  if (input->root_rank == NULL || input->root_index == NULL || given->numbered != (input->leaf_index == NULL))
    return false;
  return indices_equal(given, &given->root, input->root_index) &&
         (given->numbered || indices_equal(given, &given->leaf, input->leaf_index)) &&
         ranks_equal(given, input->root_rank);
}
