/* A daemon and its clients in one process and one thread: a real socket, and an event loop that is stepped by hand
 * whenever a client waits for something. Failed expectations end the test. */
#ifndef SFTEST_DAEMON_FIXTURE_H
#define SFTEST_DAEMON_FIXTURE_H

#include <uv.h>

#include "daemon/base/options.h"
#include "daemon/server.h"
#include "proto/conn.h"
#include "shm/region/region.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/runner.h"

typedef struct sftest_daemon {
  uv_loop_t loop;
  sfd_options_t options; /* may be changed before clients come */
  char path[64];
  int listen_fd;
  sfd_server_t *server;
  int nfds_before;
} sftest_daemon_t;

void sftest_daemon_start(sftest_daemon_t *daemon);

/* Also expects that no descriptor is left over: all clients must have been dropped. */
void sftest_daemon_stop(sftest_daemon_t *daemon);

/* For tests with one daemon. sftest_daemon_for_case: before each test of the case it is started; after it the daemon
 * has nothing left. */
extern sftest_daemon_t daemon_;
void sftest_daemon_for_case(TCase *tcase);

/* Lets the daemon do everything that it can do now. */
void sftest_daemon_settle(sftest_daemon_t *daemon);

/* Expects that the daemon is as it was before any job. */
void sftest_daemon_expect_idle(sftest_daemon_t *daemon);

/* One client, or tool. */
typedef struct sftest_client {
  sftest_daemon_t *daemon;
  sfproto_conn_t *conn;
  sfproto_conn_t *alerts; /* NULL: a tool, or before Hello */
  uint64_t last_request;
  uint64_t job_id; /* from Welcome */
} sftest_client_t;

void sftest_connect(sftest_daemon_t *daemon, sftest_client_t *client);

/* Closes everything, as death does. */
void sftest_drop(sftest_client_t *client);

/* A message whose request is the client's next; the body is the caller's to set. */
Sfproto__Message sftest_message(sftest_client_t *client);
void sftest_send(sftest_client_t *client, const Sfproto__Message *message, const int fds[], int nfds);

/* Both, with that body. */
void sftest_send_body(sftest_client_t *client, Sfproto__Message__BodyCase body_case, const void *body, const int fds[],
                      int nfds);

/* What is no message. */
void sftest_send_bytes(sftest_client_t *client, const void *bytes, size_t n);

/* A new region of a kind: its descriptor, the caller's to close. */
int sftest_region(sfshm_region_kind_t kind, size_t length_bytes);

/* ---- Requests ---- */

#define SFTEST_INBOX_BYTES 16384

void sftest_hello_init(Sfproto__Hello *hello, const char *job, int32_t rank, int32_t size);

/* Sends Hello with fresh regions and an alert socket. */
void sftest_send_hello(sftest_client_t *client, const Sfproto__Hello *hello);

/* Both for a usual Hello. */
void sftest_join(sftest_daemon_t *daemon, sftest_client_t *client, const char *job, int32_t rank, int32_t size);

/* Joins ranks 0..size-1 and takes their Welcomes. */
void sftest_join_all(sftest_daemon_t *daemon, sftest_client_t clients[], const char *job, int32_t size);
void sftest_drop_all(sftest_client_t clients[], int32_t size);
void sftest_tool(sftest_daemon_t *daemon, sftest_client_t *client);

void sftest_send_goodbye(sftest_client_t *client);
void sftest_send_group_create(sftest_client_t *client, const int32_t ranks[], int32_t nranks, int32_t tag);
void sftest_send_graph_destroy(sftest_client_t *client, uint64_t graph);

/* ---- Expectations ---- */

/* The next message, which must come; to be freed with sfproto_incoming_free. */
void sftest_receive(sftest_client_t *client, sfproto_incoming_t *incoming);

/* The same, of that kind, and an answer to the last request. */
void sftest_expect(sftest_client_t *client, Sfproto__Message__BodyCase body, sfproto_incoming_t *incoming);
void sftest_expect_done(sftest_client_t *client);

/* Welcome to a job of that size, all of it on this node: takes the job's id. */
void sftest_expect_welcome(sftest_client_t *client, int32_t size);

/* An Error with that status whose detail contains the text. */
void sftest_expect_error(sftest_client_t *client, sf_status_t status, const char *text);
void sftest_expect_nothing(sftest_client_t *client);

/* The daemon has ended the connection, and nothing more was sent. */
void sftest_expect_closed(sftest_client_t *client);

/* The next alert; its detail, if text is not NULL, contains it. */
void sftest_expect_alert(sftest_client_t *client, Sfproto__Alert__Kind kind, const char *text);
void sftest_expect_no_alert(sftest_client_t *client);

/* Group{id}. */
uint64_t sftest_expect_group(sftest_client_t *client);

#endif
