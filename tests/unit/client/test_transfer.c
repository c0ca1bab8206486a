/* The ends of a lane: requests whose data are read in place end when the reader says so, not before and not never; and
 * pieces fill the cells. Small messages that go the straight way: test_transfer_straight.c. */
#include "client/engine/lane_ops.h"
#include "client/engine/lane_send.h"

#include "client/engine/progress.h"
#include "client/engine/protocol.h"
#include "tests/unit/client/sender.h"
#include "tests/unit/seed.h"

#define MAX_REQUESTS 300

SFTEST_FIXTURE(sftest_sender_setup, NULL);

SFTEST_SEED(20240907);

static sf_request_t requests[MAX_REQUESTS];

/* Sends n values, as a request of its own; false if the lane takes nothing now. */
static bool send_values(sf_request_t *request, uint64_t number, int64_t n)
{
  const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  *request = (sf_request_t){.graph = &sftest_sender.graph,
                            .operation = SFSHM_BCAST,
                            .sends_left = 1,
                            .match = number,
                            .value_bytes = sizeof(double),
                            .nfields = 1,
                            .fields = &request->first,
                            .source_class = SFC_MEMORY_ALLOC};
  request->first = (sfc_field_t){.combine = {unit, sizeof(double), NULL},
                                 .move = sfshm_kernels_find(unit, SFSHM_OP_REPLACE),
                                 .source = (const char *)sftest_sender_values,
                                 .source_ref = {.class = SFC_MEMORY_ALLOC, .bytes_left = sizeof sftest_sender_values}};
  sftest_sender.lane.as_root.nvalues = n;
  sftest_sender.lane.as_root.value_root = sfshm_pattern_contiguous(0, n);
  return sfc_lane_send(&sftest_sender.lane, request);
}

/* The reader takes the next message, and tells at once if it was to be read in place. */
static bool read_message(void)
{
  sfshm_lane_tx_t none = {0};
  const sfshm_slot_t *slot = sfshm_lane_peek(&sftest_sender.reader, &none);
  if (slot == NULL)
    return false;
  sfshm_lane_consume(&sftest_sender.reader, sfshm_desc_method(slot->desc) == SFSHM_METHOD_IN_PLACE);
  return true;
}

SFTEST(small_data_are_out_of_hand_when_posted)
{
  ck_assert(send_values(&requests[0], 0, 14));
  ck_assert_int_eq(requests[0].sends_left, 0);
  ck_assert_int_eq(sfshm_desc_method(sftest_sender.slots[0].desc), SFSHM_METHOD_INLINE);
  ck_assert_uint_eq(sftest_sender.counts.bytes_inline, 112);
}

SFTEST(data_read_in_place_are_awaited)
{
  ck_assert(send_values(&requests[0], 0, SFTEST_LARGE));
  ck_assert_int_eq(sfshm_desc_method(sftest_sender.slots[0].desc), SFSHM_METHOD_IN_PLACE);
  ck_assert(!sfc_lane_check_read(&sftest_sender.lane));
  ck_assert_int_eq(requests[0].sends_left, 1);
  ck_assert(read_message());
  ck_assert(sfc_lane_check_read(&sftest_sender.lane));
  ck_assert_int_eq(requests[0].sends_left, 0);
  ck_assert_uint_eq(sftest_sender.graph.progress.nunread, 0);
}

/* The slot of data that have been read is used again before anybody has looked at that. */
SFTEST(a_slot_used_again_ends_what_was_there)
{
  for (int later = 0; later < 2; later++) {
    sftest_sender_setup();
    ck_assert(send_values(&requests[0], 0, SFTEST_LARGE));
    for (uint64_t i = 1; i <= SFSHM_LANE_SLOTS; i++) {
      ck_assert(read_message());
      ck_assert(send_values(&requests[i], i, later == 1 && i == SFSHM_LANE_SLOTS ? SFTEST_LARGE : 1));
    }
    sfc_lane_check_read(&sftest_sender.lane);
    ck_assert_int_eq(requests[0].sends_left, 0);
    ck_assert_uint_eq(sftest_sender.graph.progress.nunread, (unsigned)later);
  }
}

/* Requests of both kinds, read and looked at whenever. */
SFTEST(every_request_ends_in_time)
{
  uint64_t random = sftest_random_start(seed, 1);
  for (int round = 0; round < 300; round++) {
    int sent = 0;
    bool in_place[MAX_REQUESTS];
    unsigned looks = 1 + sftest_random(&random) % 30;
    sftest_sender_setup();
    while (sent < MAX_REQUESTS || sftest_sender.reader.received < MAX_REQUESTS) {
      unsigned dice = sftest_random(&random) % (looks + 20);
      in_place[sent % MAX_REQUESTS] = dice % 3 == 0;
      if (dice < 10 && sent < MAX_REQUESTS)
        sent += send_values(&requests[sent], (uint64_t)sent, dice % 3 == 0 ? SFTEST_LARGE : 3);
      else if (dice < 20)
        read_message();
      else if (dice == 20)
        sfc_lane_check_read(&sftest_sender.lane);
      for (uint64_t i = sftest_sender.reader.received; i < (uint64_t)sent; i++)
        if (requests[i].sends_left != (in_place[i] ? 1 : 0))
          ck_abort_msg("request %llu has %d sends left", (unsigned long long)i, requests[i].sends_left);
    }
    sfc_lane_check_read(&sftest_sender.lane);
    for (int i = 0; i < MAX_REQUESTS; i++)
      if (requests[i].sends_left != 0)
        ck_abort_msg("request %d of %d never ends", i, MAX_REQUESTS);
    ck_assert_uint_eq(sftest_sender.lane.tx_unread, 0);
    ck_assert_uint_eq(sftest_sender.graph.progress.nunread, 0);
  }
}

static uint32_t scattered[SFTEST_LARGE];

/* Starts to send n values that lie scattered in memory that nobody can read in place. */
static bool send_scattered(sf_request_t *request, int64_t n)
{
  const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  for (int64_t i = 0; i < SFTEST_LARGE; i++) {
    sftest_sender_values[i] = (double)i;
    scattered[i] = (uint32_t)(i * 7919 % SFTEST_LARGE); /* a prime: all different */
  }
  *request = (sf_request_t){.graph = &sftest_sender.graph,
                            .operation = SFSHM_BCAST,
                            .sends_left = 1,
                            .value_bytes = sizeof(double),
                            .nfields = 1,
                            .fields = &request->first};
  request->first = (sfc_field_t){.combine = {unit, sizeof(double), NULL},
                                 .move = sfshm_kernels_find(unit, SFSHM_OP_REPLACE),
                                 .source = (const char *)sftest_sender_values};
  sftest_sender.lane.as_root.nvalues = n;
  sftest_sender.lane.as_root.value_root =
      (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = scattered};
  return sfc_lane_send(&sftest_sender.lane, request);
}

/* The next piece holds these values. */
static void expect_piece(int64_t first, int64_t n)
{
  const double *cell =
      sftest_sender_cells + (size_t)(sftest_sender.reader.received % SFSHM_LANE_SLOTS) * SFTEST_CELL_VALUES;
  for (int64_t i = 0; i < n; i++)
    if (cell[i] != (double)scattered[first + i])
      ck_abort_msg("value %lld is %g", (long long)(first + i), cell[i]);
  ck_assert(read_message());
}

SFTEST(scattered_values_fill_the_cells)
{
  const int64_t counts[] = {
      15, 1023, 1024, 1025, 2047, 2048, 2049, SFTEST_CELL_VALUES, SFTEST_CELL_VALUES + 1, 3 * SFTEST_CELL_VALUES - 5};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    sftest_sender_setup();
    sftest_sender_give_cells();
    ck_assert(send_scattered(&requests[0], counts[i]));
    ck_assert_int_eq(requests[0].sends_left, 0);
    for (int64_t first = 0; first < counts[i]; first += SFTEST_CELL_VALUES)
      expect_piece(first, counts[i] - first < SFTEST_CELL_VALUES ? counts[i] - first : SFTEST_CELL_VALUES);
    ck_assert(!read_message());
    ck_assert_uint_eq(sftest_sender.counts.bytes_slots, (uint64_t)counts[i] * sizeof(double));
  }
}

/* Who goes on with a send gives others their turn after half of the slots, even if the reader has freed all. */
SFTEST(going_on_stops_after_some_pieces)
{
  sftest_sender_give_cells();
  ck_assert(!send_scattered(&requests[0], SFTEST_LARGE)); /* 16 pieces */
  ck_assert_uint_eq(sftest_sender.lane.tx.posted, SFSHM_LANE_SLOTS);
  sftest_sender.lane.tx_stalled = true;
  for (uint64_t posted = SFSHM_LANE_SLOTS; posted < 16; posted += SFSHM_LANE_SLOTS / 2) {
    ck_assert_uint_eq(sftest_sender.lane.tx.posted, posted);
    while (sftest_sender.reader.received < posted)
      expect_piece((int64_t)sftest_sender.reader.received * SFTEST_CELL_VALUES, SFTEST_CELL_VALUES);
    ck_assert(sfc_lane_send(&sftest_sender.lane, &requests[0]) == (posted + SFSHM_LANE_SLOTS / 2 == 16));
  }
  ck_assert_int_eq(requests[0].sends_left, 0);
}

/* Ranks that come meanwhile change the choice for later messages only. */
SFTEST(a_message_in_pieces_goes_on_in_pieces)
{
  sftest_sender.board.costs.piece_stream_ps = 1;
  sftest_sender.board.costs.remote_stream_ps = 1000;
  sftest_sender_give_cells();
  ck_assert(!send_values(&requests[0], 0, SFTEST_LARGE)); /* 16 pieces */
  atomic_store(&sftest_sender.board.participants, 3);
  for (uint64_t taken = 0; taken < 16; taken++) {
    ck_assert_int_eq(sfshm_desc_method(sftest_sender.slots[taken % SFSHM_LANE_SLOTS].desc), SFSHM_METHOD_CELL);
    ck_assert(read_message());
    if (requests[0].sends_left > 0)
      (void)sfc_lane_send(&sftest_sender.lane, &requests[0]);
  }
  ck_assert_int_eq(requests[0].sends_left, 0);
  ck_assert(!read_message());
  sftest_sender.lane.tx_cursor = (sfc_cursor_t){0};
  ck_assert(send_values(&requests[1], 1, SFTEST_LARGE));
  ck_assert_int_eq(sfshm_desc_method(sftest_sender.slots[0].desc), SFSHM_METHOD_IN_PLACE);
}
