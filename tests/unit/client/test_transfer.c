/* The ends of a lane: requests whose data are read in place end when the reader says so, not before and not never;
 * large data go in pieces, not too many at once; small ones go straight where they can. The other end is played by
 * hand. */
#include "client/engine/lane_ops.h"
#include "client/engine/lane_send.h"

#include "client/core/context.h"
#include "client/engine/progress.h"
#include "client/engine/protocol.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_REQUESTS 300
#define LARGE ((int64_t)1 << 16)

static unsigned seed;

/* Both ends of one lane, and all that the sending end needs around it. */
static struct {
  sf_context_t context;
  sfshm_board_t board;
  sf_graph_t graph;
  sfc_thread_t thread;
  sfshm_graph_counters_t graph_counts;
  sfshm_lane_counters_t counts;
  sfc_peer_t peer;
  sfshm_wake_t wake;
  sfc_lane_t lane;
  sfshm_lane_rx_t reader;
  sfshm_slot_t slots[SFSHM_LANE_SLOTS];
  sfshm_slot_t own_slots[SFSHM_LANE_SLOTS];
  sfshm_lane_control_t control;
} end;

static sf_request_t requests[MAX_REQUESTS];
static double values[LARGE];

static void setup(void)
{
  memset(&end, 0, sizeof end);
  end.board.costs.piece_stream_ps = 1000000; /* so that large data are read in place */
  end.context.board = &end.board;
  end.graph = (sf_graph_t){.context = &end.context, .user.thread = &end.thread, .counts = &end.graph_counts};
  end.peer.wake = &end.wake;
  end.lane = (sfc_lane_t){.ops = &sfc_shared_lane_ops, .graph = &end.graph, .peer = &end.peer, .counts = &end.counts};
  end.lane.as_leaf.nvalues = 1;
  end.lane.as_root.root_runs = 1;
  end.lane.tx = (sfshm_lane_tx_t){.slots = end.slots, .control = &end.control};
  end.lane.rx.slots = end.own_slots;
  end.reader = (sfshm_lane_rx_t){.slots = end.slots, .control = &end.control};
}

/* Sends n values, as a request of its own; false if the lane takes nothing now. */
static bool send_values(sf_request_t *request, uint64_t number, int64_t n)
{
  const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  *request = (sf_request_t){.graph = &end.graph,
                            .operation = SFSHM_BCAST,
                            .sends_left = 1,
                            .match = number,
                            .combine = {unit, sizeof(double), NULL},
                            .move = sfshm_kernels_find(unit, SFSHM_OP_REPLACE),
                            .source = (const char *)values,
                            .source_ref = {.class = SFC_MEMORY_ALLOC, .bytes_left = sizeof values}};
  end.lane.as_root.nvalues = n;
  end.lane.as_root.value_root = sfshm_pattern_contiguous(0, n);
  return sfc_lane_send(&end.lane, request);
}

/* The reader takes the next message, and tells at once if it was to be read in place. */
static bool read_message(void)
{
  sfshm_lane_tx_t none = {0};
  const sfshm_slot_t *slot = sfshm_lane_peek(&end.reader, &none);
  if (slot == NULL)
    return false;
  sfshm_lane_consume(&end.reader, sfshm_desc_method(slot->desc) == SFSHM_METHOD_IN_PLACE);
  return true;
}

START_TEST(small_data_are_out_of_hand_when_posted)
{
  ck_assert(send_values(&requests[0], 0, 14));
  ck_assert_int_eq(requests[0].sends_left, 0);
  ck_assert_int_eq(sfshm_desc_method(end.slots[0].desc), SFSHM_METHOD_INLINE);
  ck_assert_uint_eq(end.counts.bytes_inline, 112);
}
END_TEST

START_TEST(data_read_in_place_are_awaited)
{
  ck_assert(send_values(&requests[0], 0, LARGE));
  ck_assert_int_eq(sfshm_desc_method(end.slots[0].desc), SFSHM_METHOD_IN_PLACE);
  ck_assert(!sfc_lane_check_read(&end.lane));
  ck_assert_int_eq(requests[0].sends_left, 1);
  ck_assert(read_message());
  ck_assert(sfc_lane_check_read(&end.lane));
  ck_assert_int_eq(requests[0].sends_left, 0);
  ck_assert_uint_eq(end.graph.progress.nunread, 0);
}
END_TEST

/* The slot of data that have been read is used again before anybody has looked at that. */
START_TEST(a_slot_used_again_ends_what_was_there)
{
  for (int later = 0; later < 2; later++) {
    setup();
    ck_assert(send_values(&requests[0], 0, LARGE));
    for (uint64_t i = 1; i <= SFSHM_LANE_SLOTS; i++) {
      ck_assert(read_message());
      ck_assert(send_values(&requests[i], i, later == 1 && i == SFSHM_LANE_SLOTS ? LARGE : 1));
    }
    sfc_lane_check_read(&end.lane);
    ck_assert_int_eq(requests[0].sends_left, 0);
    ck_assert_uint_eq(end.graph.progress.nunread, (unsigned)later);
  }
}
END_TEST

/* Requests of both kinds, read and looked at whenever. */
START_TEST(every_request_ends_in_time)
{
  uint64_t random = sftest_random_start(seed, 1);
  for (int round = 0; round < 300; round++) {
    int sent = 0;
    bool in_place[MAX_REQUESTS];
    unsigned looks = 1 + sftest_random(&random) % 30;
    setup();
    while (sent < MAX_REQUESTS || end.reader.received < MAX_REQUESTS) {
      unsigned dice = sftest_random(&random) % (looks + 20);
      in_place[sent % MAX_REQUESTS] = dice % 3 == 0;
      if (dice < 10 && sent < MAX_REQUESTS)
        sent += send_values(&requests[sent], (uint64_t)sent, dice % 3 == 0 ? LARGE : 3);
      else if (dice < 20)
        read_message();
      else if (dice == 20)
        sfc_lane_check_read(&end.lane);
      for (uint64_t i = end.reader.received; i < (uint64_t)sent; i++)
        if (requests[i].sends_left != (in_place[i] ? 1 : 0))
          ck_abort_msg("request %llu has %d sends left", (unsigned long long)i, requests[i].sends_left);
    }
    sfc_lane_check_read(&end.lane);
    for (int i = 0; i < MAX_REQUESTS; i++)
      if (requests[i].sends_left != 0)
        ck_abort_msg("request %d of %d never ends", i, MAX_REQUESTS);
    ck_assert_uint_eq(end.lane.tx_unread, 0);
    ck_assert_uint_eq(end.graph.progress.nunread, 0);
  }
}
END_TEST

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

#define CELL_VALUES ((int64_t)(SFC_CELL_BYTES_FIRST / sizeof(double)))

static double cells[SFSHM_LANE_SLOTS * CELL_VALUES];
static uint32_t scattered[LARGE];

static void give_cells(void)
{
  end.lane.tx.cells = (uint8_t *)cells;
  end.lane.tx.cell_bytes = end.lane.tx_cells_tried = SFC_CELL_BYTES_FIRST;
}

/* Starts to send n values that lie scattered in memory that nobody can read in place. */
static bool send_scattered(sf_request_t *request, int64_t n)
{
  const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  for (int64_t i = 0; i < LARGE; i++) {
    values[i] = (double)i;
    scattered[i] = (uint32_t)(i * 7919 % LARGE); /* a prime: all different */
  }
  *request = (sf_request_t){.graph = &end.graph,
                            .operation = SFSHM_BCAST,
                            .sends_left = 1,
                            .combine = {unit, sizeof(double), NULL},
                            .move = sfshm_kernels_find(unit, SFSHM_OP_REPLACE),
                            .source = (const char *)values};
  end.lane.as_root.nvalues = n;
  end.lane.as_root.value_root = (sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = scattered};
  return sfc_lane_send(&end.lane, request);
}

/* The next piece holds these values. */
static void expect_piece(int64_t first, int64_t n)
{
  const double *cell = cells + (size_t)(end.reader.received % SFSHM_LANE_SLOTS) * CELL_VALUES;
  for (int64_t i = 0; i < n; i++)
    if (cell[i] != (double)scattered[first + i])
      ck_abort_msg("value %lld is %g", (long long)(first + i), cell[i]);
  ck_assert(read_message());
}

START_TEST(scattered_values_fill_the_cells)
{
  const int64_t counts[] = {15, 1023, 1024, 1025, 2047, 2048, 2049, CELL_VALUES, CELL_VALUES + 1, 3 * CELL_VALUES - 5};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    setup();
    give_cells();
    ck_assert(send_scattered(&requests[0], counts[i]));
    ck_assert_int_eq(requests[0].sends_left, 0);
    for (int64_t first = 0; first < counts[i]; first += CELL_VALUES)
      expect_piece(first, counts[i] - first < CELL_VALUES ? counts[i] - first : CELL_VALUES);
    ck_assert(!read_message());
    ck_assert_uint_eq(end.counts.bytes_slots, (uint64_t)counts[i] * sizeof(double));
  }
}
END_TEST

/* Who goes on with a send gives others their turn after half of the slots, even if the reader has freed all. */
START_TEST(going_on_stops_after_some_pieces)
{
  give_cells();
  ck_assert(!send_scattered(&requests[0], LARGE)); /* 16 pieces */
  ck_assert_uint_eq(end.lane.tx.posted, SFSHM_LANE_SLOTS);
  end.lane.tx_stalled = true;
  for (uint64_t posted = SFSHM_LANE_SLOTS; posted < 16; posted += SFSHM_LANE_SLOTS / 2) {
    ck_assert_uint_eq(end.lane.tx.posted, posted);
    while (end.reader.received < posted)
      expect_piece((int64_t)end.reader.received * CELL_VALUES, CELL_VALUES);
    ck_assert(sfc_lane_send(&end.lane, &requests[0]) == (posted + SFSHM_LANE_SLOTS / 2 == 16));
  }
  ck_assert_int_eq(requests[0].sends_left, 0);
}
END_TEST

/* ---- The straight way -------------------------------------------------------------------------------------------- */

#define INLINE_MAX ((int64_t)(SFSHM_INLINE_BYTES / sizeof(double)))
#define STRAIGHT_MAX ((int64_t)(SFC_STRAIGHT_BYTES_MAX / sizeof(double)))

static sfc_lane_t *const only_lane[] = {&end.lane, &end.lane};
static double target[LARGE];

/* A request that sends n values to the lane and receives as many from it. */
static sf_request_t exchange(sfshm_operation_t operation, sfshm_op_t op, int64_t n)
{
  const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  sfc_link_t link = {
      .nvalues = n, .nedges = n, .value_root = sfshm_pattern_contiguous(3, n), .leaf = sfshm_pattern_contiguous(5, n)};
  end.lane.as_root = end.lane.as_leaf = link;
  for (int o = 0; o < 2; o++) {
    end.graph.routes.senders[o] = end.graph.routes.receivers[o] = (sfc_lane_t **)(uintptr_t)only_lane;
    end.graph.routes.nsenders[o] = end.graph.routes.nreceivers[o] = 1;
  }
  end.graph.flight.last_sequence = 1;
  return (sf_request_t){.graph = &end.graph,
                        .operation = operation,
                        .sequence = 1,
                        .sends_left = 1,
                        .receives_left = 1,
                        .match = 77,
                        .op = op,
                        .combine = {unit, sizeof(double), sfshm_kernels_find(unit, op)},
                        .move = sfshm_kernels_find(unit, SFSHM_OP_REPLACE),
                        .source = (const char *)values,
                        .target = (char *)target};
}

START_TEST(small_consecutive_values_go_straight)
{
  for (int operation = 0; operation < 2; operation++)
    for (int64_t n = 1; n <= STRAIGHT_MAX; n += n < 20 ? 1 : 41) {
      setup();
      sf_request_t request = exchange((sfshm_operation_t)operation, SFSHM_OP_REPLACE, n);
      sfc_request_find_straight(&request);
      ck_assert_ptr_eq(request.send.lane, &end.lane);
      ck_assert_ptr_eq(request.send.values, (char *)(values + (operation == SFSHM_BCAST ? 3 : 5)));
      ck_assert_uint_eq(request.send.bytes, (size_t)n * sizeof(double));
      ck_assert_ptr_eq(request.receive.lane, &end.lane);
      ck_assert_ptr_eq(request.receive.values, (char *)(target + (operation == SFSHM_BCAST ? 5 : 3)));
      ck_assert_uint_eq(request.receive.bytes, (size_t)n * sizeof(double));
    }
}
END_TEST

static void expect_straight(const sf_request_t *request, bool send, bool receive)
{
  sf_request_t found = *request;
  sfc_request_find_straight(&found);
  ck_assert_int_eq(found.send.lane != NULL, send);
  ck_assert_int_eq(found.receive.lane != NULL, receive);
}

START_TEST(others_take_the_long_way)
{
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, STRAIGHT_MAX + 1);
  expect_straight(&request, false, false);
  request = exchange(SFSHM_REDUCE, SFSHM_OP_SUM, 2);
  expect_straight(&request, true, false);
  request = exchange(SFSHM_REDUCE, SFSHM_OP_REPLACE, 2);
  request.ordered = true;
  expect_straight(&request, true, false);
  request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 2);
  end.lane.as_root.value_root.kind = SFSHM_PATTERN_STRIDED;
  expect_straight(&request, false, true);
  request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 2);
  end.lane.as_leaf.extra_value.n = 1;
  expect_straight(&request, true, false);
  request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 2);
  end.graph.routes.nsenders[SFSHM_BCAST] = end.graph.routes.nreceivers[SFSHM_BCAST] = 2;
  expect_straight(&request, false, false);
}
END_TEST

/* What arrives is the same message, whichever way it went. */
START_TEST(both_ways_send_the_same)
{
  for (int64_t n = 1; n <= STRAIGHT_MAX; n += n < 20 ? 1 : 41) {
    sfshm_slot_t sent[2];
    for (int straight = 0; straight < 2; straight++) {
      setup();
      give_cells();
      for (int64_t i = 0; i < n + 5; i++)
        values[i] = (double)(i + n);
      memset(cells, 0, sizeof cells);
      sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, n);
      sfc_request_find_straight(&request);
      ck_assert(straight ? sfc_request_send_straight(&request, &end.thread) : sfc_lane_send(&end.lane, &request));
      ck_assert_int_eq(request.sends_left, 0);
      ck_assert_uint_eq(end.counts.messages_sent, 1);
      ck_assert_uint_eq(n <= INLINE_MAX ? end.counts.bytes_inline : end.counts.bytes_slots, (size_t)n * sizeof(double));
      ck_assert_int_eq(end.thread.nwakes, 1);
      if (n > INLINE_MAX)
        ck_assert_mem_eq(cells, values + 3, (size_t)n * sizeof(double));
      memcpy(&sent[straight], &end.slots[0], sizeof sent[0]);
    }
    ck_assert_mem_eq(&sent[0], &sent[1], sizeof sent[0]);
  }
}
END_TEST

/* Cells are asked for, or taken, the long way. */
START_TEST(a_lane_without_such_cells_sends_none_straight)
{
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, INLINE_MAX + 1);
  sfc_request_find_straight(&request);
  ck_assert(!sfc_request_send_straight(&request, &end.thread));
  give_cells();
  end.lane.tx_cells_asked = SFC_CELL_BYTES_MAX;
  ck_assert(!sfc_request_send_straight(&request, &end.thread));
  end.lane.tx_cells_asked = 0;
  end.lane.tx.cell_bytes = INLINE_MAX * sizeof(double);
  ck_assert(!sfc_request_send_straight(&request, &end.thread));
  ck_assert_uint_eq(end.lane.tx.posted, 0);
}
END_TEST

START_TEST(a_lane_that_is_full_or_stalled_takes_nothing_straight)
{
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 1);
  sfc_request_find_straight(&request);
  end.lane.tx_stalled = true;
  ck_assert(!sfc_request_send_straight(&request, &end.thread));
  end.lane.tx_stalled = false;
  for (uint32_t i = 0; i < SFSHM_LANE_SLOTS; i++)
    ck_assert(sfc_request_send_straight(&request, &end.thread));
  ck_assert(!sfc_request_send_straight(&request, &end.thread));
  ck_assert_uint_eq(end.lane.tx.posted, SFSHM_LANE_SLOTS);
}
END_TEST

/* The lane's own slots, as if the other end had written there. */
static void arrive(uint64_t desc, const double payload[], int64_t n)
{
  if (n > 0)
    memcpy(end.own_slots[0].payload, payload, (size_t)n * sizeof payload[0]);
  end.own_slots[0].desc = desc;
  end.own_slots[0].stamp = 1;
}

START_TEST(straight_values_land_in_their_place)
{
  const double payload[] = {1.5, 2.5, 3.5};
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 3);
  sfc_request_find_straight(&request);
  end.lane.rx_request = &request;
  memset(target, 0, sizeof target);
  arrive(request.match, payload, 3);
  ck_assert(sfc_lane_receive_straight(&end.lane, &end.own_slots[0]));
  ck_assert_mem_eq(target + 5, payload, sizeof payload);
  ck_assert(target[4] == 0 && target[8] == 0);
  ck_assert_ptr_null(end.lane.rx_request);
  ck_assert_int_eq(request.receives_left, 0);
  ck_assert_uint_eq(end.lane.rx.received, 1);
  ck_assert_uint_eq(end.counts.bytes_received, sizeof payload);
  ck_assert_uint_eq(end.counts.messages_received, 1);
}
END_TEST

/* The same in a cell; values that come in several pieces are left to who puts them together. */
START_TEST(values_in_a_cell_land_in_their_place)
{
  const int64_t n = 100;
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, n);
  sfc_request_find_straight(&request);
  end.lane.rx_request = &request;
  memset(target, 0, sizeof target);
  for (int64_t i = 0; i < n; i++)
    cells[i] = (double)(i + 1);
  end.lane.rx.cells = (const uint8_t *)cells;
  end.lane.rx.cell_bytes = 512;
  arrive(sfshm_desc_with_method(request.match, SFSHM_METHOD_CELL), NULL, 0);
  ck_assert(!sfc_lane_receive_straight(&end.lane, &end.own_slots[0]));
  end.lane.rx.cell_bytes = 1024;
  ck_assert(sfc_lane_receive_straight(&end.lane, &end.own_slots[0]));
  ck_assert_mem_eq(target + 5, cells, (size_t)n * sizeof(double));
  ck_assert(target[4] == 0 && target[5 + n] == 0);
  ck_assert_int_eq(request.receives_left, 0);
  ck_assert_uint_eq(end.counts.bytes_received, (size_t)n * sizeof(double));
}
END_TEST

/* A message of another operation or another method is left to who says what is wrong, or knows what to do. */
START_TEST(other_messages_are_left)
{
  const double payload[] = {1.5, 2.5, 3.5};
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 3);
  sfc_request_find_straight(&request);
  end.lane.rx_request = &request;
  arrive(request.match + 1, payload, 3);
  ck_assert(!sfc_lane_receive_straight(&end.lane, &end.own_slots[0]));
  arrive(sfshm_desc_with_method(request.match, SFSHM_METHOD_CELL), payload, 3);
  ck_assert(!sfc_lane_receive_straight(&end.lane, &end.own_slots[0]));
  ck_assert_uint_eq(end.lane.rx.received, 0);
  ck_assert_int_eq(request.receives_left, 1);
}
END_TEST

static Suite *transfer_suite(void)
{
  Suite *suite = suite_create("transfer");
  TCase *tcase = tcase_create("transfer");
  tcase_add_checked_fixture(tcase, setup, NULL);
  tcase_add_test(tcase, small_data_are_out_of_hand_when_posted);
  tcase_add_test(tcase, data_read_in_place_are_awaited);
  tcase_add_test(tcase, a_slot_used_again_ends_what_was_there);
  tcase_add_test(tcase, every_request_ends_in_time);
  tcase_add_test(tcase, scattered_values_fill_the_cells);
  tcase_add_test(tcase, going_on_stops_after_some_pieces);
  tcase_add_test(tcase, small_consecutive_values_go_straight);
  tcase_add_test(tcase, others_take_the_long_way);
  tcase_add_test(tcase, both_ways_send_the_same);
  tcase_add_test(tcase, a_lane_without_such_cells_sends_none_straight);
  tcase_add_test(tcase, values_in_a_cell_land_in_their_place);
  tcase_add_test(tcase, a_lane_that_is_full_or_stalled_takes_nothing_straight);
  tcase_add_test(tcase, straight_values_land_in_their_place);
  tcase_add_test(tcase, other_messages_are_left);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  seed = sftest_seed(20240907);
  return sftest_run(transfer_suite());
}
