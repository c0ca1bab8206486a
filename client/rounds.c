/* The order in which contributions meet roots: see rounds.h. */
#include "client/rounds.h"

#include <stdlib.h>

#include "client/device.h"
#include "shm/error.h"

static sf_status_t no_memory(int64_t nslots)
{
  return sfshm_error(SF_ERR_NOMEM, "order of %lld contributions", (long long)nslots);
}

int64_t *sfc_rounds_first_slots(const sfc_rounds_t *rounds)
{
  int64_t *first = calloc((size_t)rounds->nroots + 1, sizeof *first);
  if (first == NULL)
    return NULL;
  for (int64_t i = 0; i < rounds->n; i++)
    first[rounds->met[i] + 1]++;
  for (int64_t root = 0; root < rounds->nroots; root++)
    first[root + 1] += first[root];
  return first;
}

/* ---- Roots of slots ---------------------------------------------------------------------------------------------- */

static void fill_roots(const int64_t first[], int64_t nroots, bool wide, void *roots)
{
  for (int64_t root = 0; root < nroots; root++)
    for (int64_t slot = first[root]; slot < first[root + 1]; slot++) {
      if (wide)
        ((int64_t *)roots)[slot] = root;
      else
        ((uint32_t *)roots)[slot] = (uint32_t)root;
    }
}

static sf_status_t make_roots(sfc_rounds_t *rounds)
{
  bool wide = rounds->nroots > UINT32_MAX;
  int64_t *first = sfc_rounds_first_slots(rounds);
  void *roots = malloc((size_t)rounds->n * (wide ? sizeof(int64_t) : sizeof(uint32_t)) + 1);
  if (first == NULL || roots == NULL) {
    free(first);
    free(roots);
    return no_memory(rounds->n);
  }
  fill_roots(first, rounds->nroots, wide, roots);
  free(first);
  rounds->slot_roots = roots;
  rounds->slot_root =
      wide ? sfshm_pattern_from_index64(roots, rounds->n) : sfshm_pattern_from_index32(roots, rounds->n);
  return SF_OK;
}

sf_status_t sfc_rounds_slot_roots(sfc_rounds_t *rounds, const sfshm_pattern_t **roots_p)
{
  sf_status_t status = rounds->slot_roots == NULL ? make_roots(rounds) : SF_OK;
  if (status == SF_OK)
    *roots_p = &rounds->slot_root;
  return status;
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

static int64_t count_rounds(const int64_t first[], int64_t nroots)
{
  int64_t nrounds = 0;
  for (int64_t root = 0; root < nroots; root++)
    if (first[root + 1] - first[root] > nrounds)
      nrounds = first[root + 1] - first[root];
  return nrounds;
}

/* Where each round begins in the order of rounds. */
static void begin_rounds(const int64_t first[], int64_t nroots, int64_t nrounds, int64_t next[])
{
  int64_t start = 0;
  for (int64_t root = 0; root < nroots; root++)
    for (int64_t round = 0; round < first[root + 1] - first[root]; round++)
      next[round]++;
  for (int64_t round = 0; round < nrounds; round++) { /* sizes become starts */
    int64_t size = next[round];
    next[round] = start;
    start += size;
  }
}

/* Puts slots and roots in the order of rounds; within a round that of the roots, as slots are. */
static void fill_rounds(const int64_t first[], int64_t nroots, int64_t next[], int64_t slot[], int64_t root[])
{
  for (int64_t r = 0; r < nroots; r++)
    for (int64_t s = first[r]; s < first[r + 1]; s++) {
      int64_t place = next[s - first[r]]++;
      slot[place] = s;
      root[place] = r;
    }
}

static sf_status_t make_from(sfc_rounds_t *rounds, const int64_t first[])
{
  int64_t n = rounds->n, nrounds = count_rounds(first, rounds->nroots);
  int64_t *next = calloc((size_t)nrounds + 1, sizeof *next), *order = malloc((2 * (size_t)n + 1) * sizeof *order);
  sfc_round_t *made = malloc(((size_t)nrounds + 1) * sizeof *made);
  if (next == NULL || order == NULL || made == NULL) {
    free(next);
    free(order);
    free(made);
    return no_memory(n);
  }
  begin_rounds(first, rounds->nroots, nrounds, next);
  fill_rounds(first, rounds->nroots, next, order, order + n);
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

static sf_status_t make_rounds(sfc_rounds_t *rounds)
{
  int64_t *first = sfc_rounds_first_slots(rounds);
  sf_status_t status = first != NULL ? make_from(rounds, first) : no_memory(rounds->n);
  free(first);
  return status;
}

sf_status_t sfc_rounds_all(sfc_rounds_t *rounds, const sfc_round_t **rounds_p, int64_t *nrounds_p)
{
  sf_status_t status = rounds->rounds == NULL ? make_rounds(rounds) : SF_OK;
  if (status != SF_OK)
    return status;
  *rounds_p = rounds->rounds;
  *nrounds_p = rounds->nrounds;
  return SF_OK;
}

void sfc_rounds_free(sfc_rounds_t *rounds)
{
  free(rounds->slot_roots);
  sfc_device_free_array(rounds->order);
  free(rounds->rounds);
}
