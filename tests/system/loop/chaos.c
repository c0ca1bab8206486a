/* Chaos: see loop_chaos.h. */
#include "tests/system/loop/chaos.h"

/* One in so many: steps that hold a direction, ticks that do so for each of them, holds that are long. */
#define STEPS 12
#define TICKS 24
#define LONG 40

#define SHORT_MS 8
#define LONG_MS 60

void sftest_chaos_begin(sftest_chaos_t *chaos, int32_t n, uint64_t seed, sftest_chaos_hold_t hold, void *context)
{
  *chaos = (sftest_chaos_t){.hold = hold, .context = context, .n = n, .random = sftest_hash(seed)};
}

static void hold(sftest_chaos_t *chaos, int32_t a, int32_t b)
{
  int64_t most = sftest_below(&chaos->random, LONG) == 0 ? LONG_MS : SHORT_MS;
  uint64_t until = chaos->tick + 1 + (uint64_t)sftest_below(&chaos->random, most);
  if (a == b || until <= chaos->until[a][b])
    return;
  if (chaos->until[a][b] == 0)
    chaos->hold(chaos->context, a, b, true);
  chaos->until[a][b] = until;
}

void sftest_chaos_step(sftest_chaos_t *chaos)
{
  if (chaos->n < 2 || sftest_below(&chaos->random, STEPS) != 0)
    return;
  int32_t a = (int32_t)sftest_below(&chaos->random, chaos->n), b = (int32_t)sftest_below(&chaos->random, chaos->n);
  hold(chaos, a, b);
}

static void let_go(sftest_chaos_t *chaos, int32_t a, int32_t b)
{
  if (chaos->until[a][b] == 0)
    return;
  chaos->until[a][b] = 0;
  chaos->hold(chaos->context, a, b, false);
}

void sftest_chaos_tick(sftest_chaos_t *chaos)
{
  chaos->tick++;
  for (int32_t a = 0; a < chaos->n; a++)
    for (int32_t b = 0; b < chaos->n; b++) {
      if (chaos->until[a][b] <= chaos->tick)
        let_go(chaos, a, b);
      if (sftest_below(&chaos->random, TICKS) == 0)
        hold(chaos, a, b);
    }
}

void sftest_chaos_end(sftest_chaos_t *chaos)
{
  for (int32_t a = 0; a < chaos->n; a++)
    for (int32_t b = 0; b < chaos->n; b++)
      let_go(chaos, a, b);
}
