/* Slot rounds: the order in which contributions are combined at roots. Gives the slot of each contribution (slots of a
 * root are consecutive) and rounds, in each of which a root takes at most one contribution. The thread that uses the
 * graph. */
#ifndef SFC_PLAN_SLOT_ROUNDS_H
#define SFC_PLAN_SLOT_ROUNDS_H

#include <stdbool.h>

#include <sf/sf_status.h>

#include "shm/edges/pattern.h"

/* One round: at most one contribution to each root. */
typedef struct sfc_slot_round {
  sfshm_pattern_t slot;
  sfshm_pattern_t root;
} sfc_slot_round_t;

/* The contributions to roots, and the order in which they are combined. */
typedef struct sfc_slot_rounds {
  const int64_t *root_of; /* root of each contribution; owned by the caller */
  int64_t n;
  int64_t nroots;
  sfshm_pattern_t slot_root; /* root of each slot, ascending */
  void *slot_roots;          /* memory of slot_root; NULL: not made */
  int64_t *order;            /* memory of rounds */
  sfc_slot_round_t *rounds;  /* all first contributions, all second ones, ...; NULL: not made */
  int64_t nrounds;
} sfc_slot_rounds_t;

/* Writes the slot of each contribution, and the root of each slot; either may be NULL. Time does not grow with roots
 * without contributions if these are many. false: no memory. */
bool sfc_slot_rounds_find_slots(const sfc_slot_rounds_t *rounds, int64_t slots[], int64_t roots[]);

/* Root of each slot; the rounds. Made at first use. */
sf_status_t sfc_slot_rounds_slot_roots(sfc_slot_rounds_t *rounds, const sfshm_pattern_t **roots_p);
sf_status_t sfc_slot_rounds_all(sfc_slot_rounds_t *rounds, const sfc_slot_round_t **rounds_p, int64_t *nrounds_p);

void sfc_slot_rounds_free(sfc_slot_rounds_t *rounds);

#endif
