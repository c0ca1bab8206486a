/* Connections that do not say Hello: how many the daemon keeps, and which. */
#include "daemon/clients/accept.h"
#include "daemon/clients/session.h"
#include "tests/unit/daemon_fixture.h"

/* With a small max-clients. */
#define ALL 64
#define OF_USER 48
#define OF_PROCESS 32

static sftest_client_t clients[ALL + 2];

static void setup(void)
{
  sftest_daemon_start(&daemon_);
  daemon_.options.max_clients = 2 * ALL;
}

static void teardown(void)
{
  sftest_daemon_expect_idle(&daemon_);
  ck_assert(LIST_EMPTY(&daemon_.server->clients->unadmitted));
  sftest_daemon_stop(&daemon_);
}

SFTEST_FIXTURE(setup, teardown);

/* The next stranger. It comes as what it is, a connection of this process, and once accepted becomes one of another
 * process and user. */
static void arrive(sftest_client_t *client, uid_t uid)
{
  static pid_t next_pid = 1000;
  sftest_connect(&daemon_, client);
  sftest_daemon_settle(&daemon_);
  sfd_session_t *session = TAILQ_LAST(&daemon_.server->clients->sessions, sfd_session_list);
  session->uid = uid;
  session->pid = next_pid++;
}

static void expect_crowded_out(sftest_client_t *client)
{
  sftest_expect_error(client, SF_ERR_LIMIT, "have not said Hello");
  sftest_expect_closed(client);
}

static void expect_sessions(int count)
{
  sftest_daemon_settle(&daemon_);
  ck_assert_int_eq(daemon_.server->clients->nsessions, count);
}

SFTEST(the_oldest_of_a_process_goes)
{
  for (int i = 0; i < OF_PROCESS + 2; i++)
    sftest_connect(&daemon_, &clients[i]);
  expect_sessions(OF_PROCESS);
  ck_assert_uint_eq(daemon_.server->statistics.refused, 2);
  expect_crowded_out(&clients[0]);
  expect_crowded_out(&clients[1]);
  for (int i = 2; i < OF_PROCESS + 2; i++)
    sftest_expect_nothing(&clients[i]);
  sftest_drop_all(clients, OF_PROCESS + 2);
}

SFTEST(a_user_has_a_share)
{
  uid_t me = getuid();
  for (int i = 0; i < OF_USER; i++)
    arrive(&clients[i], me);
  expect_sessions(OF_USER);
  arrive(&clients[OF_USER], me + 1);
  expect_crowded_out(&clients[0]);
  expect_sessions(OF_USER);
  arrive(&clients[OF_USER + 1], me + 1); /* the one before is another user's now */
  sftest_expect_nothing(&clients[1]);
  expect_sessions(OF_USER + 1);
  sftest_drop_all(clients, OF_USER + 2);
}

SFTEST(there_is_a_bound_for_all)
{
  uid_t me = getuid();
  for (int i = 0; i < ALL + 1; i++)
    arrive(&clients[i], me + 1 + (uid_t)i % 2);
  expect_sessions(ALL);
  expect_crowded_out(&clients[0]);
  sftest_expect_nothing(&clients[1]);
  sftest_drop_all(clients, ALL + 1);
}

/* The oldest of all is the only one of its process; the next two are siblings. */
SFTEST(who_has_several_goes_first)
{
  for (int i = 0; i < OF_USER; i++) {
    arrive(&clients[i], getuid());
    TAILQ_LAST(&daemon_.server->clients->sessions, sfd_session_list)->has_sibling = i == 1 || i == 2;
  }
  arrive(&clients[OF_USER], getuid());
  arrive(&clients[OF_USER + 1], getuid());
  expect_sessions(OF_USER);
  expect_crowded_out(&clients[1]);
  expect_crowded_out(&clients[2]);
  sftest_expect_nothing(&clients[0]);
  sftest_drop_all(clients, OF_USER + 2);
}

SFTEST(siblings_know_of_each_other)
{
  sfd_session_t *session;
  sftest_connect(&daemon_, &clients[0]);
  sftest_daemon_settle(&daemon_);
  ck_assert(!TAILQ_FIRST(&daemon_.server->clients->sessions)->has_sibling);
  sftest_connect(&daemon_, &clients[1]);
  sftest_daemon_settle(&daemon_);
  LIST_FOREACH (session, &daemon_.server->clients->unadmitted, admission_entry)
    ck_assert(session->has_sibling);
  sftest_drop_all(clients, 2);
}

SFTEST(processes_that_cannot_be_seen_are_not_one)
{
  for (int i = 0; i < OF_PROCESS + 1; i++) {
    arrive(&clients[i], getuid());
    TAILQ_LAST(&daemon_.server->clients->sessions, sfd_session_list)->pid = 0;
  }
  expect_sessions(OF_PROCESS + 1);
  sftest_drop_all(clients, OF_PROCESS + 1);
}

SFTEST(who_has_said_hello_is_no_stranger)
{
  for (int i = 0; i < ALL; i++)
    sftest_tool(&daemon_, &clients[i]);
  sftest_join(&daemon_, &clients[ALL], "job", 0, 2); /* waits for the other rank */
  sftest_daemon_settle(&daemon_);
  ck_assert(LIST_EMPTY(&daemon_.server->clients->unadmitted));
  expect_sessions(ALL + 1);
  sftest_drop_all(clients, ALL + 1);
}

/* Those who were refused, and do not close, use up no more places either. */
SFTEST(who_is_dismissed_counts_no_more)
{
  for (int i = 0; i < OF_PROCESS; i++) {
    sftest_connect(&daemon_, &clients[i]);
    sftest_send_goodbye(&clients[i]);
    sftest_expect_error(&clients[i], SF_ERR_PROTO, "before Hello");
  }
  expect_sessions(0);
  sftest_tool(&daemon_, &clients[OF_PROCESS]);
  sftest_drop_all(clients, OF_PROCESS + 1);
}
