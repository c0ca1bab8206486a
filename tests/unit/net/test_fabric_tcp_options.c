/* What the tcp fabric makes of its options: those that won't do leave nothing behind, and it listens where it is told.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "shm/base/error.h"
#include "tests/unit/tcp_cluster.h"

static void expect_refusal(const sfd_tcp_options_t *options, sf_status_t status, const char *words)
{
  sfd_fabric_t *fabric = NULL;
  int nfds = sftest_tcp_count_fds();
  ck_assert_int_eq(sfd_tcp_create(&sftest_tcp.loop, options, &fabric), status);
  ck_assert_msg(strstr(sfshm_error_detail(), words) != NULL, "'%s' in '%s'", words, sfshm_error_detail());
  ck_assert_int_eq(sftest_tcp_count_fds(), nfds);
}

SFTEST_FIXTURE(sftest_tcp_setup, sftest_tcp_teardown);

SFTEST(options_that_will_not_do)
{
  sfd_tcp_options_t good = sftest_tcp_options(0, 2), options = good;
  options.key_file = "/no/such/file";
  expect_refusal(&options, SF_ERR_SYS, "/no/such/file");
  options = good;
  options.node = 2;
  expect_refusal(&options, SF_ERR_ARG, "node 2");
  options.node = -1;
  expect_refusal(&options, SF_ERR_ARG, "nodes 0-1");
  options = good;
  options.peers = "127.0.0.1";
  expect_refusal(&options, SF_ERR_ARG, "HOST:PORT");
  options.peers = "192.0.2.77:1,LocalHost:1";
  expect_refusal(&options, SF_ERR_ARG, "LocalHost, which is another host for each host, as node 1 beside 192.0.2.77");
  options = good;
  options.bind = "nowhere";
  expect_refusal(&options, SF_ERR_ARG, "nowhere");
  options.bind = "192.0.2.77:1";
  expect_refusal(&options, SF_ERR_SYS, "192.0.2.77:1");
  options = good;
  options.listen_fd = 0;
  expect_refusal(&options, SF_ERR_ARG, "descriptor 0");
}

/* Without a key, other hosts may not even knock. */
SFTEST(no_key_beyond_loopback)
{
  const struct sockaddr_in anywhere = {.sin_family = AF_INET};
  sfd_tcp_options_t options = sftest_tcp_options(0, 2);
  options.key_file = NULL;
  options.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(options.listen_fd, (const struct sockaddr *)&anywhere, sizeof anywhere), 0);
  expect_refusal(&options, SF_ERR_ARG, "loopback only");
  close(options.listen_fd);
}

SFTEST(address_in_use)
{
  sfd_tcp_options_t options = sftest_tcp_options(0, 1);
  sftest_tcp_create_all(1);
  expect_refusal(&options, SF_ERR_EXISTS, sftest_tcp_peers(1));
}

static bool is_closed(void)
{
  return sftest_tcp.nodes[0].closed;
}

static void on_closed(void *owner)
{
  ((sftest_tcp_node_t *)owner)->closed = true;
}

/* Finds out which node it is by the port at which it is to listen, and makes the socket itself. */
SFTEST_FOR(listens_where_it_is_told, 3)
{
  static const sfd_fabric_events_t events = {.closed = on_closed};
  static const char *const hosts[] = {"127.0.0.1", "localhost", "0.0.0.0"};
  char address[64];
  close(sftest_tcp.listen_fds[2]);
  sftest_tcp.listen_fds[2] = sftest_tcp_reserve_port(INADDR_ANY, &sftest_tcp.ports[2]);
  sfd_tcp_options_t options = sftest_tcp_options(-1, 3);
  snprintf(address, sizeof address, "%s:%u", hosts[_i], sftest_tcp.ports[2]);
  options.bind = address;
  sftest_tcp_node_t *node = &sftest_tcp.nodes[0];
  ck_assert_msg(sfd_tcp_create(&sftest_tcp.loop, &options, &node->fabric) == SF_OK, "%s", sfshm_error_detail());
  ck_assert_int_eq(node->fabric->node, 2);
  ck_assert_int_eq(node->fabric->nnodes, 3);
  node->fabric->events = &events;
  node->fabric->owner = node;
  close(sftest_tcp_stranger(2));
  node->fabric->functions->close(node->fabric);
  sftest_tcp_run_until(is_closed);
  sftest_tcp_destroy(0);
}
