/* A daemon and its clients in one thread, for tests. */
#include "tests/unit/daemon_fixture.h"

#include <poll.h>
#include <sys/socket.h>

#include "daemon/base/log.h"
#include "daemon/clients/accept.h"
#include "daemon/clients/listen.h"
#include "proto/address.h"
#include "shm/base/error.h"
#include "shm/observe/counters.h"

#define PATIENCE_STEPS 5000 /* of a millisecond each, when there is nothing to do */
#define SETTLE_STEPS 20

/* ---- The daemon ---- */

/* With a worker, however many cores there are. */
static void start_options(sfd_options_t *options)
{
  char name[] = "sfd", workers[] = "--offload-workers=1", *argv[] = {name, workers, NULL}, *environment[] = {NULL};
  ck_assert_int_eq(sfd_options_parse(2, argv, environment, options), SF_OK);
}

void sftest_daemon_start(sftest_daemon_t *daemon)
{
  const char *level = getenv("SFD_LOG_LEVEL");
  ck_assert_int_eq(sfd_log_configure(level != NULL ? level : "error"), SF_OK);
  *daemon = (sftest_daemon_t){.nfds_before = sftest_count_fds()};
  start_options(&daemon->options);
  snprintf(daemon->path, sizeof daemon->path, "/tmp/sftest-%d.sock", (int)getpid());
  ck_assert_int_eq(uv_loop_init(&daemon->loop), 0);
  ck_assert_msg(sfd_listen(daemon->path, &daemon->listen_fd) == SF_OK, "%s", sfshm_error_detail());
  sfshm_costs_t costs = {0};
  ck_assert_int_eq(sfd_server_create(&daemon->loop, &daemon->options, daemon->listen_fd, &costs, &daemon->server),
                   SF_OK);
}

void sftest_daemon_settle(sftest_daemon_t *daemon)
{
  for (int i = 0; i < SETTLE_STEPS; i++)
    uv_run(&daemon->loop, UV_RUN_NOWAIT);
}

void sftest_daemon_stop(sftest_daemon_t *daemon)
{
  sfd_server_stop(daemon->server);
  uv_run(&daemon->loop, UV_RUN_DEFAULT);
  ck_assert_int_eq(uv_loop_close(&daemon->loop), 0);
  sfd_server_destroy(daemon->server);
  sfd_listen_close(daemon->listen_fd);
  sfd_options_free(&daemon->options);
  uv_library_shutdown(); /* closes the pipe that libuv keeps for signals */
  /* The server waits a second at most for its threads that close descriptors. */
  ck_assert_int_eq(sftest_await_fds(daemon->nfds_before), daemon->nfds_before);
}

void sftest_daemon_expect_idle(sftest_daemon_t *daemon)
{
  sftest_daemon_settle(daemon);
  ck_assert_int_eq(daemon->server->clients->nsessions, 0);
  ck_assert_int_eq(daemon->server->statistics.njobs, 0);
  ck_assert_int_eq(daemon->server->statistics.nranks, 0);
  ck_assert_int_eq(daemon->server->statistics.ngraphs, 0);
  ck_assert_int_eq(daemon->server->board->participants, 0);
  ck_assert_int_eq(daemon->server->nheld_fds, 0);
}

sftest_daemon_t daemon_;

static void start(void)
{
  sftest_daemon_start(&daemon_);
}

static void stop(void)
{
  sftest_daemon_expect_idle(&daemon_);
  sftest_daemon_stop(&daemon_);
}

void sftest_daemon_for_case(TCase *tcase)
{
  tcase_add_checked_fixture(tcase, start, stop);
}

/* ---- Clients ---- */

void sftest_connect(sftest_daemon_t *daemon, sftest_client_t *client)
{
  int fd;
  *client = (sftest_client_t){.daemon = daemon};
  ck_assert_int_eq(sfproto_connect(daemon->path, &fd), SF_OK);
  ck_assert_int_eq(sfproto_conn_create(fd, &client->conn), SF_OK);
}

void sftest_drop(sftest_client_t *client)
{
  sfproto_conn_destroy(client->conn);
  sfproto_conn_destroy(client->alerts);
  client->conn = NULL;
  client->alerts = NULL;
}

Sfproto__Message sftest_message(sftest_client_t *client)
{
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.request = ++client->last_request;
  return message;
}

void sftest_send(sftest_client_t *client, const Sfproto__Message *message, const int fds[], int nfds)
{
  ck_assert_int_eq(sfproto_conn_queue(client->conn, message, fds, nfds), SF_OK);
  for (int i = 0; sfproto_conn_queued_bytes(client->conn) > 0; i++) {
    ck_assert_int_lt(i, PATIENCE_STEPS);
    if (sfproto_conn_flush(client->conn) != SF_OK)
      return; /* the daemon has ended the connection: shows in what is expected next */
    uv_run(&client->daemon->loop, UV_RUN_NOWAIT);
  }
}

void sftest_send_body(sftest_client_t *client, Sfproto__Message__BodyCase body_case, const void *body, const int fds[],
                      int nfds)
{
  Sfproto__Message message = sftest_message(client);
  message.body_case = body_case;
  message.hello = (Sfproto__Hello *)(uintptr_t)body; /* a member of a union of pointers */
  sftest_send(client, &message, fds, nfds);
}

void sftest_send_bytes(sftest_client_t *client, const void *bytes, size_t n)
{
  ck_assert_int_eq(send(sfproto_conn_fd(client->conn), bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static int edges_region(size_t length_bytes)
{
  sfshm_region_t region;
  char *image = calloc(1, length_bytes);
  ck_assert_ptr_nonnull(image);
  ck_assert_int_eq(sfshm_region_publish("sftest", SFSHM_REGION_EDGES, image, length_bytes, &region), SF_OK);
  free(image);
  int fd = dup(region.fd);
  sfshm_region_destroy(&region);
  return fd;
}

int sftest_region(sfshm_region_kind_t kind, size_t length_bytes)
{
  sfshm_region_t region;
  sfshm_sealing_t sealing = kind == SFSHM_REGION_INBOX ? SFSHM_SEAL_SIZE : SFSHM_SEAL_FUTURE_WRITE;
  if (kind == SFSHM_REGION_EDGES)
    return edges_region(length_bytes);
  ck_assert_int_eq(sfshm_region_create("sftest", kind, length_bytes, sealing, SFSHM_COMMIT_ALL, &region), SF_OK);
  int fd = dup(region.fd);
  ck_assert_int_ge(fd, 0);
  sfshm_region_destroy(&region);
  return fd;
}

/* ---- Requests ---- */

void sftest_hello_init(Sfproto__Hello *hello, const char *job, int32_t rank, int32_t size)
{
  static char program[] = "test";
  sfproto__hello__init(hello);
  hello->role = SFPROTO__HELLO__ROLE__CLIENT;
  hello->job = (char *)(uintptr_t)job;
  hello->has_rank = true;
  hello->rank = rank;
  hello->has_size = true;
  hello->size = size;
  hello->has_pid = true;
  hello->pid = getpid();
  hello->has_probe_address = true;
  hello->probe_address = 0x1000 + (uint64_t)rank;
  hello->has_probe_value = true;
  hello->probe_value = 77;
  hello->program = program;
}

void sftest_send_hello(sftest_client_t *client, const Sfproto__Hello *hello)
{
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  int fds[3] = {pair[1], sftest_region(SFSHM_REGION_INBOX, SFTEST_INBOX_BYTES),
                sftest_region(SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t))};
  ck_assert_int_eq(sfproto_conn_create(pair[0], &client->alerts), SF_OK);
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_HELLO, (Sfproto__Hello *)(uintptr_t)hello, fds, 3);
  for (int i = 0; i < 3; i++)
    close(fds[i]);
}

void sftest_join(sftest_daemon_t *daemon, sftest_client_t *client, const char *job, int32_t rank, int32_t size)
{
  Sfproto__Hello hello;
  sftest_connect(daemon, client);
  sftest_hello_init(&hello, job, rank, size);
  sftest_send_hello(client, &hello);
}

void sftest_join_all(sftest_daemon_t *daemon, sftest_client_t clients[], const char *job, int32_t size)
{
  for (int32_t r = 0; r < size; r++)
    sftest_join(daemon, &clients[r], job, r, size);
  for (int32_t r = 0; r < size; r++)
    sftest_expect_welcome(&clients[r], size);
}

void sftest_expect_welcome(sftest_client_t *client, int32_t size)
{
  sfproto_incoming_t incoming;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_WELCOME, &incoming);
  const Sfproto__Welcome *welcome = incoming.message->welcome;
  ck_assert_str_eq(welcome->software, SFD_SOFTWARE);
  ck_assert_uint_eq(welcome->n_local_ranks, (size_t)size);
  for (int32_t r = 0; r < size; r++) {
    ck_assert_int_eq(welcome->local_ranks[r]->rank, r);
    ck_assert_int_eq(welcome->local_ranks[r]->pid, getpid());
    ck_assert_uint_eq(welcome->local_ranks[r]->probe_address, 0x1000 + (uint64_t)r);
  }
  ck_assert_int_eq(incoming.nfds, 1);
  client->job_id = welcome->job_id;
  sfproto_incoming_free(&incoming);
}

void sftest_drop_all(sftest_client_t clients[], int32_t size)
{
  for (int32_t r = 0; r < size; r++)
    sftest_drop(&clients[r]);
}

void sftest_tool(sftest_daemon_t *daemon, sftest_client_t *client)
{
  Sfproto__Hello hello = SFPROTO__HELLO__INIT;
  hello.role = SFPROTO__HELLO__ROLE__TOOL;
  sftest_connect(daemon, client);
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_HELLO, &hello, NULL, 0);
  sfproto_incoming_t incoming;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_WELCOME, &incoming);
  ck_assert_uint_eq(incoming.message->welcome->job_id, 0);
  ck_assert_int_eq(incoming.nfds, 0);
  sfproto_incoming_free(&incoming);
}

void sftest_send_goodbye(sftest_client_t *client)
{
  Sfproto__Goodbye goodbye = SFPROTO__GOODBYE__INIT;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GOODBYE, &goodbye, NULL, 0);
}

void sftest_send_group_create(sftest_client_t *client, const int32_t ranks[], int32_t nranks, int32_t tag)
{
  Sfproto__GroupCreate create = SFPROTO__GROUP_CREATE__INIT;
  create.ranks = (int32_t *)(uintptr_t)ranks;
  create.n_ranks = (size_t)nranks;
  create.tag = tag;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GROUP_CREATE, &create, NULL, 0);
}

void sftest_send_graph_destroy(sftest_client_t *client, uint64_t graph)
{
  Sfproto__GraphDestroy destroy = SFPROTO__GRAPH_DESTROY__INIT;
  destroy.graph = graph;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GRAPH_DESTROY, &destroy, NULL, 0);
}

/* ---- Expectations ---- */

/* Two turns of the daemon, so that it reads and then answers, and a look at the connection; what read returned. */
static sf_status_t turn(const sftest_client_t *client, sfproto_conn_t *conn)
{
  uv_run(&client->daemon->loop, UV_RUN_NOWAIT);
  uv_run(&client->daemon->loop, UV_RUN_NOWAIT);
  struct pollfd pollfd = {.fd = sfproto_conn_fd(conn), .events = POLLIN};
  poll(&pollfd, 1, 1);
  return sfproto_conn_read(conn);
}

static void receive_from(sftest_client_t *client, sfproto_conn_t *conn, sfproto_incoming_t *incoming)
{
  sf_status_t status = SF_OK;
  for (int i = 0; i < PATIENCE_STEPS; i++) {
    if (sfproto_conn_next(conn, incoming))
      return;
    ck_assert_msg(status == SF_OK, "nothing received: %s", sfshm_error_detail());
    status = turn(client, conn);
  }
  ck_abort_msg("no message came");
}

void sftest_receive(sftest_client_t *client, sfproto_incoming_t *incoming)
{
  receive_from(client, client->conn, incoming);
}

void sftest_expect(sftest_client_t *client, Sfproto__Message__BodyCase body, sfproto_incoming_t *incoming)
{
  sftest_receive(client, incoming);
  const Sfproto__Message *message = incoming->message;
  bool error = message->body_case == SFPROTO__MESSAGE__BODY_ERROR;
  ck_assert_msg(message->body_case == body, "message %d came, expected %d: %s", (int)message->body_case, (int)body,
                error ? message->error->detail : "");
  ck_assert_uint_eq(message->request, client->last_request);
}

void sftest_expect_done(sftest_client_t *client)
{
  sfproto_incoming_t incoming;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_DONE, &incoming);
  sfproto_incoming_free(&incoming);
}

void sftest_expect_error(sftest_client_t *client, sf_status_t status, const char *text)
{
  sfproto_incoming_t incoming;
  sftest_receive(client, &incoming);
  ck_assert_int_eq(incoming.message->body_case, SFPROTO__MESSAGE__BODY_ERROR);
  const Sfproto__Error *error = incoming.message->error;
  ck_assert_msg(error->status == status, "status %d, expected %d: %s", error->status, status, error->detail);
  ck_assert_msg(strstr(error->detail, text) != NULL, "\"%s\" is not in \"%s\"", text, error->detail);
  sfproto_incoming_free(&incoming);
}

static void expect_silence(sftest_client_t *client, sfproto_conn_t *conn)
{
  sfproto_incoming_t incoming;
  sftest_daemon_settle(client->daemon);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  ck_assert(!sfproto_conn_next(conn, &incoming));
}

void sftest_expect_nothing(sftest_client_t *client)
{
  expect_silence(client, client->conn);
}

void sftest_expect_no_alert(sftest_client_t *client)
{
  expect_silence(client, client->alerts);
}

void sftest_expect_closed(sftest_client_t *client)
{
  sf_status_t status = SF_OK;
  for (int i = 0; i < PATIENCE_STEPS && status == SF_OK; i++)
    status = turn(client, client->conn);
  ck_assert_int_eq(status, SF_ERR_DAEMON_LOST);
  sfproto_incoming_t incoming;
  ck_assert(!sfproto_conn_next(client->conn, &incoming));
}

void sftest_expect_alert(sftest_client_t *client, Sfproto__Alert__Kind kind, const char *text)
{
  sfproto_incoming_t incoming;
  receive_from(client, client->alerts, &incoming);
  ck_assert_int_eq(incoming.message->body_case, SFPROTO__MESSAGE__BODY_ALERT);
  ck_assert_uint_eq(incoming.message->request, 0);
  const Sfproto__Alert *alert = incoming.message->alert;
  ck_assert_int_eq(alert->kind, kind);
  if (text != NULL) {
    ck_assert_ptr_nonnull(alert->detail);
    ck_assert_msg(strstr(alert->detail, text) != NULL, "\"%s\" is not in \"%s\"", text, alert->detail);
  }
  sfproto_incoming_free(&incoming);
}

uint64_t sftest_expect_group(sftest_client_t *client)
{
  sfproto_incoming_t incoming;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_GROUP, &incoming);
  uint64_t id = incoming.message->group->group;
  sfproto_incoming_free(&incoming);
  return id;
}
