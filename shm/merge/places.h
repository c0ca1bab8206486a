/* New places for the positions that remain of a message: see remains.h. */
#ifndef SFSHM_PLACES_H
#define SFSHM_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFSHM_NOBODY UINT32_MAX

/* What the leaf node tells the root node. Behind it: int32_t ranks[nranks], those of the leaf node that lead or win
 * anything in the whole, and perhaps more; they ascend. Then, each from a multiple of 8 on: a set of the positions that
 * remain; a set of those of these that another rank leads or wins than in the whole; and for each of these, ascending,
 * an sfshm_succession_t. */
typedef struct sfshm_notice {
  int64_t npositions; /* of the whole */
  int64_t nchanged;
  uint32_t nranks;
  uint32_t reserved;
} sfshm_notice_t;

typedef struct sfshm_succession {
  uint32_t lead; /* numbers in ranks */
  uint32_t winner;
} sfshm_succession_t;

static inline int64_t sfshm_set_words(int64_t n)
{
  return (n + 63) / 64;
}

static inline uint64_t sfshm_set_has(const uint64_t set[], int64_t i)
{
  return set[i >> 6] >> (i & 63) & 1;
}

/* A message's positions, and where they go. */
typedef struct sfshm_places {
  int64_t npositions;
  uint32_t nowners;
  uint32_t nranks;
  int64_t *owner_ends; /* in the whole */
  uint32_t *lead;      /* by position: number of the rank that leads it; SFSHM_NOBODY: it is gone */
  uint32_t *winner;    /* by position, likewise */
  uint32_t *place;     /* by position, of those that remain; less than npositions of all */
  int64_t *turn_ends;  /* by owner and rank: behind the last place of a root of the owner that the rank leads */
  int64_t *turn;       /* for the making */
  int64_t nplaces;
} sfshm_places_t;

/* Makes room; nothing remains yet. What has been made is freed by sfshm_places_free, also after an error. */
sf_status_t sfshm_places_init(sfshm_places_t *places, int64_t npositions, uint32_t nowners, uint32_t nranks);
void sfshm_places_free(sfshm_places_t *places);

/* Of the positions that somebody leads. */
void sfshm_places_find(sfshm_places_t *places);

/* Where the places of an owner's roots end. */
static inline int64_t sfshm_places_owner_end(const sfshm_places_t *places, uint32_t owner)
{
  return places->turn_ends[((size_t)owner + 1) * places->nranks - 1];
}

/* Where those of a turn begin. */
static inline int64_t sfshm_places_turn_begin(const sfshm_places_t *places, uint32_t owner, uint32_t rank)
{
  size_t turn = (size_t)owner * places->nranks + rank;
  return turn > 0 ? places->turn_ends[turn - 1] : 0;
}

static inline int64_t sfshm_places_turn_end(const sfshm_places_t *places, uint32_t owner, uint32_t rank)
{
  return places->turn_ends[(size_t)owner * places->nranks + rank];
}

#endif
