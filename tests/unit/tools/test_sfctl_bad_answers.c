/* What sfctl makes of daemons that answer badly: errors, wrong counts and kinds, silence, and an end in between. */
#include "tests/unit/tools/sfctl_daemon.h"

SFTEST_FIXTURE(sftest_sfctl_setup, sftest_sfctl_teardown);

SFTEST(an_error)
{
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_ERR_LIMIT;
  error.detail = sftest_word("too many questions");
  sftest_say_job(1, "a");
  sftest_say(SFPROTO__MESSAGE__BODY_ERROR, &error, NULL, 0);
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_LIMIT, "sfd answers: too many questions");
}

SFTEST(an_error_that_is_none)
{
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_OK;
  error.detail = sftest_word("");
  sftest_say(SFPROTO__MESSAGE__BODY_ERROR, &error, NULL, 0);
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "malformed message");
}

SFTEST(wrong_count)
{
  sftest_say_job(1, "a");
  sftest_say_end(2);
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "1 messages, and says that they are 2");
}

SFTEST(wrong_kind)
{
  sftest_say_graph(1, 1);
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "answers with message 44, expected 42");
}

SFTEST(wrong_request)
{
  sftest_answered = 8;
  sftest_say_job(1, "a");
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "answers request 8, expected 1");
}

SFTEST(silence)
{
  sftest_connection.deadline_ms = 0;
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_TIMEOUT,
                              "the sfd at /the/socket has not answered within 0.1 s (--timeout)");
}

SFTEST(an_end_in_between)
{
  sftest_say_job(1, "a");
  sfproto_conn_destroy(sftest_daemon);
  sftest_daemon = NULL;
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_DAEMON_LOST, "the sfd at /the/socket has ended");
}

SFTEST(a_refusal_before_the_question)
{
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_ERR_LIMIT;
  error.detail = sftest_word("too many clients");
  sftest_answered = 0;
  sftest_say(SFPROTO__MESSAGE__BODY_ERROR, &error, NULL, 0);
  sfproto_conn_destroy(sftest_daemon);
  sftest_daemon = NULL;
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_LIMIT, "too many clients");
}

static void say_missing(int32_t node)
{
  Sfproto__NodeMissing missing = SFPROTO__NODE_MISSING__INIT;
  missing.node = node;
  missing.status = SF_ERR_TIMEOUT;
  missing.detail = sftest_word("it is silent");
  sftest_say(SFPROTO__MESSAGE__BODY_NODE_MISSING, &missing, NULL, 0);
}

static void expect_missing(int32_t nmissing, const char *text)
{
  sfreport_list_clear(&sftest_connection.missing);
  for (int32_t node = 1; node <= nmissing; node++)
    say_missing(node);
  sftest_say_end(nmissing);
  ck_assert_int_eq(sfctl_collect(&sftest_connection, SFPROTO__QUERY__WHAT__JOBS, NULL, &sftest_answers), SF_OK);
  ck_assert_int_eq(sfctl_check_missing(&sftest_connection, 1), SF_ERR_TIMEOUT);
  ck_assert_str_eq(sfshm_error_detail(), text);
}

SFTEST(missing_nodes)
{
  sftest_connection.target.all = true;
  expect_missing(1, "node 1: it is silent");
  expect_missing(2, "node 1: it is silent (and 1 more node)");
  expect_missing(3, "node 1: it is silent (and 2 more nodes)");
}
