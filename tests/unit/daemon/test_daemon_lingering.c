/* Descriptors that clients send to hold the daemon up: too many of them, and such that take long to be closed. */
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/unit/daemon_graphs.h"

SFTEST_CASE(sftest_daemon_beside_job(tests));

/* Thousands of descriptors in one read, behind a message that ends the connection. */
SFTEST(flood_of_descriptors)
{
  sftest_client_t client;
  Sfproto__Goodbye goodbye = SFPROTO__GOODBYE__INIT;
  int fds[SFPROTO_MAX_FDS] = {0};
  sftest_connect(&daemon_, &client);
  int before = sftest_count_fds();
  for (int i = 0; i < 100; i++) {
    Sfproto__Message message = sftest_message(&client);
    message.body_case = SFPROTO__MESSAGE__BODY_GOODBYE;
    message.goodbye = &goodbye;
    ck_assert_int_eq(sfproto_conn_queue(client.conn, &message, fds, SFPROTO_MAX_FDS), SF_OK);
    (void)sfproto_conn_flush(client.conn);
  }
  sftest_expect_error(&client, SF_ERR_PROTO, "before Hello");
  ck_assert_int_lt(sftest_await_fds(before + SFPROTO_MAX_FDS - 1), before + SFPROTO_MAX_FDS);
  sftest_drop(&client);
}

/* ---- Descriptors that take long to be closed ---- */

#define LINGER_S 3600

/* A TCP connection whose close waits for somebody who does not read. *peer_p: the other end. */
static int lingering_socket(int *peer_p)
{
  static const char bytes[65536];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, length), 0);
  ck_assert_int_eq(listen(listener, 1), 0);
  ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
  ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, length), 0);
  *peer_p = accept(listener, NULL, NULL);
  close(listener);
  while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
    ;
  ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
  return fd;
}

/* A frame with a descriptor, of which no other copy is left. */
static void send_last_copy(sftest_client_t *client, int fd)
{
  Sfproto__Goodbye goodbye = SFPROTO__GOODBYE__INIT;
  Sfproto__Message message = sftest_message(client);
  message.body_case = SFPROTO__MESSAGE__BODY_GOODBYE;
  message.goodbye = &goodbye;
  ck_assert_int_eq(sfproto_conn_queue(client->conn, &message, &fd, 1), SF_OK);
  ck_assert_int_eq(sfproto_conn_flush(client->conn), SF_OK);
  close(fd);
}

SFTEST(lingering_descriptor_of_a_refused_frame)
{
  int peer;
  sftest_client_t client;
  sftest_connect(&daemon_, &client);
  send_last_copy(&client, lingering_socket(&peer));
  sftest_expect_error(&client, SF_ERR_PROTO, "Goodbye before Hello");
  sftest_drop(&client);
  sftest_daemon_settle(&daemon_);
  close(peer);
}

/* Unread behind a frame that is refused; as many as the threads that close would have to wait for in turn. */
SFTEST(lingering_descriptors_that_are_not_read)
{
  int peers[8];
  sftest_client_t client;
  sftest_connect(&daemon_, &client);
  sftest_send_bytes(&client, "garbage garbage garbage", 23);
  for (int i = 0; i < 8; i++)
    send_last_copy(&client, lingering_socket(&peers[i]));
  sftest_expect_error(&client, SF_ERR_PROTO, "");
  sftest_drop(&client);
  sftest_daemon_settle(&daemon_);
  for (int i = 0; i < 8; i++)
    close(peers[i]);
}

SFTEST(lingering_descriptor_in_an_alert_socket)
{
  int peer;
  sftest_client_t client, sender;
  sftest_join_all(&daemon_, &client, "job", 1);
  sender = client;
  sender.conn = client.alerts;
  send_last_copy(&sender, lingering_socket(&peer));
  sftest_drop(&client);
  sftest_daemon_settle(&daemon_);
  close(peer);
}

/* It stays where it is instead of being closed while it is received. */
SFTEST(lingering_descriptor_without_room)
{
  int peer;
  struct rlimit limit, none;
  sftest_client_t client;
  sftest_connect(&daemon_, &client);
  sftest_daemon_settle(&daemon_);
  send_last_copy(&client, lingering_socket(&peer));
  daemon_.server->max_fds = sftest_count_fds();
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none = limit;
  none.rlim_cur = 0;
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
  sftest_expect_error(&client, SF_ERR_LIMIT, "has reached its limit of open files");
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  sftest_drop(&client);
  sftest_daemon_settle(&daemon_);
  close(peer);
}
