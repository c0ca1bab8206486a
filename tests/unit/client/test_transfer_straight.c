/* Small messages of consecutive values, which go straight between array and lane: which ones do, and where they land.
 */
#include "client/engine/lane_ops.h"
#include "client/engine/lane_send.h"

#include "client/engine/progress.h"
#include "client/engine/protocol.h"
#include "tests/unit/client/sender.h"
#include "tests/unit/seed.h"

SFTEST_FIXTURE(sftest_sender_setup, NULL);

SFTEST_SEED(20240907);

#define INLINE_MAX ((int64_t)(SFSHM_INLINE_BYTES / sizeof(double)))
#define STRAIGHT_MAX ((int64_t)(SFC_FAST_PATH_BYTES_MAX / sizeof(double)))

static sfc_lane_t *const only_lane[] = {&sftest_sender.lane, &sftest_sender.lane};
static double target[SFTEST_LARGE];

/* A request that sends n values to the lane and receives as many from it. */
static sf_request_t exchange(sfshm_operation_t operation, sfshm_op_t op, int64_t n)
{
  const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  sfc_link_t link = {
      .nvalues = n, .nedges = n, .value_root = sfshm_pattern_contiguous(3, n), .leaf = sfshm_pattern_contiguous(5, n)};
  sftest_sender.lane.as_root = sftest_sender.lane.as_leaf = link;
  for (int o = 0; o < 2; o++) {
    sftest_sender.graph.routes.senders[o] = sftest_sender.graph.routes.receivers[o] =
        (sfc_lane_t **)(uintptr_t)only_lane;
    sftest_sender.graph.routes.nsenders[o] = sftest_sender.graph.routes.nreceivers[o] = 1;
  }
  sftest_sender.graph.flight.last_sequence = 1;
  static sfc_field_t field;
  field = (sfc_field_t){.op = op,
                        .combine = {unit, sizeof(double), sfshm_kernels_find(unit, op)},
                        .move = sfshm_kernels_find(unit, SFSHM_OP_REPLACE),
                        .source = (const char *)sftest_sender_values,
                        .target = (char *)target};
  return (sf_request_t){.graph = &sftest_sender.graph,
                        .operation = operation,
                        .sequence = 1,
                        .sends_left = 1,
                        .receives_left = 1,
                        .match = 77,
                        .value_bytes = sizeof(double),
                        .nfields = 1,
                        .fields = &field,
                        .first = field,
                        .replaces = op == SFSHM_OP_REPLACE};
}

SFTEST(small_consecutive_values_go_straight)
{
  for (int operation = 0; operation < 2; operation++)
    for (int64_t n = 1; n <= STRAIGHT_MAX; n += n < 20 ? 1 : 41) {
      sftest_sender_setup();
      sf_request_t request = exchange((sfshm_operation_t)operation, SFSHM_OP_REPLACE, n);
      sfc_fast_path_find(&request);
      ck_assert_ptr_eq(request.send.lane, &sftest_sender.lane);
      ck_assert_ptr_eq(request.send.values, (char *)(sftest_sender_values + (operation == SFSHM_BCAST ? 3 : 5)));
      ck_assert_uint_eq(request.send.bytes, (size_t)n * sizeof(double));
      ck_assert_ptr_eq(request.receive.lane, &sftest_sender.lane);
      ck_assert_ptr_eq(request.receive.values, (char *)(target + (operation == SFSHM_BCAST ? 5 : 3)));
      ck_assert_uint_eq(request.receive.bytes, (size_t)n * sizeof(double));
    }
}

static void expect_straight(const sf_request_t *request, bool send, bool receive)
{
  sf_request_t found = *request;
  sfc_fast_path_find(&found);
  ck_assert_int_eq(found.send.lane != NULL, send);
  ck_assert_int_eq(found.receive.lane != NULL, receive);
}

SFTEST(others_take_the_long_way)
{
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, STRAIGHT_MAX + 1);
  expect_straight(&request, false, false);
  request = exchange(SFSHM_REDUCE, SFSHM_OP_SUM, 2);
  expect_straight(&request, true, false);
  request = exchange(SFSHM_REDUCE, SFSHM_OP_REPLACE, 2);
  request.ordered = true;
  expect_straight(&request, true, false);
  request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 2);
  sftest_sender.lane.as_root.value_root.kind = SFSHM_PATTERN_STRIDED;
  expect_straight(&request, false, true);
  request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 2);
  sftest_sender.lane.as_leaf.extra_value.n = 1;
  expect_straight(&request, true, false);
  request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 2);
  sftest_sender.graph.routes.nsenders[SFSHM_BCAST] = sftest_sender.graph.routes.nreceivers[SFSHM_BCAST] = 2;
  expect_straight(&request, false, false);
}

/* What arrives is the same message, whichever way it went. */
SFTEST(both_ways_send_the_same)
{
  for (int64_t n = 1; n <= STRAIGHT_MAX; n += n < 20 ? 1 : 41) {
    sfshm_slot_t sent[2];
    for (int straight = 0; straight < 2; straight++) {
      sftest_sender_setup();
      sftest_sender_give_cells();
      for (int64_t i = 0; i < n + 5; i++)
        sftest_sender_values[i] = (double)(i + n);
      memset(sftest_sender_cells, 0, sizeof sftest_sender_cells);
      sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, n);
      sfc_fast_path_find(&request);
      ck_assert(straight ? sfc_fast_path_send(&request, &sftest_sender.thread)
                         : sfc_lane_send(&sftest_sender.lane, &request));
      ck_assert_int_eq(request.sends_left, 0);
      ck_assert_uint_eq(sftest_sender.counts.messages_sent, 1);
      ck_assert_uint_eq(n <= INLINE_MAX ? sftest_sender.counts.bytes_inline : sftest_sender.counts.bytes_slots,
                        (size_t)n * sizeof(double));
      ck_assert_int_eq(sftest_sender.thread.nwakes, 1);
      if (n > INLINE_MAX)
        ck_assert_mem_eq(sftest_sender_cells, sftest_sender_values + 3, (size_t)n * sizeof(double));
      memcpy(&sent[straight], &sftest_sender.slots[0], sizeof sent[0]);
    }
    ck_assert_mem_eq(&sent[0], &sent[1], sizeof sent[0]);
  }
}

/* Cells are asked for, or taken, the long way. */
SFTEST(a_lane_without_such_cells_sends_none_straight)
{
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, INLINE_MAX + 1);
  sfc_fast_path_find(&request);
  ck_assert(!sfc_fast_path_send(&request, &sftest_sender.thread));
  sftest_sender_give_cells();
  sftest_sender.lane.tx_cells_asked = SFC_CELL_BYTES_MAX;
  ck_assert(!sfc_fast_path_send(&request, &sftest_sender.thread));
  sftest_sender.lane.tx_cells_asked = 0;
  sftest_sender.lane.tx.cell_bytes = INLINE_MAX * sizeof(double);
  ck_assert(!sfc_fast_path_send(&request, &sftest_sender.thread));
  ck_assert_uint_eq(sftest_sender.lane.tx.posted, 0);
}

SFTEST(a_lane_that_is_full_or_stalled_takes_nothing_straight)
{
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 1);
  sfc_fast_path_find(&request);
  sftest_sender.lane.tx_stalled = true;
  ck_assert(!sfc_fast_path_send(&request, &sftest_sender.thread));
  sftest_sender.lane.tx_stalled = false;
  for (uint32_t i = 0; i < SFSHM_LANE_SLOTS; i++)
    ck_assert(sfc_fast_path_send(&request, &sftest_sender.thread));
  ck_assert(!sfc_fast_path_send(&request, &sftest_sender.thread));
  ck_assert_uint_eq(sftest_sender.lane.tx.posted, SFSHM_LANE_SLOTS);
}

/* The lane's own slots, as if the other end had written there. */
static void arrive(uint64_t desc, const double payload[], int64_t n)
{
  if (n > 0)
    memcpy(sftest_sender.own_slots[0].payload, payload, (size_t)n * sizeof payload[0]);
  sftest_sender.own_slots[0].desc = desc;
  sftest_sender.own_slots[0].stamp = 1;
}

SFTEST(straight_values_land_in_their_place)
{
  const double payload[] = {1.5, 2.5, 3.5};
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 3);
  sfc_fast_path_find(&request);
  sftest_sender.lane.rx_request = &request;
  memset(target, 0, sizeof target);
  arrive(request.match, payload, 3);
  ck_assert(sfc_fast_path_receive(&sftest_sender.lane, &sftest_sender.own_slots[0]));
  ck_assert_mem_eq(target + 5, payload, sizeof payload);
  ck_assert(target[4] == 0 && target[8] == 0);
  ck_assert_ptr_null(sftest_sender.lane.rx_request);
  ck_assert_int_eq(request.receives_left, 0);
  ck_assert_uint_eq(sftest_sender.lane.rx.received, 1);
  ck_assert_uint_eq(sftest_sender.counts.bytes_received, sizeof payload);
  ck_assert_uint_eq(sftest_sender.counts.messages_received, 1);
}

/* The same in a cell; values that come in several pieces are left to who puts them together. */
SFTEST(values_in_a_cell_land_in_their_place)
{
  const int64_t n = 100;
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, n);
  sfc_fast_path_find(&request);
  sftest_sender.lane.rx_request = &request;
  memset(target, 0, sizeof target);
  for (int64_t i = 0; i < n; i++)
    sftest_sender_cells[i] = (double)(i + 1);
  sftest_sender.lane.rx.cells = (const uint8_t *)sftest_sender_cells;
  sftest_sender.lane.rx.cell_bytes = 512;
  arrive(sfshm_desc_with_method(request.match, SFSHM_METHOD_CELL), NULL, 0);
  ck_assert(!sfc_fast_path_receive(&sftest_sender.lane, &sftest_sender.own_slots[0]));
  sftest_sender.lane.rx.cell_bytes = 1024;
  ck_assert(sfc_fast_path_receive(&sftest_sender.lane, &sftest_sender.own_slots[0]));
  ck_assert_mem_eq(target + 5, sftest_sender_cells, (size_t)n * sizeof(double));
  ck_assert(target[4] == 0 && target[5 + n] == 0);
  ck_assert_int_eq(request.receives_left, 0);
  ck_assert_uint_eq(sftest_sender.counts.bytes_received, (size_t)n * sizeof(double));
}

/* A message of another operation or another method is left to who says what is wrong, or knows what to do. */
SFTEST(other_messages_are_left)
{
  const double payload[] = {1.5, 2.5, 3.5};
  sf_request_t request = exchange(SFSHM_BCAST, SFSHM_OP_REPLACE, 3);
  sfc_fast_path_find(&request);
  sftest_sender.lane.rx_request = &request;
  arrive(request.match + 1, payload, 3);
  ck_assert(!sfc_fast_path_receive(&sftest_sender.lane, &sftest_sender.own_slots[0]));
  arrive(sfshm_desc_with_method(request.match, SFSHM_METHOD_CELL), payload, 3);
  ck_assert(!sfc_fast_path_receive(&sftest_sender.lane, &sftest_sender.own_slots[0]));
  ck_assert_uint_eq(sftest_sender.lane.rx.received, 0);
  ck_assert_int_eq(request.receives_left, 1);
}
