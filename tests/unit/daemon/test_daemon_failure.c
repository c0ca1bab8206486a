/* Death, at every step of a job's life, and the end of the daemon. */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "daemon/clients/accept.h"
#include "daemon/clients/credentials.h"
#include "daemon/jobs/job.h"
#include "proto/address.h"
#include "shm/observe/counters.h"
#include "tests/unit/daemon_graphs.h"

#define SIZE 3

static sftest_client_t other; /* a job that must not notice anything */

static void setup(void)
{
  sftest_daemon_start(&daemon_);
  sftest_join_all(&daemon_, &other, "other", 1);
}

static void teardown(void)
{
  if (other.conn != NULL) {
    sftest_expect_nothing(&other);
    sftest_expect_no_alert(&other);
    sftest_drop(&other);
  }
  sftest_daemon_expect_idle(&daemon_);
  sftest_daemon_stop(&daemon_);
}

SFTEST_FIXTURE(setup, teardown);

/* ---- A rank dies at every step ---- */

static sftest_client_t clients[SIZE];

typedef enum step {
  STEP_CONNECTED,
  STEP_JOINING,
  STEP_JOINED,
  STEP_GROUP,
  STEP_EDGES,
  STEP_EDGES_OF_ALL,
  STEP_LANES,
  STEP_LANES_OF_ALL,
  STEP_DESTROYED,
  STEP_GOODBYE,
  STEPS
} step_t;

static void send_edges(int first, int end)
{
  for (int r = first; r < end; r++) {
    sftest_edges_t edges = {.group = clients[0].job_id, .nblocks = 1, .ranks = {(r + 1) % SIZE}};
    sftest_send_edges(&clients[r], &edges);
  }
}

static void send_lanes(int first, int end, uint64_t graph)
{
  static const int32_t others[SIZE][2] = {{1, 2}, {0, 2}, {0, 1}};
  for (int r = first; r < end; r++)
    sftest_send_lanes(&clients[r], graph, others[r], 2, NULL);
}

/* Brings the job to where ranks 0 and 1 have taken that step. */
static void bring_to(step_t step)
{
  static const int32_t all[] = {0, 1, 2};
  sftest_peers_t peers = {0};
  if (step <= STEP_JOINING) {
    for (int r = 0; r < 2; r++)
      sftest_connect(&daemon_, &clients[r]);
    Sfproto__Hello hello;
    for (int r = 0; r < 2 && step == STEP_JOINING; r++) {
      sftest_hello_init(&hello, "job", r, SIZE);
      sftest_send_hello(&clients[r], &hello);
    }
    return;
  }
  sftest_join_all(&daemon_, clients, "job", SIZE);
  if (step == STEP_GROUP)
    for (int r = 0; r < 2; r++)
      sftest_send_group_create(&clients[r], all, SIZE, 0);
  if (step >= STEP_EDGES)
    send_edges(0, step == STEP_EDGES ? 2 : SIZE);
  for (int r = 0; r < SIZE && step >= STEP_EDGES_OF_ALL; r++)
    sftest_expect_peers(&clients[r], &peers);
  if (step >= STEP_LANES)
    send_lanes(0, step == STEP_LANES ? 2 : SIZE, peers.graph);
  for (int r = 0; r < SIZE && step >= STEP_LANES_OF_ALL; r++) {
    sfproto_incoming_t incoming;
    sftest_expect(&clients[r], SFPROTO__MESSAGE__BODY_GRAPH_REPLY, &incoming);
    sfproto_incoming_free(&incoming);
  }
  for (int r = 0; r < 2 && step >= STEP_DESTROYED; r++) {
    sftest_send_graph_destroy(&clients[r], peers.graph);
    sftest_expect_done(&clients[r]);
  }
  if (step == STEP_GOODBYE) {
    sftest_send_goodbye(&clients[1]);
    sftest_expect_done(&clients[1]);
  }
}

static bool others_wait(step_t step)
{
  return step == STEP_JOINING || step == STEP_GROUP || step == STEP_EDGES || step == STEP_LANES;
}

SFTEST_FOR(death_at_every_step, STEPS)
{
  step_t step = (step_t)_i;
  bring_to(step);
  sftest_daemon_settle(&daemon_);
  sftest_drop(&clients[0]);
  if (step == STEP_CONNECTED)
    sftest_expect_nothing(&clients[1]);
  else if (others_wait(step))
    sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 0 (pid");
  if (step >= STEP_JOINED) {
    sftest_expect_alert(&clients[2], SFPROTO__ALERT__KIND__JOB_FAILED, "test) of job \"job\" died without sf_finalize");
    sftest_expect_nothing(&clients[2]);
  }
  if (step >= STEP_JOINED && step < STEP_GOODBYE)
    sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, "rank 0 (pid");
  if (step == STEP_GOODBYE)
    sftest_expect_no_alert(&clients[1]);
  ck_assert_uint_eq(daemon_.server->statistics.jobs_failed, step == STEP_CONNECTED ? 0 : 1);
  sftest_drop_all(clients, step <= STEP_JOINING ? 2 : SIZE);
}

SFTEST_FOR(all_die_at_once, STEPS)
{
  bring_to((step_t)_i);
  sftest_drop_all(clients, (step_t)_i <= STEP_JOINING ? 2 : SIZE);
  sftest_daemon_settle(&daemon_);
  ck_assert_int_eq(daemon_.server->statistics.njobs, 1);
}

SFTEST(goodbye_written_just_before_the_end_is_no_failure)
{
  bring_to(STEP_JOINED);
  for (int r = 0; r < SIZE; r++) {
    sftest_send_goodbye(&clients[r]);
    sftest_drop(&clients[r]);
  }
  sftest_daemon_settle(&daemon_);
  ck_assert_uint_eq(daemon_.server->statistics.jobs_failed, 0);
}

SFTEST(failed_job_can_be_cleaned_up)
{
  bring_to(STEP_LANES_OF_ALL);
  uint64_t graph = daemon_.server->last_id;
  sftest_drop(&clients[0]);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, NULL);
  sftest_send_graph_destroy(&clients[1], graph);
  sftest_expect_done(&clients[1]);
  sftest_send_edges(&clients[1], &(sftest_edges_t){.group = clients[1].job_id});
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 0 (pid");
  sftest_send_lanes(&clients[1], graph, NULL, 0, NULL);
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 0 (pid");
  sftest_send_goodbye(&clients[1]); /* it leaves, and is told once more */
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 0 (pid");
  sftest_drop_all(clients, SIZE);
}

/* ---- Processes ---- */

/* A process that joins as rank 1 of 2 and is killed while a child of its own still holds its sockets. */
static void run_parent(const char *path, const int report[2])
{
  sftest_daemon_t there = {.server = NULL};
  sftest_client_t client = {.daemon = &there};
  Sfproto__Hello hello;
  int fd, pair[2];
  if (sfproto_connect(path, &fd) != SF_OK || sfproto_conn_create(fd, &client.conn) != SF_OK ||
      socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    _exit(1);
  int fds[3] = {pair[1], sftest_region(SFSHM_REGION_INBOX, 4096),
                sftest_region(SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t))};
  sftest_hello_init(&hello, "job", 1, 2);
  Sfproto__Message message = sftest_message(&client);
  message.body_case = SFPROTO__MESSAGE__BODY_HELLO;
  message.hello = &hello;
  if (sfproto_conn_send(client.conn, &message, fds, 3) != SF_OK)
    _exit(1);
  pid_t child = fork();
  if (child > 0 && write(report[1], &child, sizeof child) != sizeof child)
    _exit(1);
  for (;;)
    pause();
}

SFTEST(forked_child_hides_nothing)
{
  sftest_client_t first;
  int report[2], pidfd = sfd_credentials_pidfd(getpid());
  if (pidfd < 0) {
    puts("part skipped: forked_child_hides_nothing: this kernel has no pidfds");
    return;
  }
  close(pidfd);
  ck_assert_int_eq(pipe(report), 0);
  ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* to wait for the child's child, which holds our sockets */
  sftest_join(&daemon_, &first, "job", 0, 2);
  pid_t parent = fork();
  if (parent == 0)
    run_parent(daemon_.path, report);
  sfproto_incoming_t incoming;
  sftest_expect(&first, SFPROTO__MESSAGE__BODY_WELCOME, &incoming);
  sfproto_incoming_free(&incoming);
  pid_t child;
  ck_assert_int_eq(read(report[0], &child, sizeof child), sizeof child);
  kill(parent, SIGKILL);
  char text[64];
  snprintf(text, sizeof text, "rank 1 (pid %d, test) of job \"job\" died", (int)parent);
  sftest_expect_alert(&first, SFPROTO__ALERT__KIND__JOB_FAILED, text);
  waitpid(parent, NULL, 0);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  close(report[0]);
  close(report[1]);
  sftest_drop(&first);
}

/* ---- The daemon's end ---- */

SFTEST_FOR(sigterm_closes_everything, 2)
{
  bring_to(STEP_EDGES);
  kill(getpid(), _i == 0 ? SIGTERM : SIGINT);
  for (int r = 0; r < SIZE; r++) {
    sftest_expect_closed(&clients[r]);
    ck_assert_int_eq(sfproto_conn_read(clients[r].alerts), SF_ERR_DAEMON_LOST);
  }
  ck_assert_int_eq(uv_run(&daemon_.loop, UV_RUN_DEFAULT), 0); /* nothing keeps the loop */
  sftest_drop_all(clients, SIZE);
  sftest_drop(&other);
}

/* ---- Running out ---- */

SFTEST(out_of_descriptors)
{
  sftest_client_t waiting;
  struct rlimit limit;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
  sftest_connect(&daemon_, &waiting);
  int next = dup(STDIN_FILENO);
  close(next);
  struct rlimit low = {.rlim_cur = (rlim_t)next, .rlim_max = limit.rlim_max};
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
  sftest_daemon_settle(&daemon_);
  ck_assert(!daemon_.server->clients->accepting);
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  sftest_drop(&other); /* makes room */
  sftest_daemon_settle(&daemon_);
  ck_assert(daemon_.server->clients->accepting);
  ck_assert_int_eq(daemon_.server->clients->nsessions, 1);
  sftest_drop(&waiting);
}

/* Tools of root and of the daemon's user still get in. */
SFTEST(too_many_connections)
{
  sftest_client_t second, third, tool;
  daemon_.options.max_clients = 2;
  sftest_tool(&daemon_, &second);
  sftest_join(&daemon_, &third, "third", 0, 1);
  sftest_expect_error(&third, SF_ERR_LIMIT, "max-clients");
  sftest_expect_closed(&third);
  sftest_drop(&third);
  sftest_tool(&daemon_, &tool);
  sftest_drop(&tool);
  sftest_drop(&second);
  sftest_daemon_settle(&daemon_);
  sftest_join_all(&daemon_, &third, "third", 1);
  sftest_drop(&third);
}

SFTEST(far_too_many_connections)
{
  enum { N = 60, RESERVE = 32 };
  static sftest_client_t many[N];
  daemon_.options.max_clients = 2;
  for (int i = 0; i < N / 2; i++)
    sftest_tool(&daemon_, &many[i]);
  for (int i = N / 2; i < N; i++)
    sftest_connect(&daemon_, &many[i]);
  sftest_daemon_settle(&daemon_);
  ck_assert_int_eq(daemon_.server->clients->nsessions, 2 + RESERVE);
  ck_assert(daemon_.server->clients->accepting);
  sftest_expect_error(&many[N - 1], SF_ERR_LIMIT, "max-clients");
  sftest_drop_all(many, N);
}

/* The last descriptors are for tools, too. */
SFTEST(too_many_files)
{
  sftest_client_t client, tool;
  int next = dup(0);
  close(next);
  daemon_.server->max_fds = next + 2; /* the client's end comes first */
  sftest_join(&daemon_, &client, "third", 0, 1);
  sftest_expect_error(&client, SF_ERR_LIMIT, "open files (ulimit -n)");
  sftest_drop(&client);
  sftest_tool(&daemon_, &tool);
  sftest_drop(&tool);
  daemon_.server->max_fds = next + 1000;
  sftest_join_all(&daemon_, &client, "third", 1);
  sftest_drop(&client);
}

static void tool_of(sftest_client_t *tool, uid_t uid)
{
  ck_assert_int_eq(seteuid(uid), 0);
  sftest_connect(&daemon_, tool);
  ck_assert_int_eq(seteuid(0), 0);
  sftest_daemon_settle(&daemon_);
}

SFTEST(users_have_shares_of_the_connections)
{
  enum { ALL = 9, OF_ONE = 6 }; /* beside the waiting client of the fixture */
  sftest_client_t tools[ALL + 2];
  if (getuid() != 0) {
    puts("part skipped: several users need root");
    return;
  }
  daemon_.options.max_clients = ALL;
  for (int i = 0; i < OF_ONE; i++)
    tool_of(&tools[i], 1000);
  tool_of(&tools[OF_ONE], 1000);
  sftest_expect_error(&tools[OF_ONE], SF_ERR_LIMIT, "uid 1000 has 6 of 9 connections");
  sftest_drop(&tools[OF_ONE]);
  for (int i = OF_ONE; i < ALL - 1; i++)
    tool_of(&tools[i], 1001);
  sftest_daemon_settle(&daemon_);
  ck_assert_int_eq(daemon_.server->clients->nsessions, ALL);
  tool_of(&tools[ALL - 1], 1002);
  sftest_expect_error(&tools[ALL - 1], SF_ERR_LIMIT, "max-clients");
  sftest_tool(&daemon_, &tools[ALL]);
  sftest_drop_all(tools, ALL + 1);
}

/* The last word of a rank that could not take an answer: the others hear why it fails, as far as it is text. */
SFTEST_FOR(last_word_of_a_client, 2)
{
  static char why[100000];
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  memset(why, '\x1b', sizeof why - 1);
  memcpy(why, "no memory for it\n", strlen("no memory for it\n"));
  sftest_join_all(&daemon_, clients, "job", SIZE);
  Sfproto__Message message = sftest_message(&clients[1]);
  error.status = SF_ERR_NOMEM;
  error.detail = _i == 0 ? "no memory for it" : why;
  message.body_case = SFPROTO__MESSAGE__BODY_ERROR;
  message.error = &error;
  sftest_send(&clients[1], &message, NULL, 0);
  for (int r = 0; r < SIZE; r += 2) {
    sfproto_incoming_t incoming;
    sftest_daemon_settle(&daemon_);
    ck_assert_int_eq(sfproto_conn_receive(clients[r].alerts, 1000, &incoming), SF_OK);
    const Sfproto__Alert *alert = incoming.message->alert;
    ck_assert_int_eq(alert->kind, SFPROTO__ALERT__KIND__JOB_FAILED);
    ck_assert_int_eq(alert->status, SF_ERR_RANK_FAILED);
    ck_assert_ptr_nonnull(strstr(alert->detail, "rank 1 "));
    ck_assert_ptr_nonnull(strstr(alert->detail, "no memory for it"));
    ck_assert(strpbrk(alert->detail, "\n\x1b") == NULL && strlen(alert->detail) < 1000);
    sfproto_incoming_free(&incoming);
  }
  sftest_drop_all(clients, SIZE);
}
