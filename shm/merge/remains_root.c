/* What remains on the root node: see remains.h. Any thread. */
#include <stdlib.h>
#include <string.h>

#include "shm/error.h"
#include "shm/merge/draft.h"
#include "shm/merge/places.h"
#include "shm/merge/remains.h"

/* A notice, opened. */
typedef struct told {
  sfshm_notice_t head;
  const int32_t *ranks;
  const uint64_t *remain;
  const uint64_t *changed;
  const sfshm_succession_t *successions;
} told_t;

typedef struct making {
  const sfshm_image_t *whole;
  told_t told;
  uint32_t *number; /* of each rank up to the last one told; SFSHM_NOBODY: it was not told */
  sfshm_places_t places;
  sfshm_root_roots_t *owners;
} making_t;

static void free_making(making_t *making)
{
  sfshm_places_free(&making->places);
  free(making->owners);
  free(making->number);
}

/* ---- Notice ------------------------------------------------------------------------------------------------------ */

static sf_status_t wrong_notice(const char *what)
{
  return sfshm_error(SF_ERR_PROTO, "notice of what remains of a graph: %s", what);
}

static bool take_bytes(size_t *left, uint64_t n, size_t width)
{
  if (n > *left / width)
    return false;
  size_t bytes = sfshm_draft_array_bytes((int64_t)n, width);
  if (bytes > *left)
    return false;
  *left -= bytes;
  return true;
}

static bool ranks_ascend(const told_t *told, int32_t group_size)
{
  int32_t least = 0;
  for (uint32_t i = 0; i < told->head.nranks; i++) {
    if (told->ranks[i] < least || told->ranks[i] >= group_size)
      return false;
    least = told->ranks[i] + 1;
  }
  return true;
}

static sf_status_t open_notice(const void *notice, size_t bytes, int64_t npositions, int32_t group_size, told_t *told)
{
  const char *at = notice;
  if (bytes < sizeof told->head)
    return wrong_notice("it is too short");
  size_t left = bytes - sizeof told->head;
  memcpy(&told->head, notice, sizeof told->head);
  const sfshm_notice_t *head = &told->head;
  if (head->npositions != npositions || head->nchanged < 0 || head->nchanged > npositions || head->nranks < 1)
    return wrong_notice("it is about another graph");
  uint64_t nwords = (uint64_t)sfshm_set_words(npositions);
  if (!take_bytes(&left, head->nranks, sizeof(int32_t)) || !take_bytes(&left, 2 * nwords, sizeof(uint64_t)) ||
      !take_bytes(&left, (uint64_t)head->nchanged, sizeof(sfshm_succession_t)) || left != 0)
    return wrong_notice("its length does not match");
  at += sizeof *head;
  told->ranks = (const int32_t *)(const void *)at;
  at += sfshm_draft_array_bytes(head->nranks, sizeof(int32_t));
  told->remain = (const uint64_t *)(const void *)at;
  told->changed = told->remain + nwords;
  told->successions = (const sfshm_succession_t *)(const void *)(told->changed + nwords);
  return ranks_ascend(told, group_size) ? SF_OK : wrong_notice("its ranks do not ascend within the group");
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

static sf_status_t number_ranks(making_t *making)
{
  const told_t *told = &making->told;
  size_t n = (size_t)told->ranks[told->head.nranks - 1] + 1;
  making->number = malloc(n * sizeof *making->number);
  if (making->number == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%zu ranks", n);
  memset(making->number, 0xff, n * sizeof *making->number);
  for (uint32_t i = 0; i < told->head.nranks; i++)
    making->number[told->ranks[i]] = i;
  return SF_OK;
}

static inline uint32_t number_of(const making_t *making, int32_t rank)
{
  int32_t last = making->told.ranks[making->told.head.nranks - 1];
  return rank <= last ? making->number[rank] : SFSHM_NOBODY;
}

/* Those of a turn in the whole. What remains can't be foreseen by the processor: no branches. */
static sf_status_t take_turn(making_t *making, const sfshm_root_turn_t *turn)
{
  uint32_t lead = number_of(making, turn->rank), bad = lead == SFSHM_NOBODY;
  sfshm_places_t *places = &making->places;
  for (int64_t i = 0, p = turn->first; i < turn->root.n; i++, p++) {
    places->lead[p] = lead | ((uint32_t)sfshm_set_has(making->told.remain, p) - 1u);
    places->winner[p] = turn->winners != NULL ? number_of(making, turn->winners[i]) : lead;
    bad |= places->winner[p] == SFSHM_NOBODY;
  }
  return bad == 0 ? SF_OK : wrong_notice("it lacks a rank");
}

static sf_status_t take_owner(making_t *making, uint32_t i)
{
  sfshm_root_roots_t *owner = &making->owners[i];
  sf_status_t status = sfshm_root_part_open(making->whole, i, INT64_MAX, owner);
  if (status != SF_OK)
    return status;
  making->places.owner_ends[i] = owner->first + owner->root.n;
  for (uint32_t k = 0; k < owner->nsegments && status == SF_OK; k++) {
    sfshm_root_turn_t turn;
    status = sfshm_root_segment_open(making->whole, owner, k, INT64_MAX, &turn);
    if (status == SF_OK)
      status = take_turn(making, &turn);
  }
  return status;
}

static sf_status_t take_change(making_t *making, int64_t p, int64_t n)
{
  const told_t *told = &making->told;
  if (n >= told->head.nchanged || p >= told->head.npositions || sfshm_set_has(told->remain, p) == 0)
    return wrong_notice("more is changed than it says, or than remains");
  sfshm_succession_t next = told->successions[n];
  if (next.lead > next.winner || next.winner >= told->head.nranks)
    return wrong_notice("a rank wins that is not there");
  making->places.lead[p] = next.lead;
  making->places.winner[p] = next.winner;
  return SF_OK;
}

/* Another rank leads or wins. */
static sf_status_t take_changes(making_t *making)
{
  const told_t *told = &making->told;
  sf_status_t status = SF_OK;
  int64_t n = 0;
  for (int64_t word = 0; word < sfshm_set_words(told->head.npositions); word++)
    for (uint64_t bits = told->changed[word]; bits != 0 && status == SF_OK; bits &= bits - 1)
      status = take_change(making, word * 64 + __builtin_ctzll(bits), n++);
  if (status == SF_OK && n != told->head.nchanged)
    status = wrong_notice("less is changed than it says");
  return status;
}

static sf_status_t find_places(making_t *making)
{
  uint32_t nowners = making->whole->header.nparts;
  sf_status_t status =
      sfshm_places_init(&making->places, making->told.head.npositions, nowners, making->told.head.nranks);
  making->owners = calloc((size_t)nowners + 1, sizeof *making->owners);
  if (status == SF_OK && making->owners == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "plan of %u owners", nowners);
  if (status == SF_OK)
    status = number_ranks(making);
  for (uint32_t i = 0; i < nowners && status == SF_OK; i++)
    status = take_owner(making, i);
  if (status == SF_OK)
    status = take_changes(making);
  if (status == SF_OK)
    sfshm_places_find(&making->places);
  return status;
}

/* ---- Image ------------------------------------------------------------------------------------------------------- */

static int64_t owner_begin(const making_t *making, uint32_t i)
{
  return i > 0 ? sfshm_places_owner_end(&making->places, i - 1) : 0;
}

static size_t image_bytes(const making_t *making)
{
  size_t nparts = making->places.nowners, bytes = sizeof(sfshm_image_header_t) + nparts * sizeof(sfshm_root_part_t);
  for (uint32_t i = 0; i < nparts; i++) {
    bool wide = making->owners[i].survey.max > UINT32_MAX;
    int64_t n = sfshm_places_owner_end(&making->places, i) - owner_begin(making, i);
    bytes += sfshm_draft_array_bytes(n, wide ? sizeof(int64_t) : sizeof(uint32_t)) + (size_t)n * sizeof(int32_t) +
             making->places.nranks * (sizeof(sfshm_root_segment_t) + 8) + sizeof(int64_t);
  }
  return bytes;
}

/* Where the k-th root of an owner goes among those that remain; n: it does not. */
static inline int64_t place_of(const making_t *making, const sfshm_root_roots_t *owner, int64_t k, int64_t begin,
                               int64_t n)
{
  int64_t p = owner->first + k;
  return making->places.lead[p] != SFSHM_NOBODY ? making->places.place[p] - begin : n;
}

/* What does not remain is written behind the rest. */
static sfshm_stored_pattern_t store_roots(const making_t *making, uint32_t i, sfshm_draft_t *image)
{
  const sfshm_root_roots_t *owner = &making->owners[i];
  bool wide = owner->survey.max > UINT32_MAX;
  int64_t begin = owner_begin(making, i), n = sfshm_places_owner_end(&making->places, i) - begin;
  int64_t *wide_root = sfshm_draft_end(image);
  uint32_t *narrow_root = sfshm_draft_end(image);
  if (wide)
    for (int64_t k = 0; k < owner->root.n; k++)
      wide_root[place_of(making, owner, k, begin, n)] = sfshm_pattern_at(&owner->root, k);
  else
    for (int64_t k = 0; k < owner->root.n; k++)
      narrow_root[place_of(making, owner, k, begin, n)] = (uint32_t)sfshm_pattern_at(&owner->root, k);
  return sfshm_draft_keep_pattern(image, n, wide);
}

/* By place, of all turns of an owner, and one for what does not remain. */
static void find_winners(const making_t *making, uint32_t i, int32_t winners[])
{
  const sfshm_root_roots_t *owner = &making->owners[i];
  int64_t begin = owner_begin(making, i), n = sfshm_places_owner_end(&making->places, i) - begin;
  for (int64_t k = 0; k < owner->root.n; k++)
    winners[place_of(making, owner, k, begin, n)] = making->told.ranks[making->places.winner[owner->first + k]];
}

static uint64_t store_winners(const int32_t winners[], int64_t n, int32_t rank, sfshm_draft_t *image)
{
  int32_t others = 0;
  for (int64_t k = 0; k < n; k++)
    others |= winners[k] ^ rank;
  if (others == 0)
    return 0;
  memcpy(sfshm_draft_end(image), winners, (size_t)n * sizeof *winners);
  return sfshm_draft_keep(image, (size_t)n * sizeof *winners);
}

static int64_t turn_length(const making_t *making, uint32_t owner, uint32_t rank)
{
  return sfshm_places_turn_end(&making->places, owner, rank) - sfshm_places_turn_begin(&making->places, owner, rank);
}

static void make_segments(const making_t *making, uint32_t i, const sfshm_root_part_t *part, const int32_t winners[],
                          sfshm_draft_t *image)
{
  sfshm_root_segment_t *segment = sfshm_draft_at(image, part->segments);
  for (uint32_t rank = 0; rank < making->places.nranks; rank++) {
    int64_t n = turn_length(making, i, rank), first = sfshm_places_turn_begin(&making->places, i, rank);
    if (n == 0)
      continue;
    segment->rank = making->told.ranks[rank];
    segment->first = first;
    segment->root = sfshm_draft_slice(image, &part->root, first - part->first, n);
    segment->winners = store_winners(winners + (first - part->first), n, segment->rank, image);
    segment++;
  }
}

static void make_part(const making_t *making, uint32_t i, int32_t winners[], sfshm_draft_t *image,
                      sfshm_root_part_t *part)
{
  *part = (sfshm_root_part_t){.rank = making->owners[i].rank, .first = owner_begin(making, i)};
  for (uint32_t rank = 0; rank < making->places.nranks; rank++)
    part->nsegments += turn_length(making, i, rank) > 0;
  part->segments = sfshm_draft_append(image, part->nsegments * sizeof(sfshm_root_segment_t));
  part->root = store_roots(making, i, image);
  find_winners(making, i, winners);
  make_segments(making, i, part, winners, image);
}

static sf_status_t make_image(const making_t *making, sfshm_draft_t *image)
{
  const sfshm_places_t *places = &making->places;
  sfshm_image_header_t header = {
      .magic = SFSHM_ROOT_IMAGE_MAGIC, .bcast_values = places->nplaces, .reduce_values = places->nplaces};
  int32_t *winners = malloc(((size_t)places->nplaces + 1) * sizeof *winners);
  sf_status_t status = winners != NULL ? sfshm_draft_init(image, image_bytes(making))
                                       : sfshm_error(SF_ERR_NOMEM, "plan of %lld values", (long long)places->nplaces);
  if (status == SF_OK) {
    sfshm_draft_append(image, sizeof header);
    header.parts = sfshm_draft_append(image, places->nowners * sizeof(sfshm_root_part_t));
    sfshm_root_part_t *parts = sfshm_draft_at(image, header.parts);
    for (uint32_t i = 0; i < places->nowners; i++)
      if (sfshm_places_owner_end(places, i) > owner_begin(making, i))
        make_part(making, i, winners, image, &parts[header.nparts++]);
    memcpy(image->base, &header, sizeof header);
    sfshm_draft_finish(image);
  }
  free(winners);
  return status;
}

sf_status_t sfshm_remains_of_roots(const sfshm_image_t *whole, const void *notice, size_t notice_bytes,
                                   int32_t group_size, void **image_p, size_t *image_bytes_p)
{
  making_t making = {.whole = whole};
  sfshm_draft_t image = {0};
  sf_status_t status = open_notice(notice, notice_bytes, whole->header.bcast_values, group_size, &making.told);
  if (status == SF_OK)
    status = find_places(&making);
  if (status == SF_OK && making.places.nplaces > 0)
    status = make_image(&making, &image);
  free_making(&making);
  if (status != SF_OK)
    return status;
  *image_p = image.base;
  *image_bytes_p = image.length_bytes;
  return SF_OK;
}
