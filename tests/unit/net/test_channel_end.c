/* How channels end: by loss, by refusal, by choice, and by what other daemons say. */
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

SFTEST(no_connection)
{
  sftest_done_t done = {0};
  sftest_fabric_refuse(cluster.hub, 0, 1, true);
  send_one(0, 1, 1, "x", 1, &done);
  sftest_cluster_run(&cluster);
  sftest_expect_down(&nodes[0], 1, SF_ERR_DAEMON_LOST, "connection refused");
  ck_assert_int_eq(done.calls, 1);
  ck_assert_int_eq(done.status, SF_ERR_DAEMON_LOST);
  sftest_fabric_refuse(cluster.hub, 0, 1, false);
  send_one(0, 1, 2, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 0, 2, NULL, 0);
}

static void send_again(sftest_node_t *node)
{
  send_one(node->number, node->down_node, 99, "again", 6, NULL);
}

/* In the middle of a payload: it is lost, and so is what waits. The next message opens the channel anew. */
SFTEST_FOR(cut_within_a_payload, 4)
{
  enum { NBYTES = 3 * SFTEST_FABRIC_PIPE };
  static uint8_t payload[NBYTES];
  sftest_done_t done = {0};
  nodes[1].placing = _i % 2 == 0 ? SFD_PLACE_HERE : SFD_PLACE_CHANNEL;
  nodes[0].on_down = _i / 2 == 0 ? send_again : NULL;
  nodes[1].on_down = send_again;
  send_one(0, 1, 1, payload, NBYTES, &done);
  send_one(0, 1, 2, NULL, 0, NULL);
  send_one(0, 1, 3, payload, 5, &done);
  while (nodes[1].nplaced == 0 && sfd_channel_counts(nodes[1].channels, 0)->bytes_received < 1000)
    sftest_cluster_step(&cluster);
  sftest_fabric_cut(cluster.hub, 0, 1);
  sftest_cluster_run(&cluster);
  sftest_expect_down(&nodes[0], 1, SF_ERR_DAEMON_LOST, "the link was cut");
  sftest_expect_down(&nodes[1], 0, SF_ERR_DAEMON_LOST, "the link was cut");
  ck_assert_int_eq(nodes[1].nlost, _i % 2 == 0 ? 1 : 0);
  ck_assert_int_eq(done.calls, 2);
  ck_assert_int_eq(done.status, SF_ERR_DAEMON_LOST);
  ck_assert_uint_eq(nodes[1].narrivals, _i / 2 == 0 ? 1 : 0);
  sftest_expect_arrival(&nodes[0], 0, 99, "again", 6);
}

static void refuse_placing(sftest_node_t *node, const sfd_message_head_t *head)
{
  node->placing = head->desc == 2 ? SFD_PLACE_REFUSE : SFD_PLACE_CHANNEL;
  sfshm_error(SF_ERR_PROTO, "graph 7 is not known");
}

/* The next message of the same frame is not looked at any more. */
SFTEST_FOR(refused_payload, 2)
{
  static uint8_t payload[600];
  nodes[1].on_place = refuse_placing;
  sfd_channel_hold(nodes[0].channels, 1, true);
  for (uint64_t i = 1; i <= 3; i++)
    send_one(0, 1, i, payload, _i == 0 ? 5 : sizeof payload, NULL);
  send_one(0, 1, 4, NULL, 0, NULL);
  sfd_channel_hold(nodes[0].channels, 1, false);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 1);
  sftest_expect_down(&nodes[1], 0, SF_ERR_PROTO, "node 0 (loop): graph 7 is not known");
  sftest_expect_down(&nodes[0], 1, SF_ERR_DAEMON_LOST, "closed by the other end");
}

static sf_status_t refuse(sftest_node_t *node, const sfd_message_head_t *head)
{
  (void)node;
  return sfshm_error(SF_ERR_RANGE, "rank %u is not here", head->number);
}

SFTEST(refused_message)
{
  sftest_done_t done = {0};
  nodes[1].on_arrived = refuse;
  nodes[1].placing = SFD_PLACE_HERE;
  send_one(1, 0, 1, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_fabric_hold(cluster.hub, 1, 0, true);
  send_one(1, 0, 2, "x", 1, &done);
  send_one(0, 1, 3, "x", 1, NULL);
  sftest_cluster_run(&cluster);
  sftest_expect_down(&nodes[1], 0, SF_ERR_RANGE, "node 0 (loop): rank 0 is not here");
  ck_assert_int_eq(done.calls, 1);
  ck_assert_int_eq(done.status, SF_ERR_RANGE);
  ck_assert_uint_eq(nodes[1].narrivals, 1);
}

SFTEST(too_large_for_the_channel)
{
  static uint8_t payload[SFD_CHANNEL_CONTROL_MAX + 1];
  sftest_done_t done = {0};
  send_one(0, 1, 1, payload, sizeof payload, &done);
  sftest_cluster_run(&cluster);
  sftest_expect_down(&nodes[1], 0, SF_ERR_PROTO, "payload of 1048577 bytes, expected at most 1048576");
  ck_assert_int_eq(done.calls, 1);
}

/* Nothing is told before run_deferred; until then the channel takes no message. */
SFTEST(failed_by_the_user)
{
  sftest_done_t done = {0};
  sfd_channel_fail(nodes[0].channels, 1, SF_ERR_PROTO, "there is no channel");
  send_one(0, 1, 1, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_fabric_hold(cluster.hub, 0, 1, true);
  send_one(0, 1, 2, "x", 1, &done);
  sfd_channel_fail(nodes[0].channels, 1, SF_ERR_PROTO, "first");
  sfd_channel_fail(nodes[0].channels, 1, SF_ERR_ARG, "second");
  ck_assert(nodes[0].deferred);
  ck_assert_int_eq(nodes[0].ndown + done.calls, 0);
  ck_assert_int_eq(sfd_channel_state(nodes[0].channels, 1), SFD_CHANNEL_CLOSED);
  ck_assert_int_eq(sftest_send_message(&cluster, 0, 1, 3, "x", 1, &done), SF_ERR_PROTO);
  ck_assert_str_eq(sfshm_error_detail(), "node 1 (loop): first");
  sftest_cluster_run(&cluster);
  sftest_expect_down(&nodes[0], 1, SF_ERR_PROTO, "node 1 (loop): first");
  sftest_expect_down(&nodes[1], 0, SF_ERR_DAEMON_LOST, "closed by the other end");
  ck_assert_int_eq(done.calls, 1);
  ck_assert_int_eq(done.status, SF_ERR_PROTO);
  sftest_fabric_hold(cluster.hub, 0, 1, false);
  send_one(0, 1, 4, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 1, 4, NULL, 0);
}

static sf_status_t fail_here(sftest_node_t *node, const sfd_message_head_t *head)
{
  (void)head;
  sfd_channel_fail(node->channels, 0, SF_ERR_STATE, "enough");
  return SF_OK;
}

static void fail_place(sftest_node_t *node, const sfd_message_head_t *head)
{
  fail_here(node, head);
}

SFTEST(failed_within_arrived)
{
  nodes[1].on_arrived = fail_here;
  sfd_channel_hold(nodes[0].channels, 1, true);
  send_one(0, 1, 1, "x", 1, NULL);
  send_one(0, 1, 2, "x", 1, NULL);
  sfd_channel_hold(nodes[0].channels, 1, false);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 1);
  sftest_expect_down(&nodes[1], 0, SF_ERR_STATE, "enough");
}

/* A buffer that was given nevertheless comes back. */
SFTEST_FOR(failed_within_place, 2)
{
  static uint8_t payload[5000];
  nodes[1].on_place = fail_place;
  nodes[1].placing = SFD_PLACE_HERE;
  send_one(0, 1, 1, payload, _i == 0 ? 8 : 5000, NULL);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 0);
  ck_assert_int_eq(nodes[1].nlost, 1);
  sftest_expect_down(&nodes[1], 0, SF_ERR_STATE, "enough");
}

/* The other node opens the channel anew before this one's handlers heard of its end: they do so first. */
SFTEST_FOR(back_before_told, 2)
{
  sftest_done_t done = {0};
  send_one(0, 1, 1, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  nodes[1].on_down = send_again;
  if (_i == 1)
    nodes[0].on_down = send_again;
  sftest_fabric_hold(cluster.hub, 0, 1, true);
  send_one(0, 1, 2, "x", 1, &done);
  sfd_channel_fail(nodes[0].channels, 1, SF_ERR_PROTO, "first");
  sftest_fabric_hold(cluster.hub, 0, 1, false);
  for (int32_t i = 0; i < 2; i++)
    nodes[i].is_told = true;
  sftest_fabric_run(cluster.hub, 1000);
  for (int32_t i = 0; i < 2; i++)
    nodes[i].is_told = false;
  sftest_expect_down(&nodes[0], 1, SF_ERR_PROTO, "first");
  ck_assert_int_eq(done.status, SF_ERR_PROTO);
  ck_assert_int_eq(done.calls, 1);
  sftest_expect_arrival(&nodes[0], 0, 99, "again", 6);
  ck_assert_uint_eq(nodes[1].narrivals, _i == 1 ? 2 : 1);
}

typedef struct resend {
  int calls;
  sf_status_t refused;
} resend_t;

static void resend(void *context, sf_status_t status)
{
  resend_t *again = context;
  const sfd_message_head_t head = {.kind = 1, .payload_bytes = 1};
  if (again->calls++ < 3 || status != SF_OK)
    again->refused = sfd_channel_send(nodes[0].channels, 1, &head, "x", resend, again);
}

/* A done that always sends again comes to an end with the channel. */
SFTEST(done_sends_again)
{
  resend_t again = {0};
  resend(&again, SF_OK);
  sftest_cluster_run(&cluster);
  ck_assert_int_eq(again.calls, 4);
  ck_assert_uint_eq(nodes[1].narrivals, 3);
  again.calls = 0;
  resend(&again, SF_OK);
  sftest_fabric_cut(cluster.hub, 0, 1);
  sftest_cluster_run(&cluster);
  ck_assert_int_eq(again.refused, SF_ERR_DAEMON_LOST);
  ck_assert_int_eq(nodes[0].ndown, 1);
}

SFTEST(closed_with_everything_under_way)
{
  enum { NBYTES = 2 * SFTEST_FABRIC_PIPE };
  static uint8_t payload[NBYTES];
  sftest_done_t done = {0};
  nodes[1].placing = SFD_PLACE_HERE;
  send_one(0, 1, 1, payload, NBYTES, &done);
  send_one(1, 2, 1, payload, NBYTES, &done);
  while (nodes[1].nplaced == 0)
    sftest_cluster_step(&cluster);
  sfd_channels_close(nodes[1].channels);
  ck_assert_int_eq(sftest_send_message(&cluster, 1, 0, 1, NULL, 0, NULL), SF_ERR_STATE);
  ck_assert_int_eq(done.calls, 0);
  sftest_cluster_run(&cluster);
  ck_assert_int_eq(done.calls, 2);
  ck_assert_int_eq(nodes[1].nlost, 1);
  ck_assert_int_eq(nodes[1].ndown, 0);
  ck_assert(nodes[1].closed);
  sftest_expect_down(&nodes[0], 1, SF_ERR_DAEMON_LOST, "closed by the other end");
}

/* ---- Greetings and garbage ---- */

SFTEST(greetings)
{
  char text[65] = {0};
  memset(text, 'x', 64);
  ck_assert_int_eq(sfd_channels_set_greeting(nodes[0].channels, "sfd", text), SF_ERR_ARG);
  ck_assert_int_eq(sfd_channels_set_greeting(nodes[0].channels, "s\nfd", ""), SF_ERR_ARG);
  ck_assert_int_eq(sfd_channels_set_greeting(nodes[0].channels, "sfd 0.1.0", text + 1), SF_OK);
  ck_assert_int_eq(sfd_channels_set_greeting(nodes[1].channels, "sfd 0.1.0", text + 1), SF_OK);
  ck_assert_int_eq(sfd_channels_set_greeting(nodes[2].channels, "sfd 0.1.0", "other"), SF_OK);
  send_one(0, 1, 1, NULL, 0, NULL);
  send_one(0, 2, 1, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  ck_assert_uint_eq(nodes[1].narrivals, 1);
  ck_assert_uint_eq(nodes[2].narrivals, 0);
  ck_assert_int_eq(nodes[2].ndown, 1);
  ck_assert_msg(strstr(nodes[2].down_detail, "this one to \"other\"") != NULL, "\"%s\"", nodes[2].down_detail);
  ck_assert_int_eq(sfd_channels_set_greeting(nodes[0].channels, "sfd", ""), SF_ERR_STATE);
}

/* A daemon of another version, played by the test: connects, and sends what it likes. */
static const void *to_send;
static size_t to_send_bytes;
static bool was_ended;

static void bare_up(void *owner, int32_t node)
{
  sfd_fabric_t *fabric = owner;
  const struct iovec iov = {.iov_base = (void *)(uintptr_t)to_send, .iov_len = to_send_bytes};
  fabric->functions->send(fabric, node, &iov, 1);
}

static void bare_down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  (void)owner, (void)node, (void)status, (void)detail;
  was_ended = true;
}

static void bare_sent(void *owner, int32_t node)
{
  (void)owner, (void)node;
}

static size_t bare_want(void *owner, int32_t node, void **buffer_p)
{
  static uint8_t bytes[1000];
  (void)owner, (void)node;
  *buffer_p = bytes;
  return sizeof bytes;
}

static void bare_got(void *owner, int32_t node, size_t nbytes)
{
  (void)owner, (void)node, (void)nbytes;
}

static void bare_closed(void *owner)
{
  (void)owner;
}

static const sfd_fabric_events_t bare_events = {
    .up = bare_up, .down = bare_down, .sent = bare_sent, .want = bare_want, .got = bare_got, .closed = bare_closed};

static void feed(const void *bytes, size_t nbytes)
{
  sfd_fabric_t *fabric = sftest_fabric_of(cluster.hub, 2);
  sftest_cluster_bare(&cluster, 2);
  fabric->events = &bare_events;
  fabric->owner = fabric;
  to_send = bytes;
  to_send_bytes = nbytes;
  fabric->functions->connect(fabric, 0);
  sftest_cluster_run(&cluster);
}

/* Others are not disturbed. */
SFTEST(garbage)
{
  send_one(0, 1, 1, NULL, 0, NULL);
  feed("GET / HTTP/1.1\r\n\r\n", 18);
  sftest_expect_down(&nodes[0], 2, SF_ERR_PROTO,
                     "node 2 (loop): frame at byte 0 of the channel: magic 0x20544547, expected 0x72466673");
  ck_assert(was_ended);
  send_one(0, 1, 2, NULL, 0, NULL);
  sftest_cluster_run(&cluster);
  sftest_expect_arrival(&nodes[1], 1, 2, NULL, 0);
}

SFTEST(newer_daemon)
{
  sfd_frame_header_t header = {.magic = SFD_FRAME_MAGIC, .version = SFD_FRAME_VERSION + 1};
  feed(&header, sizeof header);
  sftest_expect_down(&nodes[0], 2, SF_ERR_VERSION, "node 2 (loop): the daemon there speaks version 3");
}

SFTEST(wrong_node)
{
  struct {
    sfd_frame_header_t header;
    sfd_hello_t hello;
  } frame = {.hello = {.node = 1, .nnodes = 3}};
  frame.header = (sfd_frame_header_t){.type = SFD_FRAME_HELLO, .table_bytes = sizeof frame.hello};
  sfd_frame_seal(&frame.header, &frame.hello);
  feed(&frame, sizeof frame);
  sftest_expect_down(&nodes[0], 2, SF_ERR_PROTO, "says that it is node 1 of 3, expected node 2 of 3");
}
