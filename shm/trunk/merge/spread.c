/* Computes positions of sparse roots: see place.h. Any thread.
 *
 * A table of all keys would be too large, and few roots are repeated. So repeated roots are found first, and the values
 * between them get positions in runs. Lists in which many roots seem repeated only cost sorting. */
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/edges/repeats.h"
#include "shm/trunk/merge/place.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Options that -O2 lacks: vectorise loops of unknown length. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

/* The values of an owner's pieces. */
typedef struct sfshm_crowd {
  sfshm_owner_t *owner;
  int64_t nvalues;
  uint32_t *from; /* position of each value; before that, for shared roots, the first value of the root */
  uint32_t n;     /* roots so far */
} sfshm_crowd_t;

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static sf_status_t write_keys(const sfshm_piece_t pieces[], sfshm_crowd_t *crowd)
{
  sfshm_owner_t *owner = crowd->owner;
  bool wide = sfshm_keys_are_wide(&owner->keys);
  if (wide)
    owner->wide_key = malloc((size_t)crowd->nvalues * sizeof *owner->wide_key);
  if (wide && owner->wide_key == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%lld roots of rank %d", (long long)crowd->nvalues, owner->rank);
  for (int64_t i = 0, value = 0; i < owner->npieces; i++) {
    const sfshm_pattern_t *root = &pieces[i].block->edges->value_root;
    if (wide)
      sfshm_write_wide(root, owner->keys.base, owner->wide_key + value);
    else
      sfshm_write_narrow(root, owner->keys.base, owner->key + value);
    value += root->n;
  }
  return SF_OK;
}

static sfshm_pattern_t list_keys(const sfshm_crowd_t *crowd)
{
  const sfshm_owner_t *owner = crowd->owner;
  if (owner->wide_key != NULL)
    return (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = crowd->nvalues, .index64 = owner->wide_key};
  return (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = crowd->nvalues, .index32 = owner->key};
}

/* ---- Shared roots ------------------------------------------------------------------------------------------------ */

static void mark_shared(const sfshm_repeats_t *repeats, sfshm_crowd_t *crowd)
{
  int64_t first = 0;
  for (int64_t i = 0; i < repeats->n; i++) {
    int64_t value = repeats->places[i].item;
    if (i == 0 || repeats->places[i].key != repeats->places[i - 1].key)
      first = value;
    crowd->from[value] = (uint32_t)first;
    crowd->owner->shared[value >> 6] |= UINT64_C(1) << (value & 63);
  }
}

static sf_status_t find_shared(sfshm_crowd_t *crowd)
{
  sfshm_repeats_t repeats = {.n = 0};
  sfshm_pattern_t keys = list_keys(crowd);
  crowd->owner->shared = calloc((size_t)crowd->nvalues / 64 + 1, sizeof *crowd->owner->shared);
  if (crowd->owner->shared == NULL)
    return sfshm_error(SF_ERR_NOMEM, "merging %lld values", (long long)crowd->nvalues);
  sf_status_t status = sfshm_repeats_find(&keys, &repeats);
  if (status == SF_OK)
    mark_shared(&repeats, crowd);
  sfshm_repeats_free(&repeats);
  return status;
}

int64_t sfshm_owner_next_shared(const sfshm_owner_t *owner, int64_t value, int64_t end)
{
  while (value < end) {
    uint64_t bits = owner->shared[value >> 6] >> (value & 63);
    if (bits != 0) {
      value += __builtin_ctzll(bits);
      break;
    }
    value = (value | 63) + 1;
  }
  return value < end ? value : end;
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

/* Assigns the next positions to values with new roots. */
static void place_run(sfshm_crowd_t *crowd, int64_t begin, int64_t end)
{
  const sfshm_owner_t *owner = crowd->owner;
  uint32_t *from = crowd->from + begin, position = (uint32_t)owner->first + crowd->n, n = (uint32_t)(end - begin);
  for (uint32_t i = 0; i < n; i++)
    from[i] = position + i;
  if (owner->wide_key != NULL && crowd->n != begin)
    memmove(owner->wide_key + crowd->n, owner->wide_key + begin, n * sizeof *owner->wide_key);
  else if (crowd->n != begin)
    memmove(owner->key + crowd->n, owner->key + begin, n * sizeof *owner->key);
  crowd->n += n;
}

/* A value with a shared root. Returns false if the root is known from the same piece. */
static bool place_shared(sfshm_crowd_t *crowd, int64_t value, int32_t winner)
{
  uint32_t first = crowd->from[value];
  if (first == value) {
    crowd->owner->spots[crowd->n] = (sfshm_spot_t){1, winner};
    place_run(crowd, value, value + 1);
    return true;
  }
  uint32_t position = crowd->from[first];
  sfshm_spot_t *spot = &crowd->owner->spots[position - (uint32_t)crowd->owner->first];
  bool twice = spot->winner == winner;
  crowd->from[value] = position;
  *spot = (sfshm_spot_t){spot->contributors + 1, winner};
  return !twice;
}

/* The values of piece i, begin .. end - 1. */
static sf_status_t place_values(sfshm_crowd_t *crowd, sfshm_piece_t *piece, int32_t i, int64_t begin, int64_t end)
{
  uint32_t before = crowd->n;
  for (int64_t value = begin; value < end; value++) {
    int64_t shared = sfshm_owner_next_shared(crowd->owner, value, end);
    place_run(crowd, value, shared);
    if (shared < end && !place_shared(crowd, shared, i))
      return sfshm_merge_refuse_twice(piece->block);
    value = shared;
  }
  piece->first = crowd->owner->first + before;
  piece->nled = crowd->n - before;
  piece->from = piece->nled < end - begin ? crowd->from + begin : NULL;
  return SF_OK;
}

sf_status_t sfshm_positions_place_spread(sfshm_positions_t *positions, sfshm_owner_t *owner)
{
  sfshm_piece_t *pieces = positions->pieces + owner->first_piece;
  sfshm_crowd_t crowd = {.owner = owner, .nvalues = owner->n, .from = positions->from + positions->from_used};
  sf_status_t status = write_keys(pieces, &crowd);
  if (status == SF_OK)
    status = find_shared(&crowd);
  int64_t value = 0;
  for (int32_t i = 0; i < owner->npieces && status == SF_OK; i++) {
    int64_t end = value + pieces[i].block->edges->value_root.n;
    status = place_values(&crowd, &pieces[i], i, value, end);
    value = end;
  }
  owner->n = crowd.n;
  owner->nvalues = crowd.nvalues;
  owner->from = crowd.from;
  positions->from_used += crowd.nvalues;
  return status;
}
