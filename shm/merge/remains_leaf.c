/* What remains on the leaf node: see remains.h. Any thread. */
#include <stdlib.h>
#include <string.h>

#include "shm/error.h"
#include "shm/merge/draft.h"
#include "shm/merge/keys.h"
#include "shm/merge/places.h"
#include "shm/merge/remains.h"

/* What remains can't be foreseen by the processor: loops over values and positions have no branches, and write what is
 * written over if it does not count. */
typedef struct making {
  const sfshm_image_t *whole;
  const uint64_t *const *kept;
  sfshm_places_t places;
  int64_t *first;     /* by part: its first value, and the end */
  uint32_t *from;     /* position of each value */
  uint32_t *old_lead; /* by position, in the whole */
  uint32_t *old_winner;
  uint32_t *contributors; /* by position */
  int64_t nkept;          /* values */

  uint32_t nlayers;
  int64_t *layer_ends; /* units */
  uint32_t *staged;    /* place of each unit */
  uint32_t *next;      /* unit of the next contributor to the same place */
  uint32_t *cursor;    /* by place: unit of the next contributor */
} making_t;

static void free_making(making_t *making)
{
  sfshm_places_free(&making->places);
  free(making->first);
  free(making->from);
  free(making->old_lead);
  free(making->old_winner);
  free(making->contributors);
  free(making->layer_ends);
  free(making->staged);
  free(making->next);
  free(making->cursor);
}

static sf_status_t alloc_making(making_t *making, const int64_t owner_ends[], uint32_t nowners, int64_t nvalues)
{
  size_t n = (size_t)making->whole->header.bcast_values + 1;
  sf_status_t status =
      sfshm_places_init(&making->places, making->whole->header.bcast_values, nowners, making->whole->header.nparts);
  if (status != SF_OK)
    return status;
  memcpy(making->places.owner_ends, owner_ends, nowners * sizeof *owner_ends);
  making->first = calloc((size_t)making->places.nranks + 1, sizeof *making->first);
  making->from = malloc(((size_t)nvalues + 1) * sizeof *making->from);
  making->old_lead = malloc(n * sizeof *making->old_lead);
  making->old_winner = malloc(n * sizeof *making->old_winner);
  making->contributors = calloc(n, sizeof *making->contributors);
  if (making->first == NULL || making->from == NULL || making->old_lead == NULL || making->old_winner == NULL ||
      making->contributors == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of %zu values", n);
  memset(making->old_lead, 0xff, n * sizeof *making->old_lead);
  return SF_OK;
}

static sf_status_t init_making(making_t *making, const int64_t owner_ends[], uint32_t nowners)
{
  const sfshm_leaf_part_t *parts = sfshm_leaf_parts(making->whole);
  int64_t nvalues = 0;
  for (uint32_t i = 0; i < making->whole->header.nparts; i++)
    nvalues += parts[i].from.n;
  sf_status_t status = alloc_making(making, owner_ends, nowners, nvalues);
  for (uint32_t i = 0; i < making->whole->header.nparts && status == SF_OK; i++) {
    sfshm_leaf_positions_t positions;
    status = sfshm_leaf_part_open(making->whole, i, parts[i].from.n, parts[i].from.n, &positions);
    if (status != SF_OK)
      break;
    sfshm_write_narrow(&positions.from, 0, making->from + making->first[i]);
    making->first[i + 1] = making->first[i] + parts[i].from.n;
  }
  return status;
}

static inline int64_t nvalues_of(const making_t *making, uint32_t i)
{
  return making->first[i + 1] - making->first[i];
}

static inline uint32_t lower(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

/* Ranks ascend: the first to contribute leads, the last one wins. */
static void find_leads(making_t *making)
{
  const sfshm_places_t *places = &making->places;
  for (uint32_t i = 0; i < places->nranks; i++) {
    const uint32_t *from = making->from + making->first[i];
    const uint64_t *kept = making->kept[i];
    int64_t n = nvalues_of(making, i);
    for (int64_t v = 0; v < n; v++) {
      uint32_t p = from[v], stays = (uint32_t)sfshm_set_has(kept, v), mask = 0u - stays;
      making->old_lead[p] = lower(making->old_lead[p], i);
      making->old_winner[p] = i;
      places->lead[p] = lower(places->lead[p], i | ~mask);
      places->winner[p] = (places->winner[p] & ~mask) | (i & mask);
      making->contributors[p] += stays;
      making->nkept += stays;
    }
  }
}

/* ---- Staging ----------------------------------------------------------------------------------------------------- */

static sf_status_t alloc_layers(making_t *making, int64_t nstaged)
{
  size_t n = (size_t)nstaged + 1;
  making->layer_ends = calloc((size_t)making->places.nranks + 1, sizeof *making->layer_ends);
  making->staged = malloc(n * sizeof *making->staged);
  making->next = calloc(n, sizeof *making->next);
  making->cursor = malloc(((size_t)making->places.nplaces + 1) * sizeof *making->cursor);
  if (making->layer_ends == NULL || making->staged == NULL || making->next == NULL || making->cursor == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of %lld values", (long long)nstaged);
  return SF_OK;
}

/* Those of the positions that remain, by place. The last entry of the array is for the others. */
static uint32_t *contributors_by_place(const making_t *making)
{
  const sfshm_places_t *places = &making->places;
  uint32_t *contributors = malloc(((size_t)places->nplaces + 1) * sizeof *contributors);
  for (int64_t p = 0; contributors != NULL && p < places->npositions; p++)
    contributors[places->lead[p] != SFSHM_NOBODY ? places->place[p] : places->nplaces] = making->contributors[p];
  return contributors;
}

/* Each layer has the places of the one before that have one more contributor. */
static void fill_layers(making_t *making, const uint32_t contributors[])
{
  int64_t nplaces = making->places.nplaces, end = 0, begin = 0;
  for (int64_t place = 0; place < nplaces; place++) {
    making->cursor[place] = (uint32_t)end;
    making->staged[end] = (uint32_t)place;
    end += contributors[place] > 1;
  }
  while (end > begin) {
    int64_t before = end;
    making->layer_ends[making->nlayers++] = end;
    for (int64_t unit = begin; unit < before; unit++) {
      making->next[unit] = (uint32_t)end;
      making->staged[end] = making->staged[unit];
      end += contributors[making->staged[unit]] > making->nlayers + 1;
    }
    begin = before;
  }
}

static sf_status_t make_layers(making_t *making)
{
  int64_t nstaged = making->nkept - making->places.nplaces;
  if (nstaged == 0)
    return SF_OK;
  sf_status_t status = alloc_layers(making, nstaged);
  uint32_t *contributors = status == SF_OK ? contributors_by_place(making) : NULL;
  if (status == SF_OK && contributors == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "plan of %lld values", (long long)nstaged);
  if (status == SF_OK)
    fill_layers(making, contributors);
  free(contributors);
  return status;
}

/* ---- Image ------------------------------------------------------------------------------------------------------- */

static int64_t write_from(const making_t *making, uint32_t i, uint32_t index[])
{
  const uint32_t *from = making->from + making->first[i];
  int64_t n = 0, nvalues = nvalues_of(making, i);
  for (int64_t v = 0; v < nvalues; v++) {
    index[n] = making->places.place[from[v]];
    n += (int64_t)sfshm_set_has(making->kept[i], v);
  }
  return n;
}

/* The unit that each value that remains goes to. Values that don't lead take the next unit of their place. */
static void write_to(const making_t *making, uint32_t i, uint32_t index[])
{
  const uint32_t *from = making->from + making->first[i];
  uint32_t nplaces = (uint32_t)making->places.nplaces;
  int64_t n = 0, nvalues = nvalues_of(making, i);
  for (int64_t v = 0; v < nvalues; v++) {
    uint32_t stays = (uint32_t)sfshm_set_has(making->kept[i], v), gone = 0u - (1u - stays);
    uint32_t leads = making->places.lead[from[v]] == i, place = making->places.place[from[v]] & ~gone;
    uint32_t unit = making->cursor[place], takes = 0u - (stays & (1u - leads));
    making->cursor[place] = (making->next[unit & takes] & takes) | (unit & ~takes);
    index[n] = ((nplaces + unit) & takes) | (place & ~takes);
    n += stays;
  }
}

/* Whether something of the rank's remains. */
static bool make_part(const making_t *making, uint32_t i, sfshm_draft_t *image, sfshm_leaf_part_t *part)
{
  int64_t n = write_from(making, i, sfshm_draft_end(image));
  if (n == 0)
    return false;
  part->rank = sfshm_image_rank(making->whole, i);
  part->from = sfshm_draft_keep_pattern(image, n, false);
  part->to = part->from;
  if (making->nlayers == 0)
    return true;
  write_to(making, i, sfshm_draft_end(image));
  part->to = sfshm_draft_keep_pattern(image, n, false);
  return true;
}

/* Not more than this: each array may be one longer while it is written. */
static size_t image_bytes(const making_t *making)
{
  size_t nparts = making->places.nranks, indices = 3 * (size_t)making->nkept;
  return sizeof(sfshm_image_header_t) + nparts * sizeof(sfshm_leaf_part_t) +
         making->nlayers * sizeof(sfshm_stored_pattern_t) + indices * sizeof(uint32_t) +
         (2 * nparts + making->nlayers + 1) * 16;
}

static sfshm_stored_pattern_t store_layer(const making_t *making, uint32_t k, sfshm_draft_t *image)
{
  int64_t begin = k > 0 ? making->layer_ends[k - 1] : 0, n = making->layer_ends[k] - begin;
  memcpy(sfshm_draft_end(image), making->staged + begin, (size_t)n * sizeof *making->staged);
  return sfshm_draft_keep_pattern(image, n, false);
}

static sf_status_t make_image(const making_t *making, sfshm_draft_t *image)
{
  int64_t nplaces = making->places.nplaces;
  sfshm_image_header_t header = {.magic = SFSHM_LEAF_IMAGE_MAGIC,
                                 .bcast_values = nplaces,
                                 .reduce_values = nplaces,
                                 .staged = making->nkept - nplaces,
                                 .nlayers = making->nlayers};
  sf_status_t status = sfshm_draft_init(image, image_bytes(making));
  if (status != SF_OK)
    return status;
  sfshm_draft_append(image, sizeof header);
  header.parts = sfshm_draft_append(image, making->places.nranks * sizeof(sfshm_leaf_part_t));
  header.layers = sfshm_draft_append(image, header.nlayers * sizeof(sfshm_stored_pattern_t));
  sfshm_leaf_part_t *parts = sfshm_draft_at(image, header.parts);
  for (uint32_t i = 0; i < making->places.nranks; i++)
    header.nparts += make_part(making, i, image, &parts[header.nparts]);
  sfshm_stored_pattern_t *layers = sfshm_draft_at(image, header.layers);
  for (uint32_t k = 0; k < header.nlayers; k++)
    layers[k] = store_layer(making, k, image);
  memcpy(image->base, &header, sizeof header);
  sfshm_draft_finish(image);
  return SF_OK;
}

/* ---- Notice ------------------------------------------------------------------------------------------------------ */

static inline uint64_t is_changed(const making_t *making, int64_t p)
{
  const sfshm_places_t *places = &making->places;
  return (places->lead[p] != SFSHM_NOBODY) &
         ((places->lead[p] != making->old_lead[p]) | (places->winner[p] != making->old_winner[p]));
}

/* successions: with room for one more. */
static void write_sets(const making_t *making, uint64_t remain[], uint64_t changed[], sfshm_succession_t successions[])
{
  int64_t n = 0;
  for (int64_t p = 0; p < making->places.npositions; p++) {
    uint64_t change = is_changed(making, p);
    remain[p >> 6] |= (uint64_t)(making->places.lead[p] != SFSHM_NOBODY) << (p & 63);
    changed[p >> 6] |= change << (p & 63);
    successions[n] = (sfshm_succession_t){making->places.lead[p], making->places.winner[p]};
    n += (int64_t)change;
  }
}

static sf_status_t make_notice(const making_t *making, sfshm_draft_t *notice)
{
  sfshm_notice_t head = {.npositions = making->places.npositions, .nranks = making->places.nranks};
  for (int64_t p = 0; p < head.npositions; p++)
    head.nchanged += (int64_t)is_changed(making, p);
  size_t set_bytes = (size_t)sfshm_set_words(head.npositions) * sizeof(uint64_t);
  sf_status_t status =
      sfshm_draft_init(notice, sizeof head + sfshm_draft_array_bytes(head.nranks, sizeof(int32_t)) + 2 * set_bytes +
                                   ((size_t)head.nchanged + 1) * sizeof(sfshm_succession_t));
  if (status != SF_OK)
    return status;
  sfshm_draft_append(notice, sizeof head);
  memcpy(notice->base, &head, sizeof head);
  int32_t *ranks = sfshm_draft_at(notice, sfshm_draft_append(notice, head.nranks * sizeof *ranks));
  for (uint32_t i = 0; i < head.nranks; i++)
    ranks[i] = sfshm_image_rank(making->whole, i);
  uint64_t *remain = sfshm_draft_at(notice, sfshm_draft_append(notice, set_bytes));
  uint64_t *changed = sfshm_draft_at(notice, sfshm_draft_append(notice, set_bytes));
  uint64_t successions = sfshm_draft_append(notice, (size_t)head.nchanged * sizeof(sfshm_succession_t));
  write_sets(making, remain, changed, sfshm_draft_at(notice, successions));
  return SF_OK;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static sf_status_t take_ends(const making_t *making, sfshm_remains_t *remains)
{
  remains->owner_ends = malloc(((size_t)making->places.nowners + 1) * sizeof *remains->owner_ends);
  if (remains->owner_ends == NULL)
    return sfshm_error(SF_ERR_NOMEM, "plan of %u owners", making->places.nowners);
  for (uint32_t owner = 0; owner < making->places.nowners; owner++)
    remains->owner_ends[owner] = sfshm_places_owner_end(&making->places, owner);
  return SF_OK;
}

static sf_status_t make_all(making_t *making, sfshm_remains_t *remains)
{
  sfshm_draft_t image = {0}, notice = {0};
  find_leads(making);
  sfshm_places_find(&making->places);
  sf_status_t status = take_ends(making, remains);
  if (status == SF_OK)
    status = make_notice(making, &notice);
  remains->notice = notice.base;
  remains->notice_bytes = notice.length_bytes;
  if (status != SF_OK || making->nkept == 0)
    return status;
  status = make_layers(making);
  if (status == SF_OK)
    status = make_image(making, &image);
  remains->leaf_image = image.base;
  remains->leaf_image_bytes = image.length_bytes;
  return status;
}

sf_status_t sfshm_remains_of_leaves(const sfshm_image_t *whole, const int64_t owner_ends[], uint32_t nowners,
                                    const uint64_t *const kept[], sfshm_remains_t *remains_p)
{
  making_t making = {.whole = whole, .kept = kept};
  sfshm_remains_t remains = {0};
  sf_status_t status = init_making(&making, owner_ends, nowners);
  if (status == SF_OK)
    status = make_all(&making, &remains);
  free_making(&making);
  if (status == SF_OK)
    *remains_p = remains;
  else
    sfshm_remains_free(&remains);
  return status;
}

void sfshm_remains_free(sfshm_remains_t *remains)
{
  free(remains->leaf_image);
  free(remains->owner_ends);
  free(remains->notice);
  *remains = (sfshm_remains_t){0};
}
