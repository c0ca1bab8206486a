/* Finds repeated indices without sorting all indices, if few are repeated: see repeats.h.
 *
 * The first pass adds a hash of each index to a bit set. An index whose bit is already set is a suspect: it, or another
 * index with the same hash, occurred before. The second pass collects all occurrences of suspects, with a smaller set
 * of the suspects only. These few are sorted, which shows the actual repetitions. */
#include "shm/edges/repeats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/clones.h"
#include "shm/base/error.h"

#define BITS_PER_INDEX 32 /* in the first set: about every 64th index is suspected wrongly */
#define SUSPECT_SHIFT 5   /* the second set is smaller by so many powers of two */
#define MIN_LOG 12
#define MAX_LOG 40
#define ALL_SUSPECT 8 /* if every so many'th is suspect they are all collected without the second pass */
#define PIECE 4096

/* Multiplicative hashes distribute consecutive indices very evenly. */
static inline uint64_t hash(uint64_t index, int log)
{
  return index * UINT64_C(0x9e3779b97f4a7c15) >> (64 - log);
}

static inline uint64_t suspect_hash(uint64_t index, int log)
{
  return index * UINT64_C(0xd6e8feb86659fd93) >> (64 - log);
}

typedef struct sfshm_hunt {
  uint64_t *seen;
  uint64_t *suspects;
  int seen_log; /* bits in the sets */
  int suspects_log;
} sfshm_hunt_t;

static inline int64_t index_at(const sfshm_pattern_t *index, bool wide, int64_t i)
{
  return wide ? index->index64[i] : index->index32[i];
}

/* Returns the number of suspects. */
static inline __attribute__((always_inline)) int64_t suspect_as(const sfshm_pattern_t *index, bool wide,
                                                                sfshm_hunt_t hunt)
{
  int64_t nsuspects = 0;
  for (int64_t i = 0; i < index->n; i++) {
    uint64_t key = (uint64_t)index_at(index, wide, i), place = hash(key, hunt.seen_log);
    uint64_t word = hunt.seen[place >> 6], bit = UINT64_C(1) << (place & 63);
    hunt.seen[place >> 6] = word | bit;
    if (__builtin_expect((word & bit) != 0, 0)) {
      place = suspect_hash(key, hunt.suspects_log);
      hunt.suspects[place >> 6] |= UINT64_C(1) << (place & 63);
      nsuspects++;
    }
  }
  return nsuspects;
}

SFSHM_CLONES static int64_t suspect(const sfshm_pattern_t *index, const sfshm_hunt_t *hunt)
{
  return index->kind == SFSHM_PATTERN_INDEX64 ? suspect_as(index, true, *hunt) : suspect_as(index, false, *hunt);
}

/* Collects the indices first .. end - 1 that are in the set of suspects (all: every index). There is room for all of
 * them. */
static inline __attribute__((always_inline)) int64_t collect_as(const sfshm_pattern_t *index, bool wide, bool all,
                                                                sfshm_hunt_t hunt, int64_t first, int64_t end,
                                                                sfshm_keyed_t places[])
{
  int64_t n = 0;
  for (int64_t i = first; i < end; i++) {
    int64_t key = index_at(index, wide, i);
    uint64_t place = suspect_hash((uint64_t)key, hunt.suspects_log);
    if (all || __builtin_expect((hunt.suspects[place >> 6] >> (place & 63) & 1) != 0, 0))
      places[n++] = (sfshm_keyed_t){key, i};
  }
  return n;
}

SFSHM_CLONES static int64_t collect_piece(const sfshm_pattern_t *index, bool all, const sfshm_hunt_t *hunt,
                                          int64_t first, int64_t end, sfshm_keyed_t places[])
{
  if (index->kind == SFSHM_PATTERN_INDEX64)
    return all ? collect_as(index, true, true, *hunt, first, end, places)
               : collect_as(index, true, false, *hunt, first, end, places);
  return all ? collect_as(index, false, true, *hunt, first, end, places)
             : collect_as(index, false, false, *hunt, first, end, places);
}

/* Grows places, if necessary. */
static sf_status_t make_room(sfshm_keyed_t **places, int64_t n, int64_t more, int64_t *room)
{
  if (*room - n >= more)
    return SF_OK;
  int64_t larger = 2 * *room + more;
  sfshm_keyed_t *moved = realloc(*places, (size_t)larger * sizeof *moved);
  if (moved == NULL)
    return sfshm_error(SF_ERR_NOMEM, "looking for indices that occur several times");
  *places = moved;
  *room = larger;
  return SF_OK;
}

static sf_status_t collect(const sfshm_pattern_t *index, bool all, const sfshm_hunt_t *hunt, sfshm_repeats_t *repeats)
{
  int64_t room = 0;
  sf_status_t status = SF_OK;
  for (int64_t first = 0; first < index->n && status == SF_OK; first += PIECE) {
    int64_t end = index->n - first > PIECE ? first + PIECE : index->n;
    status = make_room(&repeats->places, repeats->n, all ? index->n - first : end - first, &room);
    if (status == SF_OK)
      repeats->n += collect_piece(index, all, hunt, first, end, repeats->places + repeats->n);
  }
  return status;
}

/* Sorts the occurrences, and drops those of indices that occur once. */
static sf_status_t convict(sfshm_repeats_t *repeats)
{
  int64_t max = 0, n = 0;
  sfshm_keyed_t *places = repeats->places;
  repeats->scratch = malloc((size_t)repeats->n * sizeof *repeats->scratch + 1);
  if (repeats->scratch == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sorting %lld indices", (long long)repeats->n);
  for (int64_t i = 0; i < repeats->n; i++)
    max = places[i].key > max ? places[i].key : max;
  sfshm_sort(places, repeats->scratch, repeats->n, max);
  for (int64_t i = 0, next; i < repeats->n; i = next) {
    next = i + 1;
    while (next < repeats->n && places[next].key == places[i].key)
      next++;
    if (next - i < 2)
      continue;
    memmove(places + n, places + i, (size_t)(next - i) * sizeof *places);
    n += next - i;
  }
  repeats->n = n;
  return SF_OK;
}

static int log_of_bits(int64_t n)
{
  int log = MIN_LOG;
  while (log < MAX_LOG && ((int64_t)1 << log) / BITS_PER_INDEX < n)
    log++;
  return log;
}

sf_status_t sfshm_repeats_find(const sfshm_pattern_t *index, sfshm_repeats_t *repeats_p)
{
  sfshm_repeats_t repeats = {.n = 0};
  sfshm_hunt_t hunt = {.seen_log = log_of_bits(index->n)};
  hunt.suspects_log = hunt.seen_log - SUSPECT_SHIFT;
  size_t seen_words = (size_t)1 << (hunt.seen_log - 6), suspects_words = (size_t)1 << (hunt.suspects_log - 6);
  hunt.seen = calloc(seen_words + suspects_words, sizeof *hunt.seen);
  if (hunt.seen == NULL)
    return sfshm_error(SF_ERR_NOMEM, "looking for indices that occur several times");
  hunt.suspects = hunt.seen + seen_words;
  sf_status_t status = SF_OK;
  int64_t nsuspects = suspect(index, &hunt);
  if (nsuspects > 0)
    status = collect(index, nsuspects > index->n / ALL_SUSPECT, &hunt, &repeats);
  free(hunt.seen);
  if (status == SF_OK && repeats.n > 0)
    status = convict(&repeats);
  if (status != SF_OK || repeats.n == 0)
    sfshm_repeats_free(&repeats);
  if (status == SF_OK)
    *repeats_p = repeats;
  return status;
}

/* ---- Clustered indices ---- */

#define FEW_AGAIN 16 /* up to so many in a region, the earlier ones are searched for one by one */

/* One region of indices, first .. end - 1, and the positions of repetitions, if these are few. */
typedef struct sfshm_index_region {
  const uint32_t *index;
  int64_t first;
  int64_t end;
  int64_t again[FEW_AGAIN];
  int64_t nagain; /* number of repetitions, also if they are not all recorded */
} sfshm_index_region_t;

/* Finds the end of the region and stamps its indices with its number, counted from 1. */
static void enter_region(sfshm_index_region_t *region, int64_t n, int shift, uint16_t number, uint16_t stamps[])
{
  const uint32_t *index = region->index;
  uint32_t high = index[region->first] >> shift, mask = (UINT32_C(1) << shift) - 1;
  int64_t i = region->first;
  region->nagain = 0;
  for (; i < n && index[i] >> shift == high; i++) {
    uint16_t *stamp = &stamps[index[i] & mask];
    if (__builtin_expect(*stamp == number, 0)) {
      if (region->nagain < FEW_AGAIN)
        region->again[region->nagain] = i;
      region->nagain++;
    }
    *stamp = number;
  }
  region->end = i;
}

/* Number of occurrences of the index in first .. end - 1. */
SFSHM_CLONES static uint32_t count_equal(const uint32_t index[], int64_t first, int64_t end, uint32_t value)
{
  uint32_t n = 0;
  for (int64_t i = first; i < end; i++)
    n += index[i] == value;
  return n;
}

/* Appends the position of the first of several equal indices, unless it has been appended, and this position. */
static void append_again(const sfshm_index_region_t *region, int64_t place, sfshm_repeats_t *repeats)
{
  uint32_t value = region->index[place];
  if (count_equal(region->index, region->first, place, value) == 1) {
    int64_t first = region->first;
    while (region->index[first] != value)
      first++;
    repeats->places[repeats->n++] = (sfshm_keyed_t){value, first};
  }
  repeats->places[repeats->n++] = (sfshm_keyed_t){value, place};
}

/* Appends the positions of repeated indices of the region. All positions are sorted if repetitions are not few. */
static sf_status_t append_region(const sfshm_index_region_t *region, int64_t *room, sfshm_repeats_t *repeats)
{
  bool all = region->nagain > FEW_AGAIN;
  int64_t most = all ? region->end - region->first : 2 * region->nagain;
  sf_status_t status = make_room(&repeats->places, repeats->n, most, room);
  if (status != SF_OK)
    return status;
  sfshm_repeats_t part = {.places = repeats->places + repeats->n};
  if (all)
    for (int64_t i = region->first; i < region->end; i++)
      part.places[part.n++] = (sfshm_keyed_t){region->index[i], i};
  else
    for (int64_t i = 0; i < region->nagain; i++)
      append_again(region, region->again[i], &part);
  status = convict(&part);
  free(part.scratch);
  repeats->n += part.n;
  return status;
}

static sf_status_t find_in_regions(const uint32_t index[], int64_t n, int shift, uint16_t stamps[],
                                   sfshm_repeats_t *repeats)
{
  int64_t room = 0;
  uint16_t number = 0;
  sf_status_t status = SF_OK;
  sfshm_index_region_t region = {.index = index};
  for (; region.first < n && status == SF_OK; region.first = region.end) {
    enter_region(&region, n, shift, ++number, stamps);
    if (region.nagain > 0)
      status = append_region(&region, &room, repeats);
  }
  if (status != SF_OK || repeats->n == 0)
    return status;
  repeats->scratch = malloc((size_t)repeats->n * sizeof *repeats->scratch);
  if (repeats->scratch == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "sorting %lld indices", (long long)repeats->n);
  return status;
}

sf_status_t sfshm_repeats_find_clustered(const uint32_t index[], int64_t n, int shift, sfshm_repeats_t *repeats_p)
{
  sfshm_repeats_t repeats = {.n = 0};
  uint16_t *stamps = calloc((size_t)1 << shift, sizeof *stamps);
  if (stamps == NULL)
    return sfshm_error(SF_ERR_NOMEM, "looking for indices that occur several times");
  sf_status_t status = find_in_regions(index, n, shift, stamps, &repeats);
  free(stamps);
  if (status != SF_OK || repeats.n == 0)
    sfshm_repeats_free(&repeats);
  if (status == SF_OK)
    *repeats_p = repeats;
  return status;
}

void sfshm_repeats_free(sfshm_repeats_t *repeats)
{
  free(repeats->places);
  free(repeats->scratch);
  *repeats = (sfshm_repeats_t){.n = 0};
}
