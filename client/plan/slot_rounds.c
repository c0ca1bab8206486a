/* Slot rounds: see slot_rounds.h. */
#include "client/plan/slot_rounds.h"

#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

#define SPARSE 4 /* roots per contribution above which contributions are sorted, not counted */

static sf_status_t no_memory(int64_t nslots)
{
  return sfshm_error(SF_ERR_NOMEM, "order of %lld contributions", (long long)nslots);
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static void put(int64_t slots[], int64_t roots[], int64_t contribution, int64_t slot, int64_t root)
{
  if (slots != NULL)
    slots[contribution] = slot;
  if (roots != NULL)
    roots[slot] = root;
}

/* By counting per root. */
static bool count_slots(const sfc_slot_rounds_t *rounds, int64_t slots[], int64_t roots[])
{
  int64_t *next = calloc((size_t)rounds->nroots + 1, sizeof *next);
  if (next == NULL)
    return false;
  for (int64_t i = 0; i < rounds->n; i++)
    next[rounds->root_of[i] + 1]++;
  for (int64_t root = 0; root < rounds->nroots; root++)
    next[root + 1] += next[root];
  for (int64_t i = 0; i < rounds->n; i++)
    put(slots, roots, i, next[rounds->root_of[i]]++, rounds->root_of[i]);
  free(next);
  return true;
}

/* By sorting, which takes less time and memory if most roots have no contribution. */
static bool sort_slots(const sfc_slot_rounds_t *rounds, int64_t slots[], int64_t roots[])
{
  size_t bytes = (size_t)rounds->n * sizeof(sfshm_keyed_t) + 1;
  sfshm_keyed_t *sorted = malloc(bytes), *scratch = malloc(bytes);
  bool can = sorted != NULL && scratch != NULL;
  for (int64_t i = 0; i < rounds->n && can; i++)
    sorted[i] = (sfshm_keyed_t){rounds->root_of[i], i};
  if (can)
    sfshm_sort(sorted, scratch, rounds->n, rounds->nroots);
  for (int64_t slot = 0; slot < rounds->n && can; slot++)
    put(slots, roots, sorted[slot].item, slot, sorted[slot].key);
  free(sorted);
  free(scratch);
  return can;
}

bool sfc_slot_rounds_find_slots(const sfc_slot_rounds_t *rounds, int64_t slots[], int64_t roots[])
{
  return rounds->nroots / SPARSE > rounds->n ? sort_slots(rounds, slots, roots) : count_slots(rounds, slots, roots);
}

/* Root of each slot; the caller frees it. NULL: no memory. */
static int64_t *find_roots(const sfc_slot_rounds_t *rounds)
{
  int64_t *roots = malloc((size_t)rounds->n * sizeof *roots + 1);
  if (roots != NULL && sfc_slot_rounds_find_slots(rounds, NULL, roots))
    return roots;
  free(roots);
  return NULL;
}

/* ---- Roots of slots ---------------------------------------------------------------------------------------------- */

static void narrow(int64_t roots[], int64_t n)
{
  uint32_t *narrow = (void *)roots;
  for (int64_t i = 0; i < n; i++) {
    uint32_t root = (uint32_t)roots[i];
    memcpy(&narrow[i], &root, sizeof root);
  }
}

static sf_status_t make_roots(sfc_slot_rounds_t *rounds)
{
  int64_t *roots = find_roots(rounds);
  if (roots == NULL)
    return no_memory(rounds->n);
  bool wide = rounds->nroots > UINT32_MAX;
  if (!wide)
    narrow(roots, rounds->n);
  rounds->slot_roots = roots;
  rounds->slot_root = wide ? sfshm_pattern_from_index64((void *)roots, rounds->n)
                           : sfshm_pattern_from_index32((void *)roots, rounds->n);
  return SF_OK;
}

sf_status_t sfc_slot_rounds_slot_roots(sfc_slot_rounds_t *rounds, const sfshm_pattern_t **roots_p)
{
  sf_status_t status = rounds->slot_roots == NULL ? make_roots(rounds) : SF_OK;
  if (status == SF_OK)
    *roots_p = &rounds->slot_root;
  return status;
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

/* Round of slot s, after round of the previous slot. */
static int64_t next_round(const int64_t roots[], int64_t s, int64_t round)
{
  return s > 0 && roots[s] == roots[s - 1] ? round + 1 : 0;
}

static int64_t count_rounds(const int64_t roots[], int64_t n)
{
  int64_t nrounds = 0;
  for (int64_t s = 0, round = 0; s < n; s++) {
    round = next_round(roots, s, round);
    nrounds = round >= nrounds ? round + 1 : nrounds;
  }
  return nrounds;
}

/* First position of each round. */
static void begin_rounds(const int64_t roots[], int64_t n, int64_t nrounds, int64_t next[])
{
  int64_t start = 0;
  for (int64_t s = 0, round = 0; s < n; s++) {
    round = next_round(roots, s, round);
    next[round]++;
  }
  for (int64_t round = 0; round < nrounds; round++) {
    int64_t size = next[round];
    next[round] = start;
    start += size;
  }
}

/* Orders slots and roots by round, and by root within a round. */
static void fill_rounds(const int64_t roots[], int64_t n, int64_t next[], int64_t slot[], int64_t root[])
{
  for (int64_t s = 0, round = 0; s < n; s++) {
    round = next_round(roots, s, round);
    int64_t place = next[round]++;
    slot[place] = s;
    root[place] = roots[s];
  }
}

static sf_status_t make_from(sfc_slot_rounds_t *rounds, const int64_t roots[])
{
  int64_t n = rounds->n, nrounds = count_rounds(roots, n);
  int64_t *next = calloc((size_t)nrounds + 1, sizeof *next), *order = malloc((2 * (size_t)n + 1) * sizeof *order);
  sfc_slot_round_t *made = malloc(((size_t)nrounds + 1) * sizeof *made);
  if (next == NULL || order == NULL || made == NULL) {
    free(next);
    free(order);
    free(made);
    return no_memory(n);
  }
  begin_rounds(roots, n, nrounds, next);
  fill_rounds(roots, n, next, order, order + n);
  for (int64_t i = 0; i < nrounds; i++) {
    int64_t begin = i == 0 ? 0 : next[i - 1], size = next[i] - begin;
    made[i].slot = sfshm_pattern_from_index64(order + begin, size);
    made[i].root = sfshm_pattern_from_index64(order + n + begin, size);
  }
  free(next);
  rounds->order = order;
  rounds->rounds = made;
  rounds->nrounds = nrounds;
  return SF_OK;
}

static sf_status_t make_rounds(sfc_slot_rounds_t *rounds)
{
  int64_t *roots = find_roots(rounds);
  sf_status_t status = roots != NULL ? make_from(rounds, roots) : no_memory(rounds->n);
  free(roots);
  return status;
}

sf_status_t sfc_slot_rounds_all(sfc_slot_rounds_t *rounds, const sfc_slot_round_t **rounds_p, int64_t *nrounds_p)
{
  sf_status_t status = rounds->rounds == NULL ? make_rounds(rounds) : SF_OK;
  if (status != SF_OK)
    return status;
  *rounds_p = rounds->rounds;
  *nrounds_p = rounds->nrounds;
  return SF_OK;
}

void sfc_slot_rounds_free(sfc_slot_rounds_t *rounds)
{
  free(rounds->slot_roots);
  sfc_device_free_array(rounds->order);
  free(rounds->rounds);
}
