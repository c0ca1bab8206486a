/* A rank that makes graphs of all kinds, good and bad, new and again, on groups that come and go, and exchanges data on
 * them; all as one seed says. */
#ifndef SFTEST_CHAOS_H
#define SFTEST_CHAOS_H

#include "tests/system/harness.h"

#define SFTEST_CHAOS_RANKS 6
#define SFTEST_CHAOS_STEPS 24 /* less than that */

typedef enum sftest_ending { SFTEST_ENDING_TOGETHER, SFTEST_ENDING_ONE_LEAVES, SFTEST_ENDING_ONE_DIES } sftest_ending_t;

/* What test and ranks tell each other, of one job. */
typedef struct sftest_chaos {
  uint64_t seed;
  int64_t nsteps;
  sftest_ending_t ending;
  int32_t victim; /* who leaves or dies */
  int64_t fatal;  /* and in which step, if it dies */
  _Atomic int32_t done;
  _Atomic int32_t over;
  char details[SFTEST_CHAOS_STEPS][SFTEST_CHAOS_RANKS][512]; /* of the errors of bad graphs */
} sftest_chaos_t;

/* The function of a rank; the job's argument is an sftest_chaos_t. */
void sftest_live_in_chaos(sftest_rank_t *self);

#endif
