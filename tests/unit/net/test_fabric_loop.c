/* The loop fabric: streams between nodes that are stepped by hand. Each node receives into a buffer of its own. */
#include "tests/common/fabric/loop.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define NODES 3
#define SIZE (1u << 20)

typedef struct user {
  sfd_fabric_t *fabric;
  int ups[NODES];
  int downs[NODES];
  int sents[NODES];
  int closed;
  char detail[128];
  size_t got;   /* bytes, from all nodes together */
  size_t ngots; /* in so many pieces */
  size_t room;  /* what want says at most; 0: refuses */
  bool reconnects;
  bool leaves_when_up;
  uint8_t bytes[SIZE];
} user_t;

static sftest_fabric_hub_t *hub;
static user_t users[NODES];
static uint8_t source[SIZE];

static void on_up(void *owner, int32_t node)
{
  user_t *user = owner;
  user->ups[node]++;
  if (user->leaves_when_up)
    user->fabric->functions->disconnect(user->fabric, node);
}

static void on_down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  user_t *user = owner;
  ck_assert_int_eq(status, SF_ERR_DAEMON_LOST);
  user->downs[node]++;
  snprintf(user->detail, sizeof user->detail, "%s", detail);
  if (user->reconnects)
    user->fabric->functions->connect(user->fabric, node);
}

static void on_sent(void *owner, int32_t node)
{
  ((user_t *)owner)->sents[node]++;
}

static size_t on_want(void *owner, int32_t node, void **buffer_p)
{
  user_t *user = owner;
  if (user->room == 0) {
    user->fabric->functions->disconnect(user->fabric, node);
    *buffer_p = NULL;
    return 0;
  }
  *buffer_p = user->bytes + user->got;
  return user->room < SIZE - user->got ? user->room : SIZE - user->got;
}

static void on_got(void *owner, int32_t node, size_t nbytes)
{
  user_t *user = owner;
  (void)node;
  ck_assert_uint_gt(nbytes, 0);
  ck_assert_uint_le(nbytes, user->room);
  user->got += nbytes;
  user->ngots++;
}

static void on_closed(void *owner)
{
  ((user_t *)owner)->closed++;
}

static const sfd_fabric_events_t events = {
    .up = on_up, .down = on_down, .sent = on_sent, .want = on_want, .got = on_got, .closed = on_closed};

static void setup(void)
{
  hub = sftest_fabric_hub_create(NODES);
  ck_assert_ptr_nonnull(hub);
  uint64_t state = 1;
  for (size_t i = 0; i < SIZE; i++)
    source[i] = (uint8_t)sftest_random(&state);
  for (int32_t i = 0; i < NODES; i++) {
    memset(&users[i], 0, sizeof users[i]);
    users[i].fabric = sftest_fabric_of(hub, i);
    users[i].room = SIZE;
    users[i].fabric->events = &events;
    users[i].fabric->owner = &users[i];
  }
}

static void run(void)
{
  sftest_fabric_run(hub, 100000);
  ck_assert(!sftest_fabric_pending(hub));
  ck_assert(!sftest_fabric_step(hub));
}

static void teardown(void)
{
  for (int32_t i = 0; i < NODES; i++)
    users[i].fabric->functions->close(users[i].fabric);
  run();
  for (int32_t i = 0; i < NODES; i++) {
    ck_assert_int_eq(users[i].closed, 1);
    users[i].fabric->functions->destroy(users[i].fabric);
  }
  sftest_fabric_hub_destroy(hub);
}

SFTEST_FIXTURE(setup, teardown);

static void connect_nodes(int32_t from, int32_t to)
{
  users[from].fabric->functions->connect(users[from].fabric, to);
}

static void disconnect_nodes(int32_t from, int32_t to)
{
  users[from].fabric->functions->disconnect(users[from].fabric, to);
}

static void send_bytes(int32_t from, int32_t to, size_t offset, size_t nbytes)
{
  const struct iovec iov[] = {{.iov_base = source + offset, .iov_len = nbytes / 3},
                              {.iov_base = NULL, .iov_len = 0},
                              {.iov_base = source + offset + nbytes / 3, .iov_len = nbytes - nbytes / 3}};
  users[from].fabric->functions->send(users[from].fabric, to, iov, 3);
}

SFTEST(nothing_happens_outside_steps)
{
  ck_assert(!sftest_fabric_pending(hub));
  connect_nodes(0, 1);
  ck_assert(sftest_fabric_pending(hub));
  ck_assert_int_eq(users[0].ups[1], 0);
  run();
  ck_assert_int_eq(users[0].ups[1], 1);
  ck_assert_int_eq(users[1].ups[0], 1);
  send_bytes(0, 1, 0, 100);
  ck_assert_int_eq(users[0].sents[1], 0);
  ck_assert_uint_eq(users[1].got, 0);
  run();
  ck_assert_int_eq(users[0].sents[1], 1);
  ck_assert_uint_eq(users[1].got, 100);
  ck_assert_mem_eq(users[1].bytes, source, 100);
}

SFTEST(both_connect)
{
  connect_nodes(0, 1);
  connect_nodes(1, 0);
  run();
  ck_assert_int_eq(users[0].ups[1], 1);
  ck_assert_int_eq(users[1].ups[0], 1);
}

/* More than the pipe holds, in chunks. */
SFTEST_FOR(bytes_arrive_in_order, 20)
{
  sftest_fabric_set_chunks(hub, (uint64_t)_i);
  sftest_fabric_set_delay(hub, (unsigned)_i % 5);
  connect_nodes(0, 1);
  run();
  send_bytes(0, 1, 0, SIZE / 2);
  run();
  ck_assert_uint_eq(users[1].got, SIZE / 2);
  send_bytes(0, 1, SIZE / 2, SIZE / 2);
  send_bytes(1, 0, 0, 5000);
  run();
  ck_assert_mem_eq(users[1].bytes, source, SIZE);
  ck_assert_mem_eq(users[0].bytes, source, 5000);
  ck_assert_int_eq(users[0].sents[1], 2);
  if (_i > 0)
    ck_assert_uint_gt(users[1].ngots, 15);
}

SFTEST(delay)
{
  connect_nodes(0, 1);
  run();
  sftest_fabric_set_delay(hub, 5);
  send_bytes(0, 1, 0, 100);
  for (int i = 0; i < 5; i++) {
    sftest_fabric_step(hub);
    ck_assert_int_eq(users[0].sents[1], 1);
    ck_assert_uint_eq(users[1].got, 0);
  }
  sftest_fabric_step(hub);
  ck_assert_uint_eq(users[1].got, 100);
}

SFTEST(held_send)
{
  connect_nodes(0, 1);
  run();
  sftest_fabric_hold(hub, 0, 1, true);
  send_bytes(0, 1, 0, 100);
  run();
  ck_assert_int_eq(users[0].sents[1], 0);
  ck_assert_uint_eq(users[1].got, 0);
  sftest_fabric_hold(hub, 0, 1, false);
  run();
  ck_assert_int_eq(users[0].sents[1], 1);
  ck_assert_uint_eq(users[1].got, 100);
}

SFTEST(refused)
{
  sftest_fabric_refuse(hub, 1, 0, true);
  connect_nodes(0, 1);
  run();
  ck_assert_int_eq(users[0].downs[1], 1);
  ck_assert_int_eq(users[0].ups[1] + users[1].ups[0] + users[1].downs[0], 0);
  ck_assert_str_eq(users[0].detail, "node 1 (loop): connection refused");
  sftest_fabric_refuse(hub, 0, 1, false);
  connect_nodes(0, 1);
  run();
  ck_assert_int_eq(users[0].ups[1], 1);
}

/* Who disconnects is not told; the other one is, and what was on its way is lost. */
SFTEST(disconnected)
{
  connect_nodes(0, 1);
  run();
  sftest_fabric_set_delay(hub, 9);
  send_bytes(1, 0, 0, 100);
  sftest_fabric_step(hub);
  send_bytes(0, 1, 0, 100);
  disconnect_nodes(0, 1);
  run();
  ck_assert_int_eq(users[0].downs[1], 0);
  ck_assert_int_eq(users[1].downs[0], 1);
  ck_assert_uint_eq(users[0].got + users[1].got, 0);
}

/* A new stream begins only when both have done with the old one. */
SFTEST(connected_anew_at_once)
{
  users[1].reconnects = true;
  connect_nodes(0, 1);
  run();
  send_bytes(0, 1, 0, 100);
  disconnect_nodes(0, 1);
  connect_nodes(0, 1);
  run();
  ck_assert_int_eq(users[0].ups[1], 2);
  ck_assert_int_eq(users[1].ups[0], 2);
  ck_assert_int_eq(users[1].downs[0], 1);
  ck_assert_uint_eq(users[1].got, 0);
  send_bytes(0, 1, 10, 100);
  run();
  ck_assert_mem_eq(users[1].bytes, source + 10, 100);
}

/* The other one has not been told of the stream yet, and need not be. */
SFTEST(left_within_up)
{
  users[0].leaves_when_up = true;
  connect_nodes(0, 1);
  run();
  ck_assert_int_eq(users[0].ups[1], 1);
  ck_assert_int_eq(users[1].ups[0] + users[1].downs[0], 0);
}

SFTEST(refused_by_want)
{
  connect_nodes(0, 1);
  run();
  users[1].room = 0;
  send_bytes(0, 1, 0, 100);
  run();
  ck_assert_int_eq(users[0].downs[1], 1);
  ck_assert_int_eq(users[1].downs[0], 0);
}

SFTEST(cut)
{
  connect_nodes(0, 1);
  connect_nodes(0, 2);
  run();
  sftest_fabric_cut(hub, 1, 0);
  run();
  ck_assert_int_eq(users[0].downs[1], 1);
  ck_assert_int_eq(users[1].downs[0], 1);
  ck_assert_int_eq(users[0].downs[2], 0);
  ck_assert_str_eq(users[0].detail, "node 1 (loop): the link was cut");
}

SFTEST(killed)
{
  connect_nodes(0, 1);
  connect_nodes(1, 2);
  run();
  connect_nodes(0, 2);
  sftest_fabric_kill(hub, 1);
  run();
  ck_assert_int_eq(users[0].downs[1], 1);
  ck_assert_int_eq(users[2].downs[1], 1);
  ck_assert_int_eq(users[1].downs[0] + users[1].downs[2], 0);
  ck_assert_str_eq(users[0].detail, "node 1 (loop): the daemon has died");
  connect_nodes(0, 1);
  run();
  ck_assert_str_eq(users[0].detail, "node 1 (loop): no such daemon any more");
}

SFTEST(closed_with_a_send_under_way)
{
  connect_nodes(0, 1);
  run();
  sftest_fabric_hold(hub, 0, 1, true);
  send_bytes(0, 1, 0, 100);
  users[0].fabric->functions->close(users[0].fabric);
  ck_assert_int_eq(users[0].closed, 0);
  run();
  ck_assert_int_eq(users[0].closed, 1);
  ck_assert_int_eq(users[1].downs[0], 1);
  connect_nodes(1, 0);
  run();
  ck_assert_str_eq(users[1].detail, "node 0 (loop): connection refused");
}
