/* Metrics over HTTP: what Prometheus gets, and what others try. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "daemon/admin/metrics_http.h"
#include "shm/base/error.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define GET "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define CONNECTIONS_MAX 16

static char answer[1 << 16];

static int connect_to(const char *path, int port)
{
  struct sockaddr_un local = {.sun_family = AF_UNIX};
  struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  int fd = socket(path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_ge(fd, 0);
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (path != NULL)
    snprintf(local.sun_path, sizeof local.sun_path, "%s", path);
  int error = path != NULL ? connect(fd, (const struct sockaddr *)&local, sizeof local)
                           : connect(fd, (const struct sockaddr *)&loopback, sizeof loopback);
  ck_assert_msg(error == 0, "connect: %s", strerror(errno));
  return fd;
}

/* Everything until the other end closes. */
static void read_answer(int fd)
{
  size_t length = 0;
  ssize_t n = 1;
  while (n > 0 && length < sizeof answer - 1) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    ck_assert_msg(poll(&poll_fd, 1, SFTEST_HANG_MS) == 1, "no answer");
    n = read(fd, answer + length, sizeof answer - 1 - length);
    length += n > 0 ? (size_t)n : 0;
  }
  answer[length] = '\0';
  close(fd);
}

static void ask(const char *path, int port, const char *request)
{
  int fd = connect_to(path, port);
  ck_assert_int_eq(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
  read_answer(fd);
}

static void expect_status(const char *path, const char *request, const char *status)
{
  char begin[80];
  ask(path, 0, request);
  snprintf(begin, sizeof begin, "HTTP/1.0 %s\r\n", status);
  ck_assert_msg(strncmp(answer, begin, strlen(begin)) == 0, "expected %s, found %s", status, answer);
}

static void expect_metrics(void)
{
  const char *body = strstr(answer, "\r\n\r\n");
  char length[64];
  ck_assert_msg(strncmp(answer, "HTTP/1.0 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0;", 70) ==
                    0,
                "%s", answer);
  ck_assert_ptr_nonnull(body);
  snprintf(length, sizeof length, "\r\nContent-Length: %zu\r\n", strlen(body + 4));
  sftest_expect_in(answer, length);
  sftest_expect_in(answer, "\nsfd_jobs_started_total ");
  ck_assert_str_eq(answer + strlen(answer) - 7, "\n# EOF\n");
}

static void start(sftest_node_t *node, char path[128])
{
  char option[160];
  sftest_node_prepare(node);
  snprintf(path, 128, "%s/metrics.sock", node->directory);
  snprintf(option, sizeof option, "--metrics=%s", path);
  sftest_node_launch(node, (const char *const[]){option, NULL});
}

SFTEST(what_is_served)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  struct stat st;
  char path[128];
  start(&node, path);
  ck_assert(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
  int fds = sftest_node_rest(&node, 0);
  ask(path, 0, GET);
  expect_metrics();
  sftest_expect_in(answer, "\nsfd_jobs 0\n");
  sftest_bystander_start(&bystander, &node);
  do
    ask(path, 0, GET);
  while (strstr(answer, "sfd_graph_bcasts_total{") == NULL);
  expect_metrics();
  sftest_expect_in(answer, "\nsfd_ranks 2\n");
  sftest_expect_in(answer, ",rank=\"1\",way=\"ranks\"} ");
  sftest_expect_in(answer, "sfd_graph_ranks_counted{");
  for (int i = 0; i < 50; i++) /* while counters are written at full speed */
    ask(path, 0, GET);
  expect_metrics();
  sftest_bystander_stop(&bystander);
  sftest_node_settle(&node, fds);
  sftest_node_stop(&node);
}

SFTEST(what_others_try)
{
  static char endless[20000];
  sftest_node_t node;
  char path[128];
  int idle[CONNECTIONS_MAX + 4];
  start(&node, path);
  int fds = sftest_node_rest(&node, 0);
  expect_status(path, "GET /metrics?x=1 HTTP/1.0\n\n", "200 OK");
  expect_status(path, "GET / HTTP/1.0\r\n\r\n", "404 Not Found");
  expect_status(path, "POST /metrics HTTP/1.0\r\n\r\n", "405 Method Not Allowed");
  expect_status(path, "nonsense\r\n\r\n", "400 Bad Request");
  expect_status(path, "GET /metrics SPDY/1\r\n\r\n", "400 Bad Request");
  memset(endless, 'x', sizeof endless - 1);
  int fd = connect_to(path, 0);
  (void)!send(fd, endless, 8192, MSG_NOSIGNAL);
  read_answer(fd);
  ck_assert_ptr_eq(strstr(answer, "HTTP/1.0 431 "), answer);
  fd = connect_to(path, 0); /* half a request */
  (void)!send(fd, "GET /met", 8, MSG_NOSIGNAL);
  close(fd);
  ask(path, 0, GET); /* all of them have been accepted */
  sftest_node_settle(&node, fds);
  for (int i = 0; i < CONNECTIONS_MAX; i++)
    idle[i] = connect_to(path, 0);
  for (int i = 0; i < 2; i++) { /* the oldest of those that ask nothing makes room for each who comes */
    ask(path, 0, GET);
    expect_metrics();
  }
  read_answer(idle[0]);
  ck_assert_str_eq(answer, "");
  for (int i = 1; i < CONNECTIONS_MAX; i++)
    close(idle[i]);
  sftest_node_settle(&node, fds);
  ask(path, 0, GET);
  expect_metrics();
  sftest_node_stop(&node);
}

/* A port that is nobody else's while *fd_p is open, but that the daemon may be told to listen at. */
static int reserve_port(int *fd_p)
{
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
  ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
  *fd_p = fd;
  return ntohs(address.sin_port);
}

SFTEST(a_port)
{
  sftest_node_t node;
  char option[64];
  int reserved, port = reserve_port(&reserved);
  snprintf(option, sizeof option, "--metrics=127.0.0.1:%d", port);
  sftest_node_start(&node, (const char *const[]){option, NULL});
  ask(NULL, port, GET);
  expect_metrics();
  sftest_node_stop(&node);
  close(reserved);
}

/* A daemon that was killed leaves its socket behind. */
SFTEST(a_stale_socket)
{
  sftest_node_t node;
  char path[128], option[160];
  start(&node, path);
  snprintf(option, sizeof option, "--metrics=%s", path);
  sftest_node_restart(&node, (const char *const[]){option, NULL});
  ask(path, 0, GET);
  expect_metrics();
  sftest_node_stop(&node);
}

SFTEST(bad_places)
{
  static const char *const bad[] = {"0.0.0.0:9400", "9400x",     "0",  "65536",
                                    "host:9400",    "[::]:9400", "-1", "metrics.sock"};
  uv_loop_t loop;
  sfd_options_t options = {0};
  sfd_server_t server = {.loop = &loop, .options = &options};
  sfd_metrics_http_t *metrics;
  char long_path[200] = "/";
  uv_loop_init(&loop);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    options.metrics = (char *)(uintptr_t)bad[i];
    ck_assert_int_eq(sfd_metrics_http_create(&server, &metrics), SF_ERR_ARG);
    sftest_expect_in(sfshm_error_detail(), "option metrics: a path that begins with /, PORT, 127.0.0.1:PORT");
  }
  memset(long_path + 1, 'p', sizeof long_path - 2);
  options.metrics = long_path;
  ck_assert_int_eq(sfd_metrics_http_create(&server, &metrics), SF_ERR_ARG);
  char nowhere[] = "/nowhere/at/all";
  options.metrics = nowhere;
  ck_assert_int_eq(sfd_metrics_http_create(&server, &metrics), SF_ERR_SYS);
  uv_run(&loop, UV_RUN_DEFAULT);
  ck_assert_int_eq(uv_loop_close(&loop), 0);
}
