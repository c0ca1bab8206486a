/* The tcp fabric between up to four nodes in one process: what arrives is what was sent, one stream whoever connects,
 * ends of all kinds, and that an idle fabric sleeps. Links that become silent: see test_fabric_tcp_silence.c; who must
 * stay outside: test_fabric_tcp_strangers.c. */
#include <poll.h>
#include <sys/socket.h>

#include "shm/base/error.h"
#include "tests/unit/machine_clock.h"
#include "tests/unit/tcp_cluster.h"

#define WATCHED_NS INT64_C(2500000000)

static const sfd_fabric_functions_t *functions(int node)
{
  return sftest_tcp.nodes[node].fabric->functions;
}

static void disconnect(int node, int peer)
{
  functions(node)->disconnect(sftest_tcp.nodes[node].fabric, peer);
  sftest_tcp_end(node, peer)->up = false;
}

static bool all_down(void)
{
  for (int i = 0; i < sftest_tcp.nnodes; i++)
    for (int j = 0; j < sftest_tcp.nnodes; j++)
      if (sftest_tcp_end(i, j)->up)
        return false;
  return true;
}

static bool has_up(void)
{
  return sftest_tcp_end(0, 1)->up && sftest_tcp_end(1, 0)->up;
}

static bool is_down_at_0(void)
{
  return sftest_tcp_end(0, 1)->ndowns > 0;
}

static void connect_pair(void)
{
  sftest_tcp_create_all(2);
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(has_up);
}

SFTEST_FIXTURE(sftest_tcp_setup, sftest_tcp_teardown);

/* ---- Streams ---- */

SFTEST(bytes_arrive_as_sent)
{
  sftest_tcp_create_all(TCP_NODES);
  for (int i = 0; i < TCP_NODES; i++)
    for (int j = 0; j < i; j++) {
      bool up = sftest_tcp_random(2);
      sftest_tcp_send(i, j, 1 + sftest_tcp_random(3000000));
      sftest_tcp_send(j, i, 1 + sftest_tcp_random(3000000));
      sftest_tcp_connect(up ? i : j, up ? j : i);
    }
  sftest_tcp_run_until(sftest_tcp_all_up);
  sftest_tcp_run_until(sftest_tcp_all_sent);
}

static bool is_measured(void)
{
  sfd_fabric_link_t link;
  return functions(0)->link(sftest_tcp.nodes[0].fabric, 1, &link) && link.send_queue_bytes > 0 && link.rtt_us > 0 &&
         link.busy_us > 0;
}

/* More than the kernel's buffers hold, while the other side does not read at all. */
SFTEST(send_that_has_to_wait)
{
  static uint8_t memory[32 << 20];
  sfd_fabric_link_t link;
  struct iovec iov[TCP_PIECES];
  for (int i = 0; i < TCP_PIECES; i++)
    iov[i] = (struct iovec){memory + (size_t)i * (sizeof memory / TCP_PIECES), sizeof memory / TCP_PIECES};
  connect_pair();
  sftest_tcp_end(1, 0)->refuse = true;
  sftest_tcp_end(0, 1)->sending = true;
  functions(0)->send(sftest_tcp.nodes[0].fabric, 1, iov, TCP_PIECES);
  sftest_tcp_run_until(is_measured);
  sftest_tcp_run_for(0.3);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nsents, 0);
  disconnect(1, 0);
  sftest_tcp_run_until(is_down_at_0);
  ck_assert(!functions(0)->link(sftest_tcp.nodes[0].fabric, 1, &link));
}

static bool one_sent(void)
{
  return sftest_tcp_end(0, 1)->nsents == 1;
}

SFTEST(nothing_to_send_is_sent)
{
  const struct iovec nothing[2] = {{NULL, 0}, {NULL, 0}};
  connect_pair();
  sftest_tcp_end(0, 1)->sending = true;
  functions(0)->send(sftest_tcp.nodes[0].fabric, 1, nothing, 2);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nsents, 0); /* not from within send */
  sftest_tcp_run_until(one_sent);
}

SFTEST(describes_nodes)
{
  char text[100], expected[100];
  sftest_tcp_create_all(3);
  functions(0)->describe(sftest_tcp.nodes[0].fabric, 2, text, sizeof text);
  snprintf(expected, sizeof expected, "node 2 (tcp 127.0.0.1:%u)", sftest_tcp.ports[2]);
  ck_assert_str_eq(text, expected);
  ck_assert_str_eq(functions(0)->name, "tcp");
}

/* ---- Connecting ---- */

SFTEST(one_stream_if_both_connect)
{
  sftest_tcp_create_all(TCP_NODES);
  for (int round = 0; round < 60; round++) {
    for (int i = 0; i < TCP_NODES; i++)
      for (int j = 0; j < TCP_NODES; j++) {
        if (i != j && !sftest_tcp_end(i, j)->up)
          sftest_tcp_connect(i, j);
        sftest_tcp_take_turns((int)sftest_tcp_random(round % 2 ? 2 : 6));
      }
    sftest_tcp_run_until(sftest_tcp_all_up);
    for (int i = 0; i < TCP_NODES; i++)
      for (int j = 0; j < TCP_NODES; j++)
        if (i != j)
          sftest_tcp_send(i, j, 2000);
    sftest_tcp_run_until(sftest_tcp_all_sent);
    sftest_tcp_take_turns(20);
    for (int i = 0; i < TCP_NODES; i++)
      for (int j = 0; j < TCP_NODES; j++)
        if (i != j) {
          const sftest_tcp_end_t *end = sftest_tcp_end(i, j);
          ck_assert_msg(end->nups == round + 1 && end->ndowns + (i < j ? round : 0) == round,
                        "round %d: node %d has seen %d of %d up and %d down: %s", round, i, end->nups, j, end->ndowns,
                        end->detail);
        }
    for (int i = 0; i < TCP_NODES; i++)
      for (int j = i + 1; j < TCP_NODES; j++) {
        disconnect(i, j);
        sftest_tcp_end(i, j)->sent = sftest_tcp_end(i, j)->got = 0;
      }
    sftest_tcp_run_until(all_down);
  }
}

/* A list of two peers of which one is told to be elsewhere. */
static const char *wrong_peers(int wrong, uint16_t port)
{
  static char text[64];
  snprintf(text, sizeof text, "127.0.0.1:%u,127.0.0.1:%u", wrong == 0 ? port : sftest_tcp.ports[0],
           wrong == 1 ? port : sftest_tcp.ports[1]);
  return text;
}

/* The lower node's own attempt has precedence, but must not keep the other one's from succeeding. It is refused, or
 * somebody who is no daemon takes it and then hangs up. */
SFTEST_FOR(higher_node_connects_if_lower_cannot, 2)
{
  uint16_t dead_port = sftest_tcp.ports[3];
  sfd_tcp_options_t wrong = sftest_tcp_options(0, 2), right = sftest_tcp_options(1, 2);
  char at[32];
  snprintf(at, sizeof at, "127.0.0.1:%u", sftest_tcp.ports[1]);
  wrong.peers = right.peers = wrong_peers(1, dead_port);
  right.bind = at;
  if (_i == 1)
    ck_assert_int_eq(listen(sftest_tcp.listen_fds[3], 8), 0);
  sftest_tcp_create(0, &wrong);
  sftest_tcp_create(1, &right);
  sftest_tcp_connect(0, 1);
  sftest_tcp_take_turns(20);
  sftest_tcp_connect(1, 0);
  if (_i == 1) {
    sftest_tcp_run_for(0.2);
    ck_assert(!has_up());
    close(accept(sftest_tcp.listen_fds[3], NULL, NULL));
  }
  sftest_tcp_run_until(has_up);
  sftest_tcp.nnodes = 2;
  sftest_tcp_send(0, 1, 100000);
  sftest_tcp_send(1, 0, 100000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
  sftest_tcp_run_for(0.6);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups + sftest_tcp_end(1, 0)->nups, 2);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns + sftest_tcp_end(1, 0)->ndowns, 0);
}

SFTEST(peer_that_starts_later)
{
  sfd_tcp_options_t options = sftest_tcp_options(0, 2);
  sftest_tcp_create(0, &options);
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_for(0.4);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns, 0);
  options = sftest_tcp_options(1, 2);
  sftest_tcp_create(1, &options);
  sftest_tcp_run_until(has_up);
}

/* Two nodes wait for it, of which the one that is less patient gives up before the other, which had begun before. */
SFTEST(peer_that_never_starts)
{
  sfd_tcp_options_t options = sftest_tcp_options(2, 3);
  options.connect_timeout_ms = 3000;
  sftest_tcp_create(2, &options);
  sftest_tcp_connect(2, 1);
  options = sftest_tcp_options(0, 3);
  options.connect_timeout_ms = 300;
  sftest_tcp_create(0, &options);
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(is_down_at_0);
  ck_assert(sftest_tcp_end(2, 1)->ndowns == 0 || sftest_tcp_end(2, 1)->down_s >= sftest_tcp_end(0, 1)->down_s);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->status, SF_ERR_NO_DAEMON);
  ck_assert_msg(strstr(sftest_tcp_end(0, 1)->detail, "node 1 (tcp 127.0.0.1:") == sftest_tcp_end(0, 1)->detail &&
                    strstr(sftest_tcp_end(0, 1)->detail, "refused"),
                "%s", sftest_tcp_end(0, 1)->detail);
  sftest_tcp_connect(0, 1); /* once more is allowed */
}

SFTEST(peer_with_a_name)
{
  char peers[64];
  snprintf(peers, sizeof peers, "localhost:%u,localhost:%u", sftest_tcp.ports[0], sftest_tcp.ports[1]);
  for (int i = 0; i < 2; i++) {
    sfd_tcp_options_t options = sftest_tcp_options(i, 2);
    options.peers = peers;
    sftest_tcp_create(i, &options);
  }
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(has_up);
  disconnect(0, 1);
  sftest_tcp_connect(0, 1); /* closed while the name is looked up */
}

SFTEST(name_that_does_not_resolve)
{
  char peers[128], name[100]; /* longer than a name may be: nobody is asked */
  memset(name, 'x', sizeof name);
  memcpy(name, "localhost.", 10);
  snprintf(peers, sizeof peers, "127.0.0.1:%u,%.99s:1", sftest_tcp.ports[0], name);
  sfd_tcp_options_t options = sftest_tcp_options(0, 2);
  options.peers = peers;
  options.connect_timeout_ms = 200;
  sftest_tcp_create(0, &options);
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(is_down_at_0);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->status, SF_ERR_NO_DAEMON);
  ck_assert_msg(strstr(sftest_tcp_end(0, 1)->detail, "resolved") != NULL, "%s", sftest_tcp_end(0, 1)->detail);
}

/* ---- Ends ---- */

SFTEST(peer_that_closes_and_comes_back)
{
  connect_pair();
  sftest_tcp_send(0, 1, 100000000);
  sftest_tcp_run_for(0.05);
  sftest_tcp_close(1);
  sftest_tcp_run_until(is_down_at_0);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->status, SF_ERR_DAEMON_LOST);
  sftest_tcp_end(0, 1)->to_send = 0;
  sfd_tcp_options_t options = sftest_tcp_options(1, 2);
  sftest_tcp_create(1, &options);
  sftest_tcp_connect(1, 0);
  sftest_tcp_run_until(has_up);
  sftest_tcp_send(0, 1, 100000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
}

static bool is_down_at_3(void)
{
  return sftest_tcp_end(3, 0)->ndowns > 0;
}

/* A peer that knows nothing of the stream connects: it was started anew, and this side has not noticed. */
SFTEST(peer_that_begins_afresh)
{
  connect_pair();
  sftest_tcp_node_t old = sftest_tcp.nodes[1];
  memset(&sftest_tcp.nodes[1], 0, sizeof old);
  sftest_tcp.nodes[1].loop = old.loop;
  old.fabric->owner = &sftest_tcp.nodes[3];
  sftest_tcp.nodes[3] = old;
  sfd_tcp_options_t options = sftest_tcp_options(1, 2);
  sftest_tcp_create(1, &options);
  sftest_tcp_connect(1, 0);
  sftest_tcp_run_until(is_down_at_3);
  sftest_tcp_run_until(has_up);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 2);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns, 1);
  ck_assert_msg(strstr(sftest_tcp_end(0, 1)->detail, "new connection") != NULL, "%s", sftest_tcp_end(0, 1)->detail);
  ck_assert_int_eq(sftest_tcp_end(3, 0)->ndowns, 1);
  sftest_tcp_send(1, 0, 100000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
}

SFTEST(user_that_refuses)
{
  connect_pair();
  sftest_tcp_end(1, 0)->refuse = true;
  sftest_tcp_send(0, 1, 1000000);
  sftest_tcp_run_for(0.1);
  ck_assert(sftest_tcp_end(1, 0)->up && sftest_tcp_end(1, 0)->got == 0);
  disconnect(1, 0);
  sftest_tcp_run_until(is_down_at_0);
  ck_assert_int_eq(sftest_tcp_end(1, 0)->ndowns, 0);
}

SFTEST(close_and_disconnect_in_every_state)
{
  int nfds = sftest_tcp_count_fds();
  for (int round = 0; round < 60; round++) {
    sftest_tcp_create_all(3);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        if (i != j) {
          sftest_tcp_send(i, j, 5000000);
          sftest_tcp_connect(i, j);
        }
    sftest_tcp_take_turns(round / 2);
    for (int j = 1; j < 3; j++) {
      disconnect(0, j);
      sftest_tcp_end(0, j)->sending = false;
      sftest_tcp_end(0, j)->sent = sftest_tcp_end(0, j)->got = 0;
      if (round % 2)
        sftest_tcp_connect(0, j);
    }
    sftest_tcp_take_turns((int)sftest_tcp_random(4));
    sftest_tcp_close_all();
    for (int i = 0; i < 3; i++)
      memset(sftest_tcp.nodes[i].ends, 0, sizeof sftest_tcp.nodes[i].ends);
  }
  ck_assert_int_le(sftest_tcp_count_fds(), nfds + 8); /* the loop's own, made when it first runs */
  ck_assert(!uv_loop_alive(&sftest_tcp.loop));
}

/* It looks once a second whether its peers are there, also while the machine holds the test up: real time counts. */
SFTEST(idle_fabric_sleeps)
{
  sftest_tcp_create_all(TCP_NODES);
  for (int i = 0; i < TCP_NODES; i++)
    for (int j = 0; j < i; j++) {
      sftest_tcp_connect(i, j);
      sftest_tcp_send(i, j, 100000);
    }
  sftest_tcp_run_until(sftest_tcp_all_up);
  sftest_tcp_run_until(sftest_tcp_all_sent);
  sftest_tcp_run_for(0.6);
  int wakings = 0;
  for (int64_t end_ns = sftest_monotonic_ns() + WATCHED_NS; sftest_monotonic_ns() < end_ns; wakings++)
    uv_run(&sftest_tcp.loop, UV_RUN_ONCE);
  ck_assert_int_le(wakings, 4 * TCP_NODES);
  struct pollfd loop = {.fd = uv_backend_fd(&sftest_tcp.loop), .events = POLLIN};
  ck_assert_int_eq(poll(&loop, 1, 1500), 0);
}
