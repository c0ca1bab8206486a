/* The sending end of a lane: requests whose data are read in place end when the reader says so, not before and not
 * never. The other end is played by hand. */
#include "client/transfer.h"

#include "client/context.h"
#include "client/progress.h"
#include "tests/unit/frames.h"
#include "tests/unit/runner.h"

#define MAX_REQUESTS 300
#define LARGE ((int64_t)1 << 16)

static unsigned seed;

/* Both ends of one lane, and all that the sending end needs around it. */
static struct {
  sf_context_t context;
  sfshm_board_t board;
  sf_graph_t graph;
  sfc_thread_t thread;
  sfshm_counter_set_t counts;
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
  end.board.costs.local_stream_ps = 1000000; /* so that large data are read in place */
  end.context.board = &end.board;
  end.graph = (sf_graph_t){.context = &end.context, .thread = &end.thread, .counts = &end.counts};
  end.peer.wake = &end.wake;
  end.lane = (sfc_lane_t){.graph = &end.graph, .peer = &end.peer};
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
  ck_assert_uint_eq(end.graph.nunread, 0);
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
    ck_assert_uint_eq(end.graph.nunread, (unsigned)later);
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
    ck_assert_uint_eq(end.graph.nunread, 0);
  }
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
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  seed = sftest_seed(20240907);
  return sftest_run(transfer_suite());
}
