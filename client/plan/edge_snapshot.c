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

static size_t index_bytes(const sfc_edge_snapshot_t *snapshot)
{
  return (size_t)snapshot->nleaves * (snapshot->wide ? sizeof(int64_t) : sizeof(int32_t));
}

static void *copy_of(const void *array, size_t bytes)
{
  void *copy = malloc(bytes + 1);
  if (copy != NULL)
    memcpy(copy, array, bytes);
  return copy;
}

static bool keep_indices(const sfc_edge_snapshot_t *snapshot, const void *index, sfc_snapshot_indices_t *kept)
{
  kept->line = sfshm_pattern_from_indices(index, snapshot->nleaves, snapshot->wide);
  if (is_line(&kept->line))
    return true;
  kept->copy = copy_of(index, index_bytes(snapshot));
  return kept->copy != NULL;
}

static int64_t index_at(const void *index, bool wide, int64_t i)
{
  return wide ? ((const int64_t *)index)[i] : ((const uint32_t *)index)[i];
}

/* Different lines mostly differ at their beginning. */
static bool begins_as(const sfc_edge_snapshot_t *snapshot, const sfshm_pattern_t *line, const void *index)
{
  int64_t start = index_at(index, snapshot->wide, 0);
  return start == line->start &&
         (snapshot->nleaves == 1 || index_at(index, snapshot->wide, 1) == sfshm_pattern_at(line, 1));
}

static bool indices_equal(const sfc_edge_snapshot_t *snapshot, const sfc_snapshot_indices_t *kept, const void *index)
{
  if (kept->copy != NULL)
    return memcmp(kept->copy, index, index_bytes(snapshot)) == 0;
  if (!begins_as(snapshot, &kept->line, index))
    return false;
  sfshm_pattern_t line = sfshm_pattern_from_indices(index, snapshot->nleaves, snapshot->wide);
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

static bool keep_runs(sfc_edge_snapshot_t *snapshot, const int32_t rank[])
{
  snapshot->runs = malloc((size_t)snapshot->nruns * sizeof *snapshot->runs);
  if (snapshot->runs == NULL)
    return false;
  for (int64_t i = 0, run = 0; i < snapshot->nleaves && snapshot->nruns > 1; i++)
    if (i + 1 == snapshot->nleaves || rank[i + 1] != rank[i])
      snapshot->runs[run++] = (sfc_rank_run_t){i + 1, rank[i]};
  if (snapshot->nruns == 1)
    snapshot->runs[0] = (sfc_rank_run_t){snapshot->nleaves, rank[0]};
  return true;
}

static bool keep_ranks(sfc_edge_snapshot_t *snapshot, const int32_t rank[])
{
  snapshot->nruns = all_are(rank, snapshot->nleaves, rank[0]) ? 1 : count_runs(rank, snapshot->nleaves);
  if (snapshot->nruns == 1 || snapshot->nruns <= snapshot->nleaves / RUN_MIN)
    return keep_runs(snapshot, rank);
  snapshot->root_rank = copy_of(rank, (size_t)snapshot->nleaves * sizeof *rank);
  return snapshot->root_rank != NULL;
}

static bool ranks_equal(const sfc_edge_snapshot_t *snapshot, const int32_t rank[])
{
  if (snapshot->root_rank != NULL)
    return memcmp(snapshot->root_rank, rank, (size_t)snapshot->nleaves * sizeof *rank) == 0;
  int64_t first = 0;
  for (int64_t run = 0; run < snapshot->nruns; first = snapshot->runs[run++].end)
    if (!all_are(rank + first, snapshot->runs[run].end - first, snapshot->runs[run].rank))
      return false;
  return true;
}

/* ---- The whole ---- */

static bool keep(sfc_edge_snapshot_t *snapshot, const sfc_edge_input_t *input)
{
  return snapshot->nleaves == 0 ||
         (keep_ranks(snapshot, input->root_rank) && keep_indices(snapshot, input->root_index, &snapshot->root) &&
          (snapshot->numbered || keep_indices(snapshot, input->leaf_index, &snapshot->leaf)));
}

sfc_edge_snapshot_t *sfc_edge_snapshot_make(const sfc_edge_input_t *input)
{
  size_t width = input->wide ? sizeof(int64_t) : sizeof(int32_t);
  if ((uint64_t)input->nleaves > SFC_EDGE_SNAPSHOT_MAX_BYTES / (2 * width + sizeof(int32_t)))
    return NULL;
  sfc_edge_snapshot_t *snapshot = calloc(1, sizeof *snapshot);
  if (snapshot == NULL)
    return NULL;
  snapshot->nroots = input->nroots;
  snapshot->nleaves = input->nleaves;
  snapshot->wide = input->wide;
  snapshot->numbered = input->leaf_index == NULL;
  if (keep(snapshot, input))
    return snapshot;
  sfc_edge_snapshot_free(snapshot);
  return NULL;
}

void sfc_edge_snapshot_free(sfc_edge_snapshot_t *snapshot)
{
  if (snapshot == NULL)
    return;
  free(snapshot->root.copy);
  free(snapshot->leaf.copy);
  free(snapshot->root_rank);
  free(snapshot->runs);
  free(snapshot);
}

bool sfc_edge_snapshot_equals(const sfc_edge_snapshot_t *snapshot, const sfc_edge_input_t *input)
{
  if (snapshot->nroots != input->nroots || snapshot->nleaves != input->nleaves || snapshot->wide != input->wide)
    return false;
  if (snapshot->nleaves == 0)
    return true;
  if (input->root_rank == NULL || input->root_index == NULL || snapshot->numbered != (input->leaf_index == NULL))
    return false;
  return indices_equal(snapshot, &snapshot->root, input->root_index) &&
         (snapshot->numbered || indices_equal(snapshot, &snapshot->leaf, input->leaf_index)) &&
         ranks_equal(snapshot, input->root_rank);
}
