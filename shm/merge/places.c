/* Places: see places.h. Any thread. */
#include "shm/merge/places.h"

#include <stdlib.h>
#include <string.h>

#include "shm/error.h"

sf_status_t sfshm_places_init(sfshm_places_t *places, int64_t npositions, uint32_t nowners, uint32_t nranks)
{
  size_t n = (size_t)npositions + 1;
  *places = (sfshm_places_t){.npositions = npositions, .nowners = nowners, .nranks = nranks};
  places->owner_ends = calloc((size_t)nowners + 1, sizeof *places->owner_ends);
  places->lead = malloc(n * sizeof *places->lead);
  places->winner = calloc(n, sizeof *places->winner);
  places->place = malloc(n * sizeof *places->place);
  places->turn_ends = malloc(((size_t)nowners * nranks + 1) * sizeof *places->turn_ends);
  places->turn = malloc(((size_t)nranks + 1) * sizeof *places->turn);
  if (places->owner_ends == NULL || places->lead == NULL || places->winner == NULL || places->place == NULL ||
      places->turn_ends == NULL || places->turn == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of %lld values", (long long)npositions);
  memset(places->lead, 0xff, n * sizeof *places->lead);
  return SF_OK;
}

void sfshm_places_free(sfshm_places_t *places)
{
  free(places->owner_ends);
  free(places->lead);
  free(places->winner);
  free(places->place);
  free(places->turn_ends);
  free(places->turn);
  *places = (sfshm_places_t){0};
}

/* A counting sort of one owner's positions from begin on by their leads. What is gone goes to a turn of its own.
 * Whether a position is gone can't be foreseen by the processor, so there are no branches. */
static void find_of_owner(sfshm_places_t *places, uint32_t owner, int64_t begin, int64_t turn[])
{
  uint32_t nobody = places->nranks;
  const uint32_t *lead = places->lead;
  int64_t end = places->owner_ends[owner], next = places->nplaces;
  memset(turn, 0, (nobody + 1u) * sizeof *turn);
  for (int64_t i = begin; i < end; i++)
    turn[lead[i] < nobody ? lead[i] : nobody]++;
  turn[nobody] = 0;
  for (uint32_t rank = 0; rank < nobody; rank++) {
    int64_t n = turn[rank];
    turn[rank] = next;
    next += n;
  }
  for (int64_t i = begin; i < end; i++)
    places->place[i] = (uint32_t)turn[lead[i] < nobody ? lead[i] : nobody]++;
  memcpy(places->turn_ends + (size_t)owner * nobody, turn, nobody * sizeof *turn);
  places->nplaces = next;
}

void sfshm_places_find(sfshm_places_t *places)
{
  int64_t begin = 0;
  for (uint32_t owner = 0; owner < places->nowners; owner++) {
    find_of_owner(places, owner, begin, places->turn);
    begin = places->owner_ends[owner];
  }
}
