/* Chaos between the daemons of a loop cluster: directions are held and let go at random moments, for a random time that
 * is much longer than a round trip of a rank, so that what daemons tell each other crosses in every way that links
 * allow. Directions and times are functions of the seed; the moments are as far as the ranks' calls come at the same
 * moments. Runs in the process of the daemons. */
#ifndef SFTEST_LOOP_CHAOS_H
#define SFTEST_LOOP_CHAOS_H

#include "tests/system/loop/cluster.h"

/* Has sends from node a to node b gather, or go. */
typedef void (*sftest_chaos_hold_t)(void *context, int32_t a, int32_t b, bool hold);

typedef struct sftest_chaos {
  sftest_chaos_hold_t hold;
  void *context;
  int32_t n;
  uint64_t random;
  uint64_t tick;
  uint64_t until[SFTEST_LOOP_NODES_MAX][SFTEST_LOOP_NODES_MAX]; /* tick at which it is let go; 0: it is not held */
} sftest_chaos_t;

/* Begins, in a cluster of n nodes. */
void sftest_chaos_begin(sftest_chaos_t *chaos, int32_t n, uint64_t seed, sftest_chaos_hold_t hold, void *context);

/* Something moves; a millisecond has passed. */
void sftest_chaos_step(sftest_chaos_t *chaos);
void sftest_chaos_tick(sftest_chaos_t *chaos);

/* Lets everything go. */
void sftest_chaos_end(sftest_chaos_t *chaos);

#endif
