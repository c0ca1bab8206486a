/* Two threads that exchange messages at full speed over a pair of lanes in one mapping, which thread sanitizer can
 * follow. */
#include "shm/lane/lane.h"

#include <pthread.h>
#include <sched.h>

#include "tests/unit/lane_pair.h"
#include "tests/unit/seed.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_MESSAGES 20000
#else
#define STRESS_MESSAGES 1000000
#endif

SFTEST_SEED(20240901);

typedef enum pattern { BOTH_WAYS, ONE_WAY, READ_LATE } pattern_t;

typedef enum kind { INLINE, CELL, GROW } kind_t;

typedef struct runner {
  pthread_t thread;
  int me;
  bool read_late; /* only once everything has been sent, in each of many rounds */
  uint64_t random;
  bool asked; /* for cells */
  int grants; /* given */
  const char *error;
} runner_t;

static _Atomic bool stop;
static uint64_t to_send[2]; /* by each rank */

/* Cells of both sizes in turn: those not in use are overwritten by their owner at once. */
static size_t cell_bytes_of(int grants)
{
  return grants % 2 ? 256 : SFTEST_CELL_BYTES_MAX;
}

static void fill(uint8_t *bytes, size_t n, uint64_t message)
{
  for (size_t i = 0; i < n; i += 8) {
    uint64_t word = message * UINT64_C(0x9e3779b97f4a7c15) + i;
    memcpy(bytes + i, &word, 8);
  }
}

static bool holds(const uint8_t *bytes, size_t n, uint64_t message)
{
  for (size_t i = 0; i < n; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, 8);
    if (word != message * UINT64_C(0x9e3779b97f4a7c15) + i)
      return false;
  }
  return true;
}

/* Posts one message of random kind, if the lane takes it. */
static bool send_one(runner_t *runner)
{
  sfshm_lane_tx_t *tx = &sftest_end[runner->me].tx;
  if (runner->asked) {
    if (!sfshm_lane_has_grant(tx))
      return false;
    sfshm_lane_take_grant(tx, sftest_inbox[1 - runner->me].cells[tx->control->segment]);
    runner->asked = false;
  }
  sfshm_slot_t *slot = sfshm_lane_claim(tx, &sftest_end[runner->me].rx);
  if (slot == NULL)
    return false;
  uint64_t message = tx->posted;
  unsigned dice = sftest_random(&runner->random) % 64;
  kind_t kind = dice == 0 ? GROW : dice < 24 && tx->cells != NULL ? CELL : INLINE;
  if (kind == CELL)
    fill(sfshm_lane_tx_piece(tx, tx->cell_bytes), tx->cell_bytes, message);
  else if (kind == INLINE)
    fill(slot->payload, SFSHM_INLINE_BYTES, message);
  runner->asked = kind == GROW;
  sfshm_lane_post(tx, &sftest_end[runner->me].rx, slot, message << 8 | kind);
  return true;
}

static void grant(runner_t *runner)
{
  sfshm_lane_rx_t *rx = &sftest_end[runner->me].rx;
  int next = ++runner->grants % 2;
  memset(sftest_inbox[runner->me].cells[1 - next], 0xee, sizeof sftest_inbox[0].cells[0]);
  sfshm_lane_grant(rx, (uint64_t)next, 0, sftest_inbox[runner->me].cells[next], cell_bytes_of(runner->grants));
}

static bool receive_one(runner_t *runner)
{
  sfshm_lane_rx_t *rx = &sftest_end[runner->me].rx;
  const sfshm_slot_t *slot = sfshm_lane_peek(rx, &sftest_end[runner->me].tx);
  if (slot == NULL)
    return false;
  uint64_t message = rx->received;
  kind_t kind = (kind_t)(slot->desc & 0xff);
  if (slot->desc >> 8 != message)
    runner->error = "a message is missing, or comes twice";
  else if (kind == INLINE && !holds(slot->payload, SFSHM_INLINE_BYTES, message))
    runner->error = "a slot holds other values";
  else if (kind == CELL && !holds(sfshm_lane_rx_piece(rx, rx->cell_bytes), rx->cell_bytes, message))
    runner->error = "a cell holds other values";
  else if (kind == GROW)
    grant(runner);
  sfshm_lane_consume(rx, kind == GROW);
  return true;
}

static void *run(void *argument)
{
  runner_t *runner = argument;
  uint64_t sent = 0, received = 0, sent_before_reading = 0;
  uint64_t mine = to_send[runner->me], others = to_send[1 - runner->me];
  while ((sent < mine || received < others) && !atomic_load(&stop)) {
    bool moved = false;
    if (sent < mine && send_one(runner)) {
      sent++;
      moved = true;
    }
    bool reads = !runner->read_late || sent >= sent_before_reading || sent == mine;
    if (reads && received < others && receive_one(runner)) {
      received++;
      moved = true;
    } else if (reads && runner->read_late) {
      sent_before_reading = sent + 50; /* nothing left to read: send for a while without a look */
    }
    if (runner->error != NULL)
      atomic_store(&stop, true);
    if (!moved)
      sched_yield();
  }
  return NULL;
}

static void stress(pattern_t pattern)
{
  runner_t runners[2];
  sftest_lanes_start_at(UINT32_MAX - 1000, UINT32_MAX - 500); /* stamps wrap round on the way */
  atomic_store(&stop, false);
  to_send[0] = STRESS_MESSAGES;
  to_send[1] = pattern == ONE_WAY ? 0 : STRESS_MESSAGES;
  for (int r = 0; r < 2; r++)
    runners[r] = (runner_t){
        .me = r, .read_late = pattern == READ_LATE && r == 0, .random = sftest_random_start(seed, 10 + (unsigned)r)};
  for (int r = 0; r < 2; r++)
    ck_assert_int_eq(pthread_create(&runners[r].thread, NULL, run, &runners[r]), 0);
  for (int r = 0; r < 2; r++)
    pthread_join(runners[r].thread, NULL);
  for (int r = 0; r < 2; r++)
    ck_assert_msg(runners[r].error == NULL, "rank %d: %s", r, runners[r].error);
}

SFTEST(both_ways_at_full_speed)
{
  stress(BOTH_WAYS);
}

SFTEST(one_way_at_full_speed)
{
  stress(ONE_WAY);
}

SFTEST(one_that_reads_late)
{
  stress(READ_LATE);
}
