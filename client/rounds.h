/* How contributions meet roots: which root each slot belongs to, where the slots of a root follow one another, and the
 * rounds in which each root is met at most once. The thread that uses the graph. */
#ifndef SFC_ROUNDS_H
#define SFC_ROUNDS_H

#include <sf/sf_status.h>

#include "shm/pattern.h"

/* What one pass over the slots combines: one contribution to each of some roots. */
typedef struct sfc_round {
  sfshm_pattern_t slot;
  sfshm_pattern_t root;
} sfc_round_t;

typedef struct sfc_rounds {
  sfshm_pattern_t slot_root; /* the root of each slot, ascending */
  void *slot_roots;          /* what that refers to; NULL: not made */
  int64_t *order;            /* what the rounds refer to */
  sfc_round_t *rounds;       /* all first contributions, all second ones, ...; NULL: not made */
  int64_t nrounds;
} sfc_rounds_t;

/* Make them, from where the slots of each root begin: nroots + 1 numbers, which the caller keeps; NULL: there was no
 * memory for these. */
sf_status_t sfc_rounds_make_roots(sfc_rounds_t *rounds, const int64_t first[], int64_t nroots);
sf_status_t sfc_rounds_make(sfc_rounds_t *rounds, const int64_t first[], int64_t nroots);

/* Accepts what is zeroed. */
void sfc_rounds_free(sfc_rounds_t *rounds);

#endif
