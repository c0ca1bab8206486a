/* Random messages between nodes, over streams that deliver in random chunks and delays: each arrives complete, in order
 * and once; with streams, channels and nodes lost at random, those that arrive do, and every done is called once. */
#include "daemon/net/frame.h"
#include "tests/unit/channel_fixture.h"
#include "tests/unit/seed.h"

#define NODES 3
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 12
#else
#define ROUNDS 40
#endif
#define MESSAGES 400

/* Of a message with done: freed when it is called, so that a sanitizer sees later reads. */
typedef struct sent {
  uint8_t *payload;
  int calls;
  sf_status_t status;
} sent_t;

static sftest_cluster_t cluster;
static uint64_t state;
static bool lossy;
static uint64_t next_sent[NODES][NODES];
static uint64_t next_expected[NODES][NODES];
static sent_t sents[MESSAGES];
static size_t nsents;
static size_t narrived;

static unsigned below(unsigned limit)
{
  return sftest_random(&state) % limit;
}

static uint32_t random_size(void)
{
  static const unsigned limits[] = {1, 2, 20, SFD_FRAME_INLINE_MAX + 3, 2000, 20000, 70000, 600000};
  return below(limits[below(sizeof limits / sizeof limits[0])]);
}

/* ---- Payloads, which head and place determine ---- */

/* One thread fills and checks them: looking for races in every byte would take most of the test's time. */
#define OF_ONE_THREAD __attribute__((no_sanitize_thread))

OF_ONE_THREAD static uint8_t content(const sfd_message_head_t *head, size_t i)
{
  return (uint8_t)(i * 13 + i / 251 + head->desc * 7 + head->job);
}

OF_ONE_THREAD static void fill(uint8_t *payload, const sfd_message_head_t *head)
{
  for (size_t i = 0; i < head->payload_bytes; i++)
    payload[i] = content(head, i);
}

OF_ONE_THREAD static void check(const uint8_t *payload, const sfd_message_head_t *head)
{
  for (size_t i = 0; i < head->payload_bytes; i++)
    if (payload[i] != content(head, i))
      ck_abort_msg("byte %zu of %u is wrong", i, (unsigned)head->payload_bytes);
}

/* ---- Receiving ---- */

static void take_number(const sftest_node_t *node, const sfd_message_head_t *head)
{
  uint64_t *expected = &next_expected[head->job][node->number];
  if (lossy)
    ck_assert_uint_ge(head->desc, *expected);
  else
    ck_assert_uint_eq(head->desc, *expected);
  ck_assert_uint_eq(head->kind, head->desc % SFD_MESSAGE_KINDS);
  ck_assert_uint_eq(head->number, head->payload_bytes);
  *expected = head->desc + 1;
  narrived++;
}

static void on_place(sftest_node_t *node, const sfd_message_head_t *head)
{
  static const sfd_placing_t placings[] = {SFD_PLACE_HERE, SFD_PLACE_CHANNEL, SFD_PLACE_HERE, SFD_PLACE_NOWHERE};
  node->placing = placings[below(4)];
  if (lossy && below(500) == 0)
    node->placing = SFD_PLACE_REFUSE;
  if (node->placing == SFD_PLACE_NOWHERE)
    take_number(node, head);
}

static sf_status_t on_arrived(sftest_node_t *node, const sfd_message_head_t *head)
{
  sftest_arrival_t *arrival = &node->arrivals[--node->narrivals];
  ck_assert_int_eq(arrival->from, (int32_t)head->job);
  take_number(node, head);
  check(arrival->payload, head);
  free(arrival->payload);
  return lossy && below(500) == 0 ? SF_ERR_PROTO : SF_OK;
}

/* ---- Sending ---- */

static void on_done(void *context, sf_status_t status)
{
  sent_t *sent = context;
  sent->calls++;
  sent->status = status;
  free(sent->payload);
}

static void send_random(int32_t from, int32_t to)
{
  uint64_t number = next_sent[from][to];
  sfd_message_head_t head = {.kind = (uint16_t)(number % SFD_MESSAGE_KINDS), .desc = number, .job = (uint64_t)from};
  head.payload_bytes = head.number = random_size();
  uint8_t *payload = malloc(head.payload_bytes);
  fill(payload, &head);
  bool with_done = below(2) == 0;
  sent_t *sent = &sents[nsents];
  *sent = (sent_t){.payload = payload};
  sf_status_t status = sfd_channel_send(cluster.nodes[from].channels, to, &head, payload, with_done ? on_done : NULL,
                                        with_done ? sent : NULL);
  ck_assert(status == SF_OK || lossy);
  if (status == SF_OK)
    next_sent[from][to]++;
  if (status == SF_OK && with_done)
    nsents++;
  else
    free(payload);
}

/* ---- What happens ---- */

static void disturb(int32_t a, int32_t b)
{
  switch (below(6)) {
  case 0:
    sftest_fabric_cut(cluster.hub, a, b);
    break;
  case 1:
    sfd_channel_fail(cluster.nodes[a].channels, b, SF_ERR_PROTO, "by chance");
    break;
  case 2:
    sftest_fabric_refuse(cluster.hub, a, b, below(2) == 0);
    break;
  case 3:
    if (below(10) == 0)
      sftest_fabric_kill(cluster.hub, a);
    break;
  default:
    break;
  }
}

static void hold(int32_t a, int32_t b)
{
  if (below(2) == 0)
    sftest_fabric_hold(cluster.hub, a, b, below(3) == 0);
  else
    sfd_channel_hold(cluster.nodes[a].channels, b, below(3) == 0);
}

static void act(void)
{
  int32_t a = (int32_t)below(NODES), b = (int32_t)((unsigned)a + 1 + below(NODES - 1)) % NODES;
  switch (below(8)) {
  case 0:
    hold(a, b);
    break;
  case 1:
    sftest_fabric_set_delay(cluster.hub, below(2) ? 0 : below(30));
    break;
  case 2:
    if (lossy && below(8) == 0)
      disturb(a, b);
    break;
  case 3:
    for (unsigned n = below(20); n > 0 && nsents < MESSAGES; n--)
      send_random(a, b);
    break;
  case 4:
    if (nsents < MESSAGES)
      send_random(a, b);
    break;
  default:
    sftest_cluster_step(&cluster);
    break;
  }
}

static void release_all(void)
{
  for (int32_t a = 0; a < NODES; a++)
    for (int32_t b = 0; b < NODES; b++)
      if (a != b) {
        sftest_fabric_hold(cluster.hub, a, b, false);
        sfd_channel_hold(cluster.nodes[a].channels, b, false);
      }
}

/* The counters of what was sent and received agree; nothing waits any more. */
static void check_counts(int32_t a, int32_t b)
{
  const sfd_channel_counts_t *here = sfd_channel_counts(cluster.nodes[a].channels, b);
  const sfd_channel_counts_t *there = sfd_channel_counts(cluster.nodes[b].channels, a);
  ck_assert_mem_eq(here->messages_sent, there->messages_received, sizeof here->messages_sent);
  ck_assert_mem_eq(here->payload_sent, there->payload_received, sizeof here->payload_sent);
  ck_assert_uint_eq(here->frames_sent, there->frames_received);
  ck_assert_uint_eq(here->bytes_sent, there->bytes_received);
  ck_assert_uint_eq(here->queued_messages + here->queued_bytes, 0);
}

static void check_all(void)
{
  for (int32_t a = 0; a < NODES; a++)
    for (int32_t b = 0; b < NODES; b++)
      if (a != b) {
        ck_assert_uint_eq(next_expected[a][b], next_sent[a][b]);
        check_counts(a, b);
      }
}

static void play(unsigned round)
{
  memset(next_sent, 0, sizeof next_sent);
  memset(next_expected, 0, sizeof next_expected);
  nsents = 0;
  sftest_cluster_start(&cluster, NODES);
  for (int32_t i = 0; i < NODES; i++) {
    cluster.nodes[i].on_place = on_place;
    cluster.nodes[i].on_arrived = on_arrived;
  }
  sftest_fabric_set_chunks(cluster.hub, round % 4 == 0 ? 0 : 1 + sftest_random(&state));
  for (int i = 0; i < 600; i++)
    act();
  release_all();
  sftest_cluster_run(&cluster);
  if (!lossy)
    check_all();
  sftest_cluster_stop(&cluster);
  for (size_t i = 0; i < nsents; i++) {
    ck_assert_int_eq(sents[i].calls, 1);
    ck_assert(sents[i].status == SF_OK || lossy);
  }
}

static void play_all(void)
{
  unsigned seed = sftest_seed(1);
  for (unsigned round = 0; round < ROUNDS; round++) {
    state = sftest_random_start(seed, round);
    play(round);
  }
  ck_assert_uint_gt(narrived, ROUNDS * 10);
}

SFTEST(undisturbed)
{
  lossy = false;
  play_all();
}

SFTEST(with_losses)
{
  lossy = true;
  play_all();
}
