/* A pair of lanes, step by step: what each end may do when. Both ends on threads at full speed: test_lane_stress.c. */
#include "shm/lane/lane.h"

#include "tests/unit/expect.h"
#include "tests/unit/lane_pair.h"
#include "tests/unit/seed.h"

SFTEST_SEED(20240901);

static void setup(void)
{
  sftest_lanes_start_at(0, 0);
}

SFTEST_FIXTURE(setup, NULL);

static bool post(int from, uint64_t desc)
{
  sfshm_slot_t *slot = sfshm_lane_claim(&sftest_end[from].tx, &sftest_end[from].rx);
  if (slot == NULL)
    return false;
  memset(slot->payload, (uint8_t)desc, sizeof slot->payload);
  sfshm_lane_post(&sftest_end[from].tx, &sftest_end[from].rx, slot, desc);
  return true;
}

static const sfshm_slot_t *peek(int at)
{
  return sfshm_lane_peek(&sftest_end[at].rx, &sftest_end[at].tx);
}

static bool consume(int at, bool tell_now)
{
  sftest_must(peek(at) != NULL, "there is a message");
  return sfshm_lane_consume(&sftest_end[at].rx, tell_now);
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
  return atomic_load(&sftest_inbox[to].control.consumed);
}

SFTEST(messages_arrive_in_order)
{
  ck_assert_ptr_null(peek(1));
  ck_assert(!sfshm_lane_has_message(&sftest_end[1].rx));
  for (uint64_t m = 1; m <= 5; m++)
    ck_assert(post(0, 100 + m));
  ck_assert_ptr_null(peek(0));
  for (uint64_t m = 1; m <= 5; m++) {
    ck_assert(sfshm_lane_has_message(&sftest_end[1].rx));
    const sfshm_slot_t *slot = peek(1);
    ck_assert_ptr_eq(slot, &sftest_inbox[1].slots[m - 1]);
    ck_assert_ptr_eq(peek(1), slot); /* it stays until it is consumed */
    ck_assert_uint_eq(slot->desc, 100 + m);
    ck_assert_uint_eq(slot->payload[SFSHM_INLINE_BYTES - 1], 100 + m);
    consume(1, false);
  }
  ck_assert_ptr_null(peek(1));
}

SFTEST(a_full_lane_is_told_after_four_messages)
{
  ck_assert_uint_eq(room(0), SFTEST_LANE_SLOTS);
  for (unsigned i = 1; i < SFSHM_LANE_ACK_INTERVAL; i++) {
    ck_assert(!consume(1, false));
    ck_assert_uint_eq(room(0), 0);
  }
  ck_assert(consume(1, false));
  ck_assert_uint_eq(told_by_control(0), SFSHM_LANE_ACK_INTERVAL);
  ck_assert_uint_eq(room(0), SFSHM_LANE_ACK_INTERVAL);
}

SFTEST(a_writer_that_waits_is_told_at_once)
{
  ck_assert_uint_eq(room(0), SFTEST_LANE_SLOTS);
  ck_assert(!sfshm_lane_is_consumed(&sftest_end[0].tx, 1));
  ck_assert(consume(1, true));
  ck_assert(sfshm_lane_is_consumed(&sftest_end[0].tx, 1));
  ck_assert(!sfshm_lane_is_consumed(&sftest_end[0].tx, 2));
  ck_assert_uint_eq(room(0), 1);
}

SFTEST(stamps_tell_without_the_control_line)
{
  ck_assert_uint_eq(room(0), SFTEST_LANE_SLOTS);
  for (int i = 0; i < 3; i++)
    ck_assert(!consume(1, false));
  ck_assert(post(1, 0));
  ck_assert_ptr_nonnull(peek(0));
  ck_assert_uint_eq(sftest_end[0].tx.consumed, 3);
  ck_assert_uint_eq(told_by_control(0), 0);
  ck_assert_uint_eq(room(0), 3);
  /* What a stamp has told need not be told again. */
  for (int i = 0; i < 3; i++)
    ck_assert(!consume(1, false));
  ck_assert(consume(1, false));
  ck_assert_uint_eq(told_by_control(0), 7);
}

/* A rank whose next message has to wait for its turn would else never learn that it can go on. */
SFTEST(stamps_of_unread_messages_count)
{
  ck_assert_uint_eq(room(0), SFTEST_LANE_SLOTS);
  ck_assert(post(1, 0)); /* the first one tells nothing */
  for (int i = 0; i < 8; i++) {
    ck_assert(!consume(1, false));
    if (i % 3 == 2 || i == 7)
      ck_assert(post(1, 0));
  }
  ck_assert_uint_eq(told_by_control(0), 0);
  ck_assert_uint_eq(room(0), SFTEST_LANE_SLOTS);
}

/* Rank 1's first message is in an eager slot, the later ones, which tell, are not. */
SFTEST(stamps_after_an_eager_message_count)
{
  static sfshm_slot_t eager[SFSHM_EAGER_SLOTS];
  ck_assert_uint_eq(room(0), SFTEST_LANE_SLOTS);
  sfshm_lane_offer_eager(&sftest_end[1].tx, eager, 0, 0);
  sfshm_lane_post_eager(&sftest_end[1].tx, sfshm_lane_claim_eager(&sftest_end[1].tx, &sftest_end[1].rx), 0);
  for (int i = 0; i < 8; i++) {
    ck_assert(!consume(1, false));
    if (i % 3 == 2 || i == 7)
      ck_assert(post(1, 0));
  }
  ck_assert_uint_eq(told_by_control(0), 0);
  ck_assert_uint_eq(room(0), SFTEST_LANE_SLOTS);
}

/* A message stays unread while the other lane goes on for long: what its stamp says is old by then. */
SFTEST(old_stamps_tell_nothing)
{
  ck_assert(post(1, 0));
  for (uint64_t m = 1; m < 200000; m++) {
    while (!post(0, m)) {
      for (unsigned i = 0; i < 1 + m % SFTEST_LANE_SLOTS; i++)
        consume(1, false);
    }
    if (m % 3 == 0)
      sftest_must(peek(0) != NULL, "the message is still there");
    sftest_must(sftest_end[0].tx.consumed <= sftest_end[1].rx.received, "what is called consumed is");
  }
}

SFTEST(cells_are_granted)
{
  sftest_lane_ends_t *writer = &sftest_end[0], *reader = &sftest_end[1];
  uint8_t *cells = sftest_inbox[1].cells[0], *larger = sftest_inbox[1].cells[1];
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

SFTEST(each_slot_has_its_cell)
{
  sftest_lane_ends_t *writer = &sftest_end[0], *reader = &sftest_end[1];
  uint8_t *cells = sftest_inbox[1].cells[0];
  sfshm_lane_grant(&reader->rx, 1, 0, cells, 256);
  sfshm_lane_take_grant(&writer->tx, cells);
  for (unsigned m = 0; m < 3 * SFTEST_LANE_SLOTS; m++) {
    sfshm_slot_t *slot = sfshm_lane_claim(&writer->tx, &writer->rx);
    ck_assert_ptr_eq(slot, &sftest_inbox[1].slots[m % SFTEST_LANE_SLOTS]);
    ck_assert_ptr_eq(sfshm_lane_tx_piece(&writer->tx, 256), cells + m % SFTEST_LANE_SLOTS * 256);
    sfshm_lane_post(&writer->tx, &writer->rx, slot, m);
    ck_assert_ptr_eq(sfshm_lane_rx_piece(&reader->rx, 256), cells + m % SFTEST_LANE_SLOTS * 256);
    consume(1, false);
  }
}

/* Small pieces stay where they are; others come back when all places in the cell have had their turn. */
SFTEST(pieces_move_through_their_cells)
{
  const size_t cell_bytes = (size_t)256 << 10;
  const size_t sizes[] = {1, SFSHM_PIECE_MOVES_FROM - 1, SFSHM_PIECE_MOVES_FROM, 20001, 65472, SFSHM_PIECE_BYTES_MAX};
  const uint64_t places[] = {1, 1, 16, 13, 4, 4};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (uint64_t m = 0; m < 40 * SFTEST_LANE_SLOTS; m++) {
      size_t at = sfshm_piece_at(m, cell_bytes, sizes[i]), cell = (size_t)(m % SFTEST_LANE_SLOTS) * cell_bytes;
      ck_assert_uint_ge(at, cell);
      ck_assert_uint_le(at + sizes[i], cell + cell_bytes);
      ck_assert_uint_eq(at % 64, 0);
      ck_assert_uint_eq(at, sfshm_piece_at(m + places[i] * SFTEST_LANE_SLOTS, cell_bytes, sizes[i]));
      for (uint64_t round = 1; round < places[i]; round++) {
        size_t other = sfshm_piece_at(m + round * SFTEST_LANE_SLOTS, cell_bytes, sizes[i]);
        ck_assert(other >= at + sizes[i] || other + sizes[i] <= at);
      }
    }
  for (size_t cells = 256; cells <= cell_bytes; cells *= 2)
    ck_assert_uint_eq(sfshm_piece_most(cells), cells < SFSHM_PIECE_BYTES_MAX ? cells : SFSHM_PIECE_BYTES_MAX);
}

/* What must hold whenever one looks: nobody believes more to be free than is, and whoever has been read completely can
 * go on. */
static void check_counts(int from)
{
  const sfshm_lane_tx_t *tx = &sftest_end[from].tx;
  const sfshm_lane_rx_t *rx = &sftest_end[1 - from].rx;
  sftest_must(rx->received - tx->consumed <= SFTEST_LANE_SLOTS, "what is called consumed is");
  sftest_must(tx->posted - rx->received <= SFTEST_LANE_SLOTS, "no slot is used twice");
}

/* Random actions of both ends. Descriptors count, so that a lost, doubled or early message is seen. */
static void walk(uint64_t *random, int steps)
{
  uint64_t first[2] = {sftest_end[0].tx.posted, sftest_end[1].tx.posted};
  unsigned bias = sftest_random(random) % 7; /* for posting, so that lanes are full or empty for some time */
  for (int step = 0; step < steps; step++) {
    int r = (int)(sftest_random(random) % 2);
    if (step % 100 == 0)
      bias = sftest_random(random) % 7;
    if (sftest_random(random) % 8 <= bias) {
      bool idle = sftest_end[1 - r].rx.received == sftest_end[r].tx.posted;
      bool posted = post(r, sftest_end[r].tx.posted - first[r]);
      sftest_must(posted || !idle, "a lane that has been read completely takes a message");
    } else {
      const sfshm_slot_t *slot = peek(r);
      sftest_must(slot != NULL || sftest_end[r].rx.received == sftest_end[1 - r].tx.posted, "what was posted is seen");
      if (slot != NULL) {
        sftest_must(slot->desc == sftest_end[r].rx.received - first[1 - r], "messages come in order");
        sftest_must(slot->payload[step % (int)SFSHM_INLINE_BYTES] == (uint8_t)slot->desc, "payloads are whole");
        consume(r, sftest_random(random) % 16 == 0);
      }
    }
    check_counts(0);
    check_counts(1);
  }
}

SFTEST(random_walks)
{
  uint64_t random = sftest_random_start(seed, 1);
  for (int round = 0; round < 200; round++) {
    sftest_lanes_start_at(0, 0);
    walk(&random, 1000);
  }
}

/* Numbers and counts of what was consumed pass the limits of the stamp's halves, and of other widths. */
SFTEST(counters_wrap_round)
{
  const uint64_t limits[] = {UINT64_C(1) << 16, UINT64_C(1) << 31, UINT64_C(1) << 32,
                             UINT64_C(3) << 32, UINT64_C(1) << 48, UINT64_C(1) << 63};
  uint64_t random = sftest_random_start(seed, 2);
  for (int round = 0; round < 600; round++) {
    uint64_t sent0 = limits[round % 6] - sftest_random(&random) % 30; /* a walk posts more */
    uint64_t sent1 = round % 12 < 6 ? sent0 + sftest_random(&random) % 50 : limits[round % 5] - 20;
    sftest_lanes_start_at(sent0, sent1);
    walk(&random, 1000);
    ck_assert_uint_gt(sftest_end[0].tx.posted, limits[round % 6]);
  }
}
