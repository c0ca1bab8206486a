/* Metrics over HTTP/1.0: see metrics_http.h. The daemon's thread. */
#include "daemon/admin/metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/admin/metrics.h"
#include "daemon/base.h"
#include "shm/base/error.h"

#define MAX_CONNECTIONS 16
#define MAX_REQUEST_BYTES 8192
#define TIMEOUT_MS 5000
#define BACKLOG 16

typedef union stream {
  uv_handle_t handle;
  uv_stream_t stream;
  uv_tcp_t tcp;
  uv_pipe_t pipe;
} stream_t;

/* One request and its answer. */
typedef struct connection {
  LIST_ENTRY(connection) entry;
  sfd_metrics_http_t *metrics;
  stream_t stream;
  uv_timer_t timer;
  uv_write_t write;
  int nopen; /* handles */
  bool closing, answered;
  size_t used;
  char request[MAX_REQUEST_BYTES + 1];
  char head[256];
  char *body;
} connection_t;

struct sfd_metrics_http {
  sfd_server_t *server;
  stream_t listener;
  LIST_HEAD(, connection) connections;
  int nconnections;
  bool closing, closed; /* closed: the listener's handle */
  bool is_pipe;
};

/* ---- Connections ---- */

static void free_if_done(sfd_metrics_http_t *metrics)
{
  if (metrics->closed && metrics->nconnections == 0)
    free(metrics);
}

static void on_handle_closed(uv_handle_t *handle)
{
  connection_t *connection = handle->data;
  sfd_metrics_http_t *metrics = connection->metrics;
  if (--connection->nopen > 0)
    return;
  LIST_REMOVE(connection, entry);
  metrics->nconnections--;
  free(connection->body);
  free(connection);
  free_if_done(metrics);
}

static void close_connection(connection_t *connection)
{
  if (connection->closing)
    return;
  connection->closing = true;
  uv_close(&connection->stream.handle, on_handle_closed);
  uv_close((uv_handle_t *)&connection->timer, on_handle_closed);
}

static void on_timeout(uv_timer_t *timer)
{
  close_connection(timer->data);
}

static void on_written(uv_write_t *write, int status)
{
  (void)status;
  close_connection(write->data);
}

static void answer(connection_t *connection, const char *status, const char *type, char *body, size_t length)
{
  connection->answered = true;
  connection->body = body;
  int head = snprintf(connection->head, sizeof connection->head,
                      "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
                      type, length);
  uv_buf_t parts[] = {uv_buf_init(connection->head, (unsigned)head), uv_buf_init(body, (unsigned)length)};
  connection->write.data = connection;
  uv_read_stop(&connection->stream.stream);
  if (uv_write(&connection->write, &connection->stream.stream, parts, 2, on_written) != 0)
    close_connection(connection);
}

static void refuse(connection_t *connection, const char *status)
{
  char *body = malloc(64);
  if (body == NULL) {
    close_connection(connection);
    return;
  }
  int length = snprintf(body, 64, "%s\n", status);
  answer(connection, status, "text/plain", body, (size_t)length);
}

static void answer_metrics(connection_t *connection)
{
  char *text;
  size_t length;
  if (sfd_metrics_text(connection->metrics->server, &text, &length) != SF_OK)
    refuse(connection, "503 Service Unavailable");
  else
    answer(connection, "200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", text, length);
}

/* ---- Requests ---- */

/* Whether the head of the request is complete. */
static bool is_complete(const connection_t *connection)
{
  return strstr(connection->request, "\r\n\r\n") != NULL || strstr(connection->request, "\n\n") != NULL;
}

/* "GET /metrics HTTP/1.1"; a query after the path is ignored. */
static void handle_request(connection_t *connection)
{
  char method[16], path[128], version[16];
  if (strlen(connection->request) != connection->used ||
      sscanf(connection->request, "%15s %127s %15s", method, path, version) != 3 ||
      strncmp(version, "HTTP/1.", 7) != 0) {
    refuse(connection, "400 Bad Request");
    return;
  }
  path[strcspn(path, "?")] = '\0';
  if (strcmp(method, "GET") != 0)
    refuse(connection, "405 Method Not Allowed");
  else if (strcmp(path, "/metrics") != 0)
    refuse(connection, "404 Not Found");
  else
    answer_metrics(connection);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
  connection_t *connection = handle->data;
  (void)suggested;
  *buffer = uv_buf_init(connection->request + connection->used, (unsigned)(MAX_REQUEST_BYTES - connection->used));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
  connection_t *connection = stream->data;
  (void)buffer;
  if (n < 0) {
    bool full = connection->used == MAX_REQUEST_BYTES; /* libuv reports UV_ENOBUFS */
    if (full && !connection->answered)
      refuse(connection, "431 Request Header Fields Too Large");
    else
      close_connection(connection);
    return;
  }
  connection->used += (size_t)n;
  connection->request[connection->used] = '\0';
  if (!connection->answered && is_complete(connection))
    handle_request(connection);
}

/* ---- Listening ---- */

static int init_stream(const sfd_metrics_http_t *metrics, stream_t *stream)
{
  return metrics->is_pipe ? uv_pipe_init(metrics->server->loop, &stream->pipe, 0)
                          : uv_tcp_init(metrics->server->loop, &stream->tcp);
}

/* Closes a connection if there are too many: the oldest of those without an answer, which may never ask anything, or
 * else the oldest. Who comes must not wait for others to go. */
static void make_room(sfd_metrics_http_t *metrics)
{
  connection_t *connection, *oldest = NULL;
  int n = 0;
  LIST_FOREACH (connection, &metrics->connections, entry) { /* newest first */
    if (connection->closing)
      continue;
    if (++n > 1 && (oldest == NULL || oldest->answered || !connection->answered))
      oldest = connection;
  }
  if (n > MAX_CONNECTIONS)
    close_connection(oldest);
}

static void on_connection(uv_stream_t *listener, int status)
{
  sfd_metrics_http_t *metrics = listener->data;
  connection_t *connection = status == 0 ? calloc(1, sizeof *connection) : NULL;
  if (connection == NULL)
    return;
  if (init_stream(metrics, &connection->stream) != 0) {
    free(connection);
    return;
  }
  connection->metrics = metrics;
  connection->stream.handle.data = connection;
  uv_timer_init(metrics->server->loop, &connection->timer);
  connection->timer.data = connection;
  connection->nopen = 2;
  LIST_INSERT_HEAD(&metrics->connections, connection, entry);
  metrics->nconnections++;
  if (uv_accept(listener, &connection->stream.stream) != 0 ||
      uv_read_start(&connection->stream.stream, on_alloc, on_read) != 0) {
    close_connection(connection);
    return;
  }
  uv_timer_start(&connection->timer, on_timeout, TIMEOUT_MS, 0);
  make_room(metrics);
}

static sf_status_t bad_place(const char *text)
{
  return sfshm_error(SF_ERR_ARG,
                     "option metrics: a path that begins with /, PORT, 127.0.0.1:PORT or [::1]:PORT expected, "
                     "\"%.100s\" found",
                     text);
}

static sf_status_t parse_port(const char *text, const char *digits, int *port_p)
{
  char *end;
  long port = strtol(digits, &end, 10);
  if (*digits < '0' || *digits > '9' || *end != '\0' || port < 1 || port > 65535)
    return bad_place(text);
  *port_p = (int)port;
  return SF_OK;
}

static sf_status_t bind_port(sfd_metrics_http_t *metrics, const char *text)
{
  static const char four[] = "127.0.0.1:", six[] = "[::1]:";
  struct sockaddr_storage address = {0};
  int port = 0;
  bool is_six = strncmp(text, six, sizeof six - 1) == 0;
  const char *digits = is_six                                      ? text + sizeof six - 1
                       : strncmp(text, four, sizeof four - 1) == 0 ? text + sizeof four - 1
                                                                   : text;
  sf_status_t status = parse_port(text, digits, &port);
  if (status != SF_OK)
    return status;
  int error = is_six ? uv_ip6_addr("::1", port, (struct sockaddr_in6 *)&address)
                     : uv_ip4_addr("127.0.0.1", port, (struct sockaddr_in *)&address);
  if (error == 0)
    error = uv_tcp_bind(&metrics->listener.tcp, (const struct sockaddr *)&address, 0);
  return error == 0 ? SF_OK
                    : sfshm_error(SF_ERR_SYS, "option metrics: cannot use %.100s: %s", text, uv_strerror(error));
}

/* Removes a socket that refuses connections, left by a daemon that was killed; nothing else. */
static void remove_stale(const char *path)
{
  struct stat st;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode) || strlen(path) >= sizeof address.sun_path)
    return;
  memcpy(address.sun_path, path, strlen(path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED)
    unlink(path);
  if (fd >= 0)
    close(fd);
}

static sf_status_t bind_path(sfd_metrics_http_t *metrics, const char *path)
{
  struct sockaddr_un address;
  if (strlen(path) >= sizeof address.sun_path)
    return sfshm_error(SF_ERR_ARG, "option metrics: a path of %zu bytes, at most %zu", strlen(path),
                       sizeof address.sun_path - 1);
  remove_stale(path);
  mode_t mask = umask(0177);
  int error = uv_pipe_bind(&metrics->listener.pipe, path);
  umask(mask);
  if (error == 0)
    return SF_OK;
  return sfshm_error(error == UV_EADDRINUSE ? SF_ERR_EXISTS : SF_ERR_SYS, "option metrics: cannot use %.100s: %s", path,
                     uv_strerror(error));
}

static void on_listener_closed(uv_handle_t *handle)
{
  sfd_metrics_http_t *metrics = handle->data;
  metrics->closed = true;
  free_if_done(metrics);
}

sf_status_t sfd_metrics_http_create(sfd_server_t *server, sfd_metrics_http_t **metrics_p)
{
  const char *place = server->options->metrics;
  *metrics_p = NULL;
  if (place[0] == '\0')
    return SF_OK;
  sfd_metrics_http_t *metrics = calloc(1, sizeof *metrics);
  if (metrics == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the metrics server");
  metrics->server = server;
  metrics->is_pipe = place[0] == '/';
  LIST_INIT(&metrics->connections);
  if (init_stream(metrics, &metrics->listener) != 0) {
    free(metrics);
    return sfshm_error(SF_ERR_SYS, "option metrics: no socket can be made");
  }
  metrics->listener.handle.data = metrics;
  sf_status_t status = metrics->is_pipe ? bind_path(metrics, place) : bind_port(metrics, place);
  int error = status == SF_OK ? uv_listen(&metrics->listener.stream, BACKLOG, on_connection) : 0;
  if (error != 0)
    status = sfshm_error(error == UV_EADDRINUSE ? SF_ERR_EXISTS : SF_ERR_SYS,
                         "option metrics: cannot listen at %.100s: %s", place, uv_strerror(error));
  if (status != SF_OK) {
    sfd_metrics_http_close(metrics);
    return status;
  }
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "metrics are served at %s", place);
  *metrics_p = metrics;
  return SF_OK;
}

void sfd_metrics_http_close(sfd_metrics_http_t *metrics)
{
  if (metrics == NULL || metrics->closing)
    return;
  metrics->closing = true;
  connection_t *connection;
  LIST_FOREACH (connection, &metrics->connections, entry)
    close_connection(connection);
  uv_close(&metrics->listener.handle, on_listener_closed); /* libuv removes the path */
}
