/* Daemons without a key: peers are those of the same user on loopback, nobody else. */
#include <endian.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "daemon/net/fabric/tcp/user.h"
#include "shm/base/error.h"
#include "tests/unit/tcp_stranger.h"

#define NOBODY 65534

static sfd_tcp_options_t options_of(int node)
{
  sfd_tcp_options_t options = sftest_tcp_options(node, 2);
  options.key_file = NULL;
  return options;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static int make_socket(int family)
{
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_ge(fd, 0);
  return fd;
}

/* Both ends of a connection on loopback; the one that was accepted is another user's if other. False: this host has no
 * such addresses. */
static bool make_pair(int family, bool other, int ends[2])
{
  struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
  socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
  if (family == AF_INET)
    ((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  else
    ((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
  int listener = make_socket(family);
  if (bind(listener, (struct sockaddr *)&address, size) != 0) {
    close(listener);
    return false;
  }
  ck_assert_int_eq(listen(listener, 1), 0);
  ck_assert_int_eq(sfd_tcp_user_check_bound(listener), SF_OK);
  ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
  ends[0] = make_socket(family);
  ck_assert_int_eq(connect(ends[0], (struct sockaddr *)&address, size), 0);
  ck_assert_int_eq(sfd_tcp_user_check_peer(ends[0]), SF_ERR_ARG); /* nobody's yet */
  ck_assert_int_eq(seteuid(other ? NOBODY : geteuid()), 0);
  ends[1] = accept(listener, NULL, NULL);
  ck_assert_int_eq(seteuid(getuid()), 0);
  ck_assert_int_ge(ends[1], 0);
  close(listener);
  return true;
}

static void close_pair(const int ends[2])
{
  close(ends[0]);
  close(ends[1]);
}

SFTEST_FIXTURE(sftest_tcp_setup, sftest_tcp_teardown);

SFTEST_FOR(both_ends_are_found, 2)
{
  int ends[2];
  if (!make_pair(_i == 0 ? AF_INET : AF_INET6, false, ends))
    return;
  ck_assert_int_eq(sfd_tcp_user_check_peer(ends[0]), SF_OK);
  ck_assert_int_eq(sfd_tcp_user_check_peer(ends[1]), SF_OK);
  close_pair(ends);
  if (geteuid() != 0 || !make_pair(_i == 0 ? AF_INET : AF_INET6, true, ends))
    return;
  ck_assert_int_eq(sfd_tcp_user_check_peer(ends[0]), SF_ERR_PERM);
  ck_assert_int_eq(sfd_tcp_user_check_peer(ends[1]), SF_OK);
  close_pair(ends);
}

/* Its socket may linger in the table, but nobody has it. */
SFTEST(an_end_that_is_closed)
{
  int ends[2];
  ck_assert(make_pair(AF_INET, false, ends));
  close(ends[1]);
  ck_assert_int_eq(sfd_tcp_user_check_peer(ends[0]), SF_ERR_ARG);
  close(ends[0]);
}

/* ---- Peers ------------------------------------------------------------------------------------------------------- */

static void create_pair(const sfd_tcp_options_t *one)
{
  sfd_tcp_options_t zero = options_of(0);
  sftest_tcp_create_pair(&zero, one);
}

SFTEST_FOR(peers_of_one_user, 2)
{
  sfd_tcp_options_t one = options_of(1);
  create_pair(&one);
  sftest_tcp.nnodes = 2;
  sftest_tcp_connect(_i, 1 - _i);
  sftest_tcp_run_until(sftest_tcp_all_up);
  sftest_tcp_send(0, 1, 100000);
  sftest_tcp_send(1, 0, 100000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
}

SFTEST(a_peer_with_a_key)
{
  sfd_tcp_options_t one = sftest_tcp_options(1, 2);
  create_pair(&one);
  sftest_tcp_connect(0, 1);
  sftest_tcp_expect_failure(0, 1, SF_ERR_PERM, "one has none");
  sftest_tcp_connect(1, 0);
  sftest_tcp_expect_failure(1, 0, SF_ERR_PERM, "one has none");
}

/* ---- Other users, for whom the test must be root's --------------------------------------------------------------- */

SFTEST_FOR(another_user_connects, geteuid() == 0 ? 1 : 0)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_options_t one = options_of(1);
  create_pair(&one);
  ck_assert_int_eq(seteuid(NOBODY), 0);
  int fd = sftest_tcp_stranger(0);
  ck_assert_int_eq(seteuid(0), 0);
  sftest_tcp_greet(fd, &hello, &challenge);
  ck_assert_int_eq(le32toh(challenge.refusal), SFD_TCP_OTHER_USER);
  sftest_tcp_expect_thrown_out(fd);
}

/* It listens where a peer should, and knows what to say. */
SFTEST_FOR(another_user_listens, geteuid() == 0 ? 1 : 0)
{
  static const sfd_tcp_key_t no_key;
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_options_t zero = options_of(0);
  ck_assert_int_eq(listen(sftest_tcp.listen_fds[1], 8), 0);
  sftest_tcp_create(0, &zero);
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_for(0.02);
  ck_assert_int_eq(seteuid(NOBODY), 0);
  int fd = accept(sftest_tcp.listen_fds[1], NULL, NULL);
  ck_assert_int_eq(seteuid(0), 0);
  sftest_tcp_hear(fd, &hello, sizeof hello);
  sfd_tcp_challenge_make(&challenge, &no_key, &hello);
  sftest_tcp_say(fd, &challenge, sizeof challenge);
  sftest_tcp_expect_failure(0, 1, SF_ERR_PERM, "another user");
  close(fd);
}
