/* How contributions meet roots: which root each slot belongs to, where the slots of a root follow one another, and the
 * rounds in which each root is root_of at most once. The thread that uses the graph. */
#ifndef SFC_PLAN_SLOT_ROUNDS_H
#define SFC_PLAN_SLOT_ROUNDS_H

#include <stdbool.h>

#include <sf/sf_status.h>

#include "shm/edges/pattern.h"

/* What one pass over the slots combines: one contribution to each of some roots. */
typedef struct sfc_slot_round {
  sfshm_pattern_t slot;
  sfshm_pattern_t root;
} sfc_slot_round_t;

/* The contributions to roots, and the order in which they are combined. */
typedef struct sfc_slot_rounds {
  const int64_t *root_of; /* the root of each contribution, in any order; kept by whose rounds these are */
  int64_t n;
  int64_t nroots;
  sfshm_pattern_t slot_root; /* the root of each slot, ascending */
  void *slot_roots;          /* what that refers to; NULL: not made */
  int64_t *order;            /* what the rounds refer to */
  sfc_slot_round_t *rounds;  /* all first contributions, all second ones, ...; NULL: not made */
  int64_t nrounds;
} sfc_slot_rounds_t;

/* Writes the slot of each contribution, and the root of each slot; either may be NULL. Roots without contributions cost
 * nothing if they are many. False without memory. */
bool sfc_slot_rounds_find_slots(const sfc_slot_rounds_t *rounds, int64_t slots[], int64_t roots[]);

/* The root of each slot; the rounds. Made at first use. */
sf_status_t sfc_slot_rounds_slot_roots(sfc_slot_rounds_t *rounds, const sfshm_pattern_t **roots_p);
sf_status_t sfc_slot_rounds_all(sfc_slot_rounds_t *rounds, const sfc_slot_round_t **rounds_p, int64_t *nrounds_p);

/* Accepts what is zeroed. */
void sfc_slot_rounds_free(sfc_slot_rounds_t *rounds);

#endif
