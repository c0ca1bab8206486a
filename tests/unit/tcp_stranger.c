/* Strangers of tcp fabrics: see tcp_stranger.h. */
#include "tests/unit/tcp_stranger.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

static int the_stranger;

static bool is_thrown_out(void)
{
  char bytes[100];
  ssize_t n = recv(the_stranger, bytes, sizeof bytes, MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN);
}

static bool is_answered(void)
{
  struct pollfd poll_fd = {.fd = the_stranger, .events = POLLIN};
  return poll(&poll_fd, 1, 0) > 0;
}

void sftest_tcp_hello(sfd_tcp_hello_t *hello, int32_t from, int32_t to, int32_t nnodes)
{
  sfd_peer_list_t list;
  ck_assert_int_eq(sfd_peer_list_create(sftest_tcp_peers(nnodes), &list), SF_OK);
  sfd_tcp_cluster_t cluster = sfd_tcp_cluster_make(&list, "");
  sfd_peer_list_free(&list);
  sfd_tcp_hello_make(hello, from, to, &cluster);
}

void sftest_tcp_greet(int fd, sfd_tcp_hello_t *hello, sfd_tcp_challenge_t *challenge)
{
  sftest_tcp_hello(hello, 1, 0, 2);
  sftest_tcp_say(fd, hello, sizeof *hello);
  sftest_tcp_hear(fd, challenge, sizeof *challenge);
}

void sftest_tcp_expect_thrown_out(int fd)
{
  the_stranger = fd;
  while (!is_thrown_out()) /* of which the loop does not know */
    sftest_tcp_run_for(0.01);
  close(fd);
}

void sftest_tcp_say(int fd, const void *bytes, size_t size)
{
  ck_assert_int_eq(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

void sftest_tcp_hear(int fd, void *bytes, size_t size)
{
  the_stranger = fd;
  while (!is_answered())
    sftest_tcp_run_for(0.005);
  ck_assert_int_eq(recv(fd, bytes, size, MSG_WAITALL), (ssize_t)size);
}

void sftest_tcp_create_pair(const sfd_tcp_options_t *zero, const sfd_tcp_options_t *one)
{
  sftest_tcp_create(0, zero);
  sftest_tcp_create(1, one);
}

void sftest_tcp_expect_failure(int node, int peer, sf_status_t status, const char *words)
{
  const sftest_tcp_end_t *end = sftest_tcp_end(node, peer);
  while (end->ndowns == 0)
    sftest_tcp_run_for(0.01);
  ck_assert_int_eq(end->ndowns, 1);
  ck_assert_int_eq(end->nups, 0);
  ck_assert_msg(end->status == status && strstr(end->detail, words) != NULL, "%d: %s", end->status, end->detail);
  ck_assert_int_eq(sftest_tcp_end(peer, node)->nups, 0);
}
