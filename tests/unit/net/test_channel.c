/* What channels do with messages. */
#include "daemon/net/frame.h"
#include "shm/base/error.h"
#include "tests/unit/channel_fixture.h"

static sftest_cluster_t cluster;
static sftest_node_t *const nodes = cluster.nodes;

static void setup(void)
{
  sftest_cluster_start(&cluster, 3);
}

static void teardown(void)
{
  sftest_cluster_stop(&cluster);
}

SFTEST_FIXTURE(setup, teardown);

static void send_one(int32_t from, int32_t to, uint64_t number, const void *payload, size_t nbytes, sftest_done_t *done)
{
  ck_assert_int_eq(sftest_send_message(&cluster, from, to, number, payload, nbytes, done), SF_OK);
}

static const sfd_channel_counts_t *counts(int32_t node, int32_t other)
{
  return sfd_channel_counts(nodes[node].channels, other);
}

/* Every head arrives as it was sent, and each message in a frame of its own. */
SFTEST(alone)
{
  const sfd_message_head_t head = {
      .kind = 15, .flags = 77, .number = 5, .payload_bytes = 5, .job = 1ull << 60, .object = 2, .desc = 3};
  ck_assert_int_eq(sfd_channel_state(nodes[0].channels, 1), SFD_CHANNEL_CLOSED);
  ck_assert_int_eq(sfd_channel_send(nodes[0].channels, 1, &head, "five", NULL, NULL), SF_OK);
  ck_assert_int_eq(sfd_channel_state(nodes[0].channels, 1), SFD_CHANNEL_OPENING);
  sftest_cluster_run(&cluster);
  ck_assert_int_eq(sfd_channel_state(nodes[0].channels, 1), SFD_CHANNEL_OPEN);
  ck_assert_int_eq(sfd_channel_state(nodes[1].channels, 0), SFD_CHANNEL_OPEN);
  sftest_expect_arrival(&nodes[1], 0, 3, "five", 5);
  ck_assert_mem_eq(&nodes[1].arrivals[0].head, &head, sizeof head);
  send_one(0, 1, 8, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 1, 8, NULL, 0);
  ck_assert_uint_eq(counts(0, 1)->frames_sent, 2);
  ck_assert_uint_eq(counts(1, 0)->frames_received, 2);
  ck_assert_uint_eq(nodes[2].narrivals, 0);
}

SFTEST_FOR(all_sizes, 4)
{
  static const size_t sizes[] = {1, 7, 8, 511, 512, 513, 4095, 16383, 16384, 16385, 70000, 1 << 20};
  static const sfd_placing_t placings[] = {SFD_PLACE_HERE, SFD_PLACE_CHANNEL};
  uint8_t *payload = malloc(1 << 20);
  for (size_t i = 0; i < 1 << 20; i++)
    payload[i] = (uint8_t)(i * 7 + i / 256);
  nodes[1].placing = placings[_i % 2];
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    sftest_done_t done = {0};
    send_one(0, 1, i, payload, sizes[i], _i < 2 ? &done : NULL);
    ck_assert_int_eq(done.calls, 0);
    sftest_cluster_run(&cluster);
    ck_assert_int_eq(done.calls, _i < 2 ? 1 : 0);
    ck_assert_int_eq(done.status, SF_OK);
    sftest_expect_arrival(&nodes[1], i, i, payload, sizes[i]);
  }
  free(payload);
}

SFTEST(unwanted)
{
  static uint8_t payload[100000];
  nodes[1].placing = SFD_PLACE_NOWHERE;
  send_one(0, 1, 1, payload, sizeof payload, NULL);
  send_one(0, 1, 2, payload, 9, NULL);
  send_one(0, 1, 3, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 1);
  sftest_expect_arrival(&nodes[1], 0, 3, NULL, 0);
  ck_assert_uint_eq(counts(1, 0)->messages_received[1], 3);
}

static void send_lazily(uint64_t number)
{
  const sfd_message_head_t head = {.kind = 2, .desc = number};
  ck_assert_int_eq(sfd_channel_send_lazily(nodes[0].channels, 1, &head), SF_OK);
}

/* What may wait goes along with what may not, or with the second that may wait, or when it is let go. */
SFTEST(lazy)
{
  send_lazily(1); /* there is no channel yet: no reason to wait */
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 0, 1, NULL, 0);
  send_lazily(2);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 1);
  send_one(0, 1, 3, "six", 4, NULL);
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 1, 2, NULL, 0);
  sftest_expect_arrival(&nodes[1], 2, 3, "six", 4);
  ck_assert_uint_eq(counts(0, 1)->frames_sent, 2);
  ck_assert(!sfd_channels_flush(nodes[0].channels));
  send_lazily(4);
  send_lazily(5);
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 4, 5, NULL, 0);
  send_lazily(6);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 5);
  ck_assert(sfd_channels_flush(nodes[0].channels));
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 5, 6, NULL, 0);
  ck_assert_uint_eq(counts(0, 1)->frames_sent, 4);
  send_lazily(7); /* the channel ends with it */
  sftest_fabric_cut(cluster.hub, 0, 1);
  sftest_cluster_run(&cluster);
  ck_assert(!sfd_channels_flush(nodes[0].channels));
}

/* What is sent while a frame is under way goes together, and in order. */
SFTEST(gathering)
{
  sftest_done_t done = {0};
  static uint8_t payload[1000] = {1, 2, 3};
  send_one(0, 1, 0, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_fabric_hold(cluster.hub, 0, 1, true);
  for (uint64_t i = 1; i <= 9; i++)
    send_one(0, 1, i, payload, i % 3 == 0 ? 1000 : i, i % 2 == 0 ? &done : NULL);
  ck_assert_uint_eq(counts(0, 1)->queued_messages, 9);
  ck_assert_uint_eq(counts(0, 1)->queued_bytes, 3027);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 1);
  sftest_fabric_hold(cluster.hub, 0, 1, false);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 10);
  for (uint64_t i = 1; i <= 9; i++)
    sftest_expect_arrival(&nodes[1], i, i, payload, i % 3 == 0 ? 1000 : i);
  ck_assert_uint_eq(counts(0, 1)->frames_sent, 3);
  ck_assert_uint_eq(counts(0, 1)->queued_messages, 0);
  ck_assert_uint_eq(counts(0, 1)->queued_bytes, 0);
  ck_assert_int_eq(done.calls, 4);
}

/* The number of messages, the table and the payloads of a frame are bounded. */
SFTEST(frames_are_bounded)
{
  static uint8_t payload[1 << 20];
  sfd_channel_hold(nodes[0].channels, 1, true);
  for (uint64_t i = 0; i < 600; i++)
    send_one(0, 1, i, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(counts(0, 1)->bytes_sent, 0);
  sfd_channel_hold(nodes[0].channels, 1, false);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(counts(0, 1)->frames_sent, 3);
  sfd_channel_hold(nodes[0].channels, 1, true);
  for (uint64_t i = 0; i < 100; i++)
    send_one(0, 1, i, payload, 512, NULL);
  sfd_channel_hold(nodes[0].channels, 1, false);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(counts(0, 1)->frames_sent, 6);
  sfd_channel_hold(nodes[0].channels, 1, true);
  for (uint64_t i = 0; i < 10; i++)
    send_one(0, 1, i, payload, sizeof payload, NULL);
  sfd_channel_hold(nodes[0].channels, 1, false);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(counts(0, 1)->frames_sent, 9);
  ck_assert_uint_eq(nodes[1].narrivals, 710);
}

SFTEST(counting)
{
  static uint8_t payload[1001];
  send_one(0, 1, 1, payload, 1001, NULL);
  send_one(0, 1, 2, payload, 10, NULL);
  send_one(1, 0, 3, payload, 3, NULL);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(counts(0, 1)->messages_sent[1], 2);
  ck_assert_uint_eq(counts(0, 1)->payload_sent[1], 1011);
  ck_assert_uint_eq(counts(0, 1)->messages_sent[0], 0);
  ck_assert_uint_eq(counts(1, 0)->messages_received[1], 2);
  ck_assert_uint_eq(counts(1, 0)->payload_received[1], 1011);
  ck_assert_uint_eq(counts(0, 1)->payload_received[1], 3);
  ck_assert_uint_eq(counts(0, 1)->bytes_sent, counts(1, 0)->bytes_received);
  ck_assert_uint_eq(counts(1, 0)->bytes_sent, counts(0, 1)->bytes_received);
  ck_assert_uint_eq(counts(1, 0)->bytes_sent, 32 + sizeof(sfd_hello_t) + 32 + 40 + 8);
  ck_assert_uint_eq(counts(0, 2)->bytes_sent, 0);
}

/* Parts of a message, of which the last one counts; and the bytes of all. */
SFTEST(counting_parts)
{
  static uint8_t payload[1001];
  for (int part = 0; part < 3; part++) {
    const sfd_message_head_t head = {
        .kind = 1, .flags = part < 2 ? SFD_MESSAGE_CONTINUES : 0, .payload_bytes = sizeof payload};
    ck_assert_int_eq(sfd_channel_send(cluster.nodes[0].channels, 1, &head, payload, NULL, NULL), SF_OK);
  }
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(counts(0, 1)->messages_sent[1], 1);
  ck_assert_uint_eq(counts(0, 1)->payload_sent[1], 3 * sizeof payload);
  ck_assert_uint_eq(counts(1, 0)->messages_received[1], 1);
  ck_assert_uint_eq(counts(1, 0)->payload_received[1], 3 * sizeof payload);
}

/* Memory is bounded when the other node takes nothing; by the limit nothing is broken. */
SFTEST(limited)
{
  enum { NBYTES = 1 << 20 };
  static uint8_t payload[NBYTES];
  size_t accepted = 0;
  sftest_fabric_hold(cluster.hub, 0, 1, true);
  while (sftest_send_message(&cluster, 0, 1, accepted, payload, NBYTES, NULL) == SF_OK)
    accepted++;
  ck_assert_int_eq(sftest_send_message(&cluster, 0, 1, 0, payload, NBYTES, NULL), SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "node 1 does not take what is sent to it"));
  ck_assert_uint_gt(accepted, 60);
  ck_assert_uint_le(accepted, 64);
  size_t small = 0;
  sftest_done_t done = {0};
  while (sftest_send_message(&cluster, 0, 1, accepted, payload, 512, &done) == SF_OK)
    small++;
  ck_assert_uint_lt(small, 4096);
  sftest_fabric_hold(cluster.hub, 0, 1, false);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, accepted + small);
  ck_assert_uint_eq((unsigned)done.calls, small);
  send_one(0, 1, 5, payload, NBYTES, NULL);
}

static sf_status_t answer(sftest_node_t *node, const sfd_message_head_t *head)
{
  const sftest_arrival_t *arrival = &node->arrivals[node->narrivals - 1];
  if (head->desc == 0)
    return SF_OK;
  return sftest_send_message(&cluster, node->number, arrival->from, head->desc - 1, "pong", 5, NULL);
}

SFTEST(handlers_may_send)
{
  nodes[0].on_arrived = answer;
  nodes[1].on_arrived = answer;
  send_one(0, 1, 100, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[0].narrivals, 50);
  ck_assert_uint_eq(nodes[1].narrivals, 51);
}

SFTEST(both_open)
{
  send_one(0, 1, 1, NULL, 0, NULL);
  send_one(1, 0, 2, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 0, 1, NULL, 0);
  sftest_expect_arrival(&nodes[0], 0, 2, NULL, 0);
  ck_assert_int_eq(nodes[0].ndown + nodes[1].ndown, 0);
}

/* A burst of frames of odd sizes is read in large pieces, which hold many frames and cut them anywhere. */
SFTEST_FOR(burst, 2)
{
  enum { NMESSAGES = 60 };
  static uint8_t payload[16384];
  sftest_done_t done = {0};
  nodes[1].placing = _i % 2 == 0 ? SFD_PLACE_CHANNEL : SFD_PLACE_HERE;
  for (size_t i = 0; i < sizeof payload; i++)
    payload[i] = (uint8_t)(i * 31 + i / 256);
  send_one(0, 1, 0, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_fabric_set_delay(cluster.hub, SFTEST_FABRIC_DELAY_MAX); /* the first one holds up the others */
  for (size_t i = 1; i <= NMESSAGES; i++) {
    for (size_t j = 0; j < 8; j++)
      send_one(0, 1, 8 * i + j, payload, 1 + (i * 1009 + j * j * 77) % (j == 7 ? 8000 : 600), &done);
    sftest_cluster_step(&cluster);
    sftest_fabric_set_delay(cluster.hub, 0);
  }
  ck_assert_uint_eq(nodes[1].narrivals, 1);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 1 + 8 * NMESSAGES);
  for (size_t n = 1, i = 1; i <= NMESSAGES; i++)
    for (size_t j = 0; j < 8; j++)
      sftest_expect_arrival(&nodes[1], n++, 8 * i + j, payload, 1 + (i * 1009 + j * j * 77) % (j == 7 ? 8000 : 600));
  ck_assert_int_eq(done.calls, 8 * NMESSAGES);
}
