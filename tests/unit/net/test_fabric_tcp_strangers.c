/* Who must not get into a tcp fabric: strangers of all kinds, peers with another key or list. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "daemon/net/fabric/tcp/auth.h"
#include "tests/unit/machine_clock.h"
#include "tests/unit/tcp_stranger.h"

#define STRANGERS 300
#define MAX_STRANGERS 128               /* that wait at a time */
#define PATIENCE_NS INT64_C(2500000000) /* with a stranger, at least */

static sfd_tcp_key_t key;

static void setup(void)
{
  sftest_tcp_setup();
  ck_assert_int_eq(sfd_tcp_key_read(sftest_tcp.key_file, &key), SF_OK);
}

SFTEST_FIXTURE(setup, sftest_tcp_teardown);

static bool has_up(void)
{
  return sftest_tcp_end(0, 1)->up && sftest_tcp_end(1, 0)->up;
}

static bool is_up_at_0(void)
{
  return sftest_tcp_end(0, 1)->up;
}

static bool is_down_at_0(void)
{
  return sftest_tcp_end(0, 1)->ndowns > 0;
}

static bool is_open(int fd)
{
  char byte;
  return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/* ---- Strangers ---- */

SFTEST(garbage_is_dropped_at_once)
{
  uint8_t garbage[1000];
  sftest_tcp_create_all(2);
  for (int round = 0; round < 20; round++) {
    for (size_t i = 0; i < sizeof garbage; i++)
      garbage[i] = (uint8_t)sftest_tcp_random(256);
    int fd = sftest_tcp_stranger(0);
    sftest_tcp_say(fd, garbage, sizeof(sfd_tcp_hello_t) + sftest_tcp_random(sizeof garbage - sizeof(sfd_tcp_hello_t)));
    sftest_tcp_expect_thrown_out(fd);
  }
}

static int strangers[STRANGERS];

static int count_open(void)
{
  int nopen = 0;
  for (int i = 0; i < STRANGERS; i++)
    nopen += is_open(strangers[i]);
  return nopen;
}

static bool are_few(void)
{
  return count_open() <= MAX_STRANGERS;
}

/* Silent ones, and ones that say half of a hello: in number bounded, in time too, and peers still get in. */
SFTEST(strangers_do_not_stay)
{
  sftest_tcp_create_all(2);
  int nfds = sftest_tcp_count_fds();
  int64_t begin_ns = sftest_monotonic_ns();
  for (int i = 0; i < STRANGERS; i++) {
    strangers[i] = sftest_tcp_stranger(0);
    if (i % 2)
      sftest_tcp_say(strangers[i], "SFDT\1\0\0", 7);
    if (i % 10 == 0)
      sftest_tcp_run_for(0.002);
  }
  sftest_tcp_run_until(are_few);
  int nopen = count_open();
  ck_assert_msg(nopen == MAX_STRANGERS || sftest_monotonic_ns() - begin_ns > PATIENCE_NS, "%d are open", nopen);
  sftest_tcp_connect(1, 0);
  sftest_tcp_run_until(has_up);
  sftest_tcp_send(0, 1, 1000000);
  sftest_tcp_send(1, 0, 1000000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
  for (int i = 0; i < STRANGERS; i++)
    sftest_tcp_expect_thrown_out(strangers[i]);
  ck_assert(has_up());
  ck_assert_int_le(sftest_tcp_count_fds(), nfds + 8); /* the stream, and what the loop made when it first ran */
}

SFTEST_FOR(wrong_proof_is_dropped, 2)
{
  sfd_tcp_key_t other;
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_proof_t proof;
  ck_assert_int_eq(sfd_tcp_key_read(sftest_tcp.other_key_file, &other), SF_OK);
  sftest_tcp_create_all(2);
  int fd = sftest_tcp_stranger(0);
  sftest_tcp_greet(fd, &hello, &challenge);
  ck_assert(sfd_tcp_challenge_is_true(&challenge, &key, &hello));
  if (_i == 0)
    sfd_tcp_proof_make(&proof, &other, &hello, &challenge);
  else
    memcpy(&proof, challenge.code, sizeof proof); /* its own words back */
  sftest_tcp_say(fd, &proof, sizeof proof);
  sftest_tcp_expect_thrown_out(fd);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 0);
}

/* The proof of another connection, overheard, is worth nothing. */
SFTEST(old_proof_is_dropped)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_proof_t proof;
  uint32_t verdict;
  sftest_tcp_create_all(2);
  int first = sftest_tcp_stranger(0);
  sftest_tcp_greet(first, &hello, &challenge);
  sfd_tcp_proof_make(&proof, &key, &hello, &challenge);
  sftest_tcp_say(first, &proof, sizeof proof);
  sftest_tcp_hear(first, &verdict, sizeof verdict);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 1);
  int second = sftest_tcp_stranger(0);
  sftest_tcp_say(second, &hello, sizeof hello);
  sftest_tcp_hear(second, &challenge, sizeof challenge);
  sftest_tcp_say(second, &proof, sizeof proof);
  sftest_tcp_expect_thrown_out(second);
  ck_assert(sftest_tcp_end(0, 1)->up);
  close(first);
  sftest_tcp_run_until(is_down_at_0);
}

static bool has_eight(void)
{
  return sftest_tcp_end(0, 1)->got == 8;
}

/* A peer that proves the key and sends data right behind it: they are the stream's. One byte at a time. */
SFTEST(stream_begins_behind_the_proof)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_proof_t proof;
  sftest_tcp_create_all(2);
  int fd = sftest_tcp_stranger(0);
  sftest_tcp_hello(&hello, 1, 0, 2);
  for (size_t i = 0; i < sizeof hello; i++) {
    sftest_tcp_say(fd, (const char *)&hello + i, 1);
    if (i % 8 == 0)
      sftest_tcp_run_for(0.002);
  }
  sftest_tcp_hear(fd, &challenge, sizeof challenge);
  sfd_tcp_proof_make(&proof, &key, &hello, &challenge);
  uint8_t message[sizeof proof + 8];
  memcpy(message, &proof, sizeof proof);
  for (uint64_t i = 0; i < 8; i++)
    message[sizeof proof + i] = sftest_tcp_content(1, 0, i);
  sftest_tcp_say(fd, message, sizeof message);
  sftest_tcp_run_until(has_eight);
  close(fd);
  sftest_tcp_run_until(is_down_at_0);
}

/* ---- Two connections between the same two ---- */

static int attempt_fd;

static bool is_attempted(void)
{
  return (attempt_fd = accept(sftest_tcp.listen_fds[1], NULL, NULL)) >= 0;
}

/* Node 0 connects to node 1, which is played here up to the verdict. */
static int take_attempt(void)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_proof_t proof;
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(is_attempted);
  int fd = attempt_fd;
  sftest_tcp_hear(fd, &hello, sizeof hello);
  sfd_tcp_challenge_make(&challenge, &key, &hello);
  sftest_tcp_say(fd, &challenge, sizeof challenge);
  sftest_tcp_hear(fd, &proof, sizeof proof);
  ck_assert(sfd_tcp_proof_is_true(&proof, &key, &hello, &challenge));
  return fd;
}

static void create_alone(void)
{
  sfd_tcp_options_t options = sftest_tcp_options(0, 2);
  ck_assert_int_eq(listen(sftest_tcp.listen_fds[1], 8), 0);
  fcntl(sftest_tcp.listen_fds[1], F_SETFL, O_NONBLOCK);
  sftest_tcp_create(0, &options);
}

static int begin_proof(sfd_tcp_proof_t *proof)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  int fd = sftest_tcp_stranger(0);
  sftest_tcp_greet(fd, &hello, &challenge);
  sfd_tcp_proof_make(proof, &key, &hello, &challenge);
  return fd;
}

/* Node 1 connects too, and its proof comes before the verdict on node 0's attempt, or after it. Either way that of node
 * 0 is the stream, and the other connection's end does it no harm. Only who begins when there is a stream means it. */
SFTEST_FOR(stream_is_replaced_by_a_later_connection_only, 2)
{
  const sfd_tcp_verdict_t verdict = {.accepted = htole32(1)};
  uint32_t heard;
  sfd_tcp_proof_t proof;
  create_alone();
  int other = begin_proof(&proof), attempt = take_attempt();
  if (_i == 0)
    sftest_tcp_say(other, &proof, sizeof proof);
  sftest_tcp_run_for(0.05);
  ck_assert(is_open(other));
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 0);
  sftest_tcp_say(attempt, &verdict, sizeof verdict);
  if (_i == 1) {
    sftest_tcp_run_until(is_up_at_0);
    send(other, &proof, sizeof proof, MSG_NOSIGNAL);
  }
  sftest_tcp_expect_thrown_out(other);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 1);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns, 0);

  other = begin_proof(&proof);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns, 0);
  sftest_tcp_say(other, &proof, sizeof proof);
  sftest_tcp_hear(other, &heard, sizeof heard);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 2);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns, 1);
  sftest_tcp_expect_thrown_out(attempt);
  close(other);
  sftest_tcp_run_until(is_down_at_0);
}

/* A daemon with another list of peers thinks that it is node 1, which is connected from another host. */
SFTEST(stream_is_not_replaced_by_another_host)
{
  const sfd_tcp_verdict_t verdict = {.accepted = htole32(1)};
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  create_alone();
  int attempt = take_attempt();
  sftest_tcp_say(attempt, &verdict, sizeof verdict);
  sftest_tcp_run_until(is_up_at_0);
  int other = sftest_tcp_stranger_from(INADDR_LOOPBACK + 8, 0);
  sftest_tcp_greet(other, &hello, &challenge);
  ck_assert_uint_eq(le32toh(challenge.refusal), SFD_TCP_OTHER_HOST);
  sftest_tcp_expect_thrown_out(other);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns, 0);
  close(attempt);
  sftest_tcp_run_until(is_down_at_0);
  other = sftest_tcp_stranger_from(INADDR_LOOPBACK + 8, 0);
  sftest_tcp_greet(other, &hello, &challenge);
  ck_assert_uint_eq(le32toh(challenge.refusal), SFD_TCP_WELCOME);
  close(other);
}

/* Who waits for the verdict has nothing to say. */
SFTEST(nothing_is_said_before_the_verdict)
{
  sfd_tcp_proof_t proof;
  create_alone();
  int other = begin_proof(&proof), attempt = take_attempt();
  sftest_tcp_say(other, &proof, sizeof proof);
  sftest_tcp_run_for(0.05);
  ck_assert(is_open(other));
  sftest_tcp_say(other, "x", 1);
  sftest_tcp_expect_thrown_out(other);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 0);
  close(attempt);
}

/* ---- Peers that do not fit ---- */

SFTEST(peer_with_another_key)
{
  sfd_tcp_options_t zero = sftest_tcp_options(0, 2), one = sftest_tcp_options(1, 2);
  one.key_file = sftest_tcp.other_key_file;
  sftest_tcp_create_pair(&zero, &one);
  sftest_tcp_connect(0, 1);
  sftest_tcp_connect(1, 0);
  sftest_tcp_expect_failure(0, 1, SF_ERR_PERM, "key");
  sftest_tcp_expect_failure(1, 0, SF_ERR_PERM, "key");
}

SFTEST(peer_with_a_longer_list)
{
  sfd_tcp_options_t zero = sftest_tcp_options(0, 3);
  sftest_tcp_create(0, &zero);
  sfd_tcp_options_t one = sftest_tcp_options(1, 2);
  sftest_tcp_create(1, &one);
  sftest_tcp_connect(0, 1);
  sftest_tcp_expect_failure(0, 1, SF_ERR_ARG, "number of nodes");
  sftest_tcp_connect(1, 0);
  sftest_tcp_expect_failure(1, 0, SF_ERR_ARG, "number of nodes");
}

SFTEST(peer_with_another_number)
{
  sfd_tcp_options_t zero = sftest_tcp_options(0, 3), other = sftest_tcp_options(2, 3);
  sftest_tcp_create(0, &zero);
  sftest_tcp_create(1, &other); /* listens where node 1 should */
  sftest_tcp_connect(0, 1);
  sftest_tcp_expect_failure(0, 1, SF_ERR_ARG, "another node");
}

SFTEST(peer_that_has_this_ones_number)
{
  sfd_tcp_options_t zero = sftest_tcp_options(0, 2), other = sftest_tcp_options(0, 2);
  char swapped[64];
  snprintf(swapped, sizeof swapped, "127.0.0.1:%u,127.0.0.1:%u", sftest_tcp.ports[1], sftest_tcp.ports[0]);
  other.peers = swapped;
  sftest_tcp_create(0, &zero);
  sftest_tcp_create(1, &other);
  sftest_tcp_connect(1, 1); /* it calls itself node 0, and finds at node 1's address one that does so too */
  const sftest_tcp_end_t *end = sftest_tcp_end(1, 1);
  while (end->ndowns == 0)
    sftest_tcp_run_for(0.01);
  ck_assert_int_eq(end->status, SF_ERR_ARG);
}

SFTEST(peer_of_another_version)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sftest_tcp_create_all(2);
  int fd = sftest_tcp_stranger(0);
  sftest_tcp_hello(&hello, 1, 0, 2);
  hello.version++;
  sftest_tcp_say(fd, &hello, sizeof hello);
  sftest_tcp_hear(fd, &challenge, sizeof challenge);
  ck_assert_uint_eq(challenge.refusal, SFD_TCP_OTHER_VERSION);
  sftest_tcp_expect_thrown_out(fd);
}

/* Something else serves at the peer's address: it answers in its own way, not at all, or hangs up. */
SFTEST_FOR(peer_that_is_no_daemon, 3)
{
  static const struct {
    const char *answer;
    sf_status_t status;
    const char *words;
  } cases[] = {{"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request",
                SF_ERR_PROTO, "no sfd"},
               {NULL, SF_ERR_TIMEOUT, "too long"},
               {"", SF_ERR_NO_DAEMON, "onnection"}};
  sfd_tcp_options_t zero = sftest_tcp_options(0, 2);
  zero.connect_timeout_ms = 100;
  ck_assert_int_eq(listen(sftest_tcp.listen_fds[1], 8), 0);
  fcntl(sftest_tcp.listen_fds[1], F_SETFL, O_NONBLOCK);
  sftest_tcp_create(0, &zero);
  sftest_tcp_connect(0, 1);
  int fd = -1;
  while (!is_down_at_0()) {
    sftest_tcp_run_for(0.02);
    if (fd < 0 || (cases[_i].answer != NULL && cases[_i].answer[0] == '\0')) {
      int next = accept(sftest_tcp.listen_fds[1], NULL, NULL);
      fd = next >= 0 ? next : fd;
    }
    if (fd >= 0 && cases[_i].answer != NULL && cases[_i].answer[0] != '\0')
      send(fd, cases[_i].answer, strlen(cases[_i].answer), MSG_NOSIGNAL);
    else if (fd >= 0 && cases[_i].answer != NULL) {
      close(fd);
      fd = -1;
    }
  }
  sftest_tcp_expect_failure(0, 1, cases[_i].status, cases[_i].words);
  sftest_tcp_close_all();
  if (fd >= 0)
    close(fd);
}
