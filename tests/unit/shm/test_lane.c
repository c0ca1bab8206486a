/* A pair of lanes: what each end may do when, and two threads that exchange messages at full speed over one mapping,
 * which thread sanitizer can follow. */
#include "shm/lane/lane.h"

#include <pthread.h>
#include <sched.h>

#include "tests/unit/expect.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"
#include "tests/unit/stress.h"

#define SLOTS SFSHM_LANE_SLOTS
#define CELL_BYTES_MAX 1024

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_MESSAGES 20000
#else
#define STRESS_MESSAGES 1000000
#endif

/* One rank's part of the shared memory. */
typedef struct inbox {
  sfshm_slot_t slots[SLOTS];
  sfshm_lane_control_t control;
  uint8_t cells[2][SLOTS * CELL_BYTES_MAX];
} inbox_t;

/* One rank's ends of both lanes. */
typedef struct ends {
  sfshm_lane_tx_t tx;
  sfshm_lane_rx_t rx;
} ends_t;

static unsigned seed;
static inbox_t inbox[2];
static ends_t rank[2];

/* The lanes as they are when rank 0 has sent sent[0] messages, rank 1 sent[1], and all have been consumed. */
static void start_at(uint64_t sent0, uint64_t sent1)
{
  const uint64_t sent[2] = {sent0, sent1};
  memset(inbox, 0, sizeof inbox);
  memset(rank, 0, sizeof rank);
  for (int r = 0; r < 2; r++) {
    rank[r].tx = (sfshm_lane_tx_t){
        .slots = inbox[1 - r].slots, .control = &inbox[r].control, .posted = sent[r], .consumed = sent[r]};
    rank[r].rx = (sfshm_lane_rx_t){
        .slots = inbox[r].slots, .control = &inbox[1 - r].control, .received = sent[1 - r], .told = sent[1 - r]};
    atomic_store(&inbox[r].control.consumed, sent[r]);
    for (uint64_t i = 0; i < SLOTS && i < sent[r]; i++)
      atomic_store(&inbox[1 - r].slots[(sent[r] - i - 1) % SLOTS].stamp, (sent[r] - i) & SFSHM_STAMP_MASK);
  }
}

static void setup(void)
{
  start_at(0, 0);
}

static bool post(int from, uint64_t desc)
{
  sfshm_slot_t *slot = sfshm_lane_claim(&rank[from].tx, &rank[from].rx);
  if (slot == NULL)
    return false;
  memset(slot->payload, (uint8_t)desc, sizeof slot->payload);
  sfshm_lane_post(&rank[from].tx, &rank[from].rx, slot, desc);
  return true;
}

static const sfshm_slot_t *peek(int at)
{
  return sfshm_lane_peek(&rank[at].rx, &rank[at].tx);
}

static bool consume(int at, bool tell_now)
{
  sftest_must(peek(at) != NULL, "there is a message");
  return sfshm_lane_consume(&rank[at].rx, tell_now);
}

/* How many messages the rank can post now. */
static unsigned room(int from)
{
  unsigned n = 0;
  while (post(from, n))
    n++;
  return n;
}

static uint64_t told_by_control(int to)
{
  return atomic_load(&inbox[to].control.consumed);
}

/* ---- One end after the other ---- */

START_TEST(messages_arrive_in_order)
{
  ck_assert_ptr_null(peek(1));
  ck_assert(!sfshm_lane_has_message(&rank[1].rx));
  for (uint64_t m = 1; m <= 5; m++)
    ck_assert(post(0, 100 + m));
  ck_assert_ptr_null(peek(0));
  for (uint64_t m = 1; m <= 5; m++) {
    ck_assert(sfshm_lane_has_message(&rank[1].rx));
    const sfshm_slot_t *slot = peek(1);
    ck_assert_ptr_eq(slot, &inbox[1].slots[m - 1]);
    ck_assert_ptr_eq(peek(1), slot); /* it stays until it is consumed */
    ck_assert_uint_eq(slot->desc, 100 + m);
    ck_assert_uint_eq(slot->payload[SFSHM_INLINE_BYTES - 1], 100 + m);
    consume(1, false);
  }
  ck_assert_ptr_null(peek(1));
}
END_TEST

START_TEST(a_full_lane_is_told_after_four_messages)
{
  ck_assert_uint_eq(room(0), SLOTS);
  for (unsigned i = 1; i < SFSHM_LANE_ACK_INTERVAL; i++) {
    ck_assert(!consume(1, false));
    ck_assert_uint_eq(room(0), 0);
  }
  ck_assert(consume(1, false));
  ck_assert_uint_eq(told_by_control(0), SFSHM_LANE_ACK_INTERVAL);
  ck_assert_uint_eq(room(0), SFSHM_LANE_ACK_INTERVAL);
}
END_TEST

START_TEST(a_writer_that_waits_is_told_at_once)
{
  ck_assert_uint_eq(room(0), SLOTS);
  ck_assert(!sfshm_lane_is_consumed(&rank[0].tx, 1));
  ck_assert(consume(1, true));
  ck_assert(sfshm_lane_is_consumed(&rank[0].tx, 1));
  ck_assert(!sfshm_lane_is_consumed(&rank[0].tx, 2));
  ck_assert_uint_eq(room(0), 1);
}
END_TEST

START_TEST(stamps_tell_without_the_control_line)
{
  ck_assert_uint_eq(room(0), SLOTS);
  for (int i = 0; i < 3; i++)
    ck_assert(!consume(1, false));
  ck_assert(post(1, 0));
  ck_assert_ptr_nonnull(peek(0));
  ck_assert_uint_eq(rank[0].tx.consumed, 3);
  ck_assert_uint_eq(told_by_control(0), 0);
  ck_assert_uint_eq(room(0), 3);
  /* What a stamp has told need not be told again. */
  for (int i = 0; i < 3; i++)
    ck_assert(!consume(1, false));
  ck_assert(consume(1, false));
  ck_assert_uint_eq(told_by_control(0), 7);
}
END_TEST

/* A rank whose next message has to wait for its turn would else never learn that it can go on. */
START_TEST(stamps_of_unread_messages_count)
{
  ck_assert_uint_eq(room(0), SLOTS);
  ck_assert(post(1, 0)); /* the first one tells nothing */
  for (int i = 0; i < 8; i++) {
    ck_assert(!consume(1, false));
    if (i % 3 == 2 || i == 7)
      ck_assert(post(1, 0));
  }
  ck_assert_uint_eq(told_by_control(0), 0);
  ck_assert_uint_eq(room(0), SLOTS);
}
END_TEST

/* A message stays unread while the other lane goes on for long: what its stamp says is old by then. */
START_TEST(old_stamps_tell_nothing)
{
  ck_assert(post(1, 0));
  for (uint64_t m = 1; m < 200000; m++) {
    while (!post(0, m)) {
      for (unsigned i = 0; i < 1 + m % SLOTS; i++)
        consume(1, false);
    }
    if (m % 3 == 0)
      sftest_must(peek(0) != NULL, "the message is still there");
    sftest_must(rank[0].tx.consumed <= rank[1].rx.received, "what is called consumed is");
  }
}
END_TEST

START_TEST(cells_are_granted)
{
  ends_t *writer = &rank[0], *reader = &rank[1];
  uint8_t *cells = inbox[1].cells[0], *larger = inbox[1].cells[1];
  ck_assert(!sfshm_lane_has_grant(&writer->tx));
  ck_assert_ptr_null(writer->tx.cells);
  ck_assert(post(0, 1));
  ck_assert_ptr_nonnull(peek(1));
  sfshm_lane_grant(&reader->rx, 5, 4096, cells, 256);
  ck_assert(consume(1, true));
  ck_assert(sfshm_lane_has_grant(&writer->tx));
  ck_assert_uint_eq(writer->tx.control->segment, 5);
  ck_assert_uint_eq(writer->tx.control->offset, 4096);
  sfshm_lane_take_grant(&writer->tx, cells);
  ck_assert(!sfshm_lane_has_grant(&writer->tx));
  ck_assert_uint_eq(writer->tx.cell_bytes, 256);

  sfshm_lane_grant(&reader->rx, 5, 8192, larger, 512);
  ck_assert(sfshm_lane_has_grant(&writer->tx));
  sfshm_lane_take_grant(&writer->tx, larger);
  ck_assert(!sfshm_lane_has_grant(&writer->tx));
  ck_assert_uint_eq(writer->tx.cell_bytes, 512);
}
END_TEST

START_TEST(each_slot_has_its_cell)
{
  ends_t *writer = &rank[0], *reader = &rank[1];
  uint8_t *cells = inbox[1].cells[0];
  sfshm_lane_grant(&reader->rx, 1, 0, cells, 256);
  sfshm_lane_take_grant(&writer->tx, cells);
  for (unsigned m = 0; m < 3 * SLOTS; m++) {
    sfshm_slot_t *slot = sfshm_lane_claim(&writer->tx, &writer->rx);
    ck_assert_ptr_eq(slot, &inbox[1].slots[m % SLOTS]);
    ck_assert_ptr_eq(sfshm_lane_tx_piece(&writer->tx, 256), cells + m % SLOTS * 256);
    sfshm_lane_post(&writer->tx, &writer->rx, slot, m);
    ck_assert_ptr_eq(sfshm_lane_rx_piece(&reader->rx, 256), cells + m % SLOTS * 256);
    consume(1, false);
  }
}
END_TEST

/* Small pieces stay where they are; others come back when all places in the cell have had their turn. */
START_TEST(pieces_move_through_their_cells)
{
  const size_t cell_bytes = (size_t)256 << 10;
  const size_t sizes[] = {1, SFSHM_PIECE_MOVES_FROM - 1, SFSHM_PIECE_MOVES_FROM, 20001, 65472, SFSHM_PIECE_BYTES_MAX};
  const uint64_t places[] = {1, 1, 16, 13, 4, 4};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (uint64_t m = 0; m < 40 * SLOTS; m++) {
      size_t at = sfshm_piece_at(m, cell_bytes, sizes[i]), cell = (size_t)(m % SLOTS) * cell_bytes;
      ck_assert_uint_ge(at, cell);
      ck_assert_uint_le(at + sizes[i], cell + cell_bytes);
      ck_assert_uint_eq(at % 64, 0);
      ck_assert_uint_eq(at, sfshm_piece_at(m + places[i] * SLOTS, cell_bytes, sizes[i]));
      for (uint64_t round = 1; round < places[i]; round++) {
        size_t other = sfshm_piece_at(m + round * SLOTS, cell_bytes, sizes[i]);
        ck_assert(other >= at + sizes[i] || other + sizes[i] <= at);
      }
    }
  for (size_t cells = 256; cells <= cell_bytes; cells *= 2)
    ck_assert_uint_eq(sfshm_piece_most(cells), cells < SFSHM_PIECE_BYTES_MAX ? cells : SFSHM_PIECE_BYTES_MAX);
}
END_TEST

/* What must hold whenever one looks: nobody believes more to be free than is, and whoever has been read completely can
 * go on. */
static void check_counts(int from)
{
  const sfshm_lane_tx_t *tx = &rank[from].tx;
  const sfshm_lane_rx_t *rx = &rank[1 - from].rx;
  sftest_must(rx->received - tx->consumed <= SLOTS, "what is called consumed is");
  sftest_must(tx->posted - rx->received <= SLOTS, "no slot is used twice");
}

/* Random actions of both ends. Descriptors count, so that a lost, doubled or early message is seen. */
static void walk(uint64_t *random, int steps)
{
  uint64_t first[2] = {rank[0].tx.posted, rank[1].tx.posted};
  unsigned bias = sftest_random(random) % 7; /* for posting, so that lanes are full or empty for some time */
  for (int step = 0; step < steps; step++) {
    int r = (int)(sftest_random(random) % 2);
    if (step % 100 == 0)
      bias = sftest_random(random) % 7;
    if (sftest_random(random) % 8 <= bias) {
      bool idle = rank[1 - r].rx.received == rank[r].tx.posted;
      bool posted = post(r, rank[r].tx.posted - first[r]);
      sftest_must(posted || !idle, "a lane that has been read completely takes a message");
    } else {
      const sfshm_slot_t *slot = peek(r);
      sftest_must(slot != NULL || rank[r].rx.received == rank[1 - r].tx.posted, "what was posted is seen");
      if (slot != NULL) {
        sftest_must(slot->desc == rank[r].rx.received - first[1 - r], "messages come in order");
        sftest_must(slot->payload[step % (int)SFSHM_INLINE_BYTES] == (uint8_t)slot->desc, "payloads are whole");
        consume(r, sftest_random(random) % 16 == 0);
      }
    }
    check_counts(0);
    check_counts(1);
  }
}

START_TEST(random_walks)
{
  uint64_t random = sftest_random_start(seed, 1);
  for (int round = 0; round < 200; round++) {
    start_at(0, 0);
    walk(&random, 1000);
  }
}
END_TEST

/* Numbers and counts of what was consumed pass the limits of the stamp's halves, and of other widths. */
START_TEST(counters_wrap_round)
{
  const uint64_t limits[] = {UINT64_C(1) << 16, UINT64_C(1) << 31, UINT64_C(1) << 32,
                             UINT64_C(3) << 32, UINT64_C(1) << 48, UINT64_C(1) << 63};
  uint64_t random = sftest_random_start(seed, 2);
  for (int round = 0; round < 600; round++) {
    uint64_t sent0 = limits[round % 6] - sftest_random(&random) % 100;
    uint64_t sent1 = round % 12 < 6 ? sent0 + sftest_random(&random) % 50 : limits[round % 5] - 20;
    start_at(sent0, sent1);
    walk(&random, 1000);
    ck_assert_uint_gt(rank[0].tx.posted, limits[round % 6]);
  }
}
END_TEST

/* ---- Two threads ---- */

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
static _Atomic uint64_t to_send[2]; /* by each rank; becomes smaller when the time is over */
static int64_t until_s;

/* Cells of both sizes in turn: those not in use are overwritten by their owner at once. */
static size_t cell_bytes_of(int grants)
{
  return grants % 2 ? 256 : CELL_BYTES_MAX;
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
  sfshm_lane_tx_t *tx = &rank[runner->me].tx;
  if (runner->asked) {
    if (!sfshm_lane_has_grant(tx))
      return false;
    sfshm_lane_take_grant(tx, inbox[1 - runner->me].cells[tx->control->segment]);
    runner->asked = false;
  }
  sfshm_slot_t *slot = sfshm_lane_claim(tx, &rank[runner->me].rx);
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
  sfshm_lane_post(tx, &rank[runner->me].rx, slot, message << 8 | kind);
  return true;
}

static void grant(runner_t *runner)
{
  sfshm_lane_rx_t *rx = &rank[runner->me].rx;
  int next = ++runner->grants % 2;
  memset(inbox[runner->me].cells[1 - next], 0xee, sizeof inbox[0].cells[0]);
  sfshm_lane_grant(rx, (uint64_t)next, 0, inbox[runner->me].cells[next], cell_bytes_of(runner->grants));
}

static bool receive_one(runner_t *runner)
{
  sfshm_lane_rx_t *rx = &rank[runner->me].rx;
  const sfshm_slot_t *slot = sfshm_lane_peek(rx, &rank[runner->me].tx);
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
  _Atomic uint64_t *mine = &to_send[runner->me], *others = &to_send[1 - runner->me];
  while ((sent < *mine || received < *others) && !atomic_load(&stop)) {
    bool moved = false;
    if (sent < *mine && send_one(runner)) {
      sent++;
      moved = true;
    }
    bool reads = !runner->read_late || sent >= sent_before_reading || sent == *mine;
    if (reads && received < *others && receive_one(runner)) {
      received++;
      moved = true;
    } else if (reads && runner->read_late) {
      sent_before_reading = sent + 50; /* nothing left to read: send for a while without a look */
    }
    if (runner->error != NULL)
      atomic_store(&stop, true);
    if (!moved)
      sched_yield();
    if ((!moved || sent % 1024 == 0) && sent < *mine && sftest_stress_is_over(until_s))
      *mine = sent;
  }
  return NULL;
}

static void stress(pattern_t pattern)
{
  runner_t runners[2];
  start_at(UINT32_MAX - 1000, UINT32_MAX - 500); /* stamps wrap round on the way */
  atomic_store(&stop, false);
  until_s = sftest_stress_until_s();
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

START_TEST(both_ways_at_full_speed)
{
  stress(BOTH_WAYS);
}
END_TEST

START_TEST(one_way_at_full_speed)
{
  stress(ONE_WAY);
}
END_TEST

START_TEST(one_that_reads_late)
{
  stress(READ_LATE);
}
END_TEST

static Suite *lane_suite(void)
{
  Suite *suite = suite_create("lane");
  TCase *steps = tcase_create("one end after the other");
  tcase_add_checked_fixture(steps, setup, NULL);
  tcase_add_test(steps, messages_arrive_in_order);
  tcase_add_test(steps, a_full_lane_is_told_after_four_messages);
  tcase_add_test(steps, a_writer_that_waits_is_told_at_once);
  tcase_add_test(steps, stamps_tell_without_the_control_line);
  tcase_add_test(steps, stamps_of_unread_messages_count);
  tcase_add_test(steps, old_stamps_tell_nothing);
  tcase_add_test(steps, cells_are_granted);
  tcase_add_test(steps, each_slot_has_its_cell);
  tcase_add_test(steps, pieces_move_through_their_cells);
  tcase_add_test(steps, random_walks);
  tcase_add_test(steps, counters_wrap_round);
  suite_add_tcase(suite, steps);
  TCase *threads = tcase_create("two threads");
  tcase_set_timeout(threads, 60);
  tcase_add_test(threads, both_ways_at_full_speed);
  tcase_add_test(threads, one_way_at_full_speed);
  tcase_add_test(threads, one_that_reads_late);
  suite_add_tcase(suite, threads);
  return suite;
}

int main(void)
{
  seed = sftest_seed(20240901);
  return sftest_run(lane_suite());
}
