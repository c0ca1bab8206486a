/* A daemon's end of sfctl's connection, for tests: see sfctl_daemon.h. */
#include "tests/unit/tools/sfctl_daemon.h"

#include <sys/socket.h>

sfctl_connection_t sftest_connection;
sfproto_conn_t *sftest_daemon;
uint64_t sftest_answered; /* that is being answered */
sfreport_list_t sftest_answers;

void sftest_sfctl_setup(void)
{
  int ends[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  sftest_connection = (sfctl_connection_t){.path = "/the/socket", .timeout_ms = 100, .deadline_ms = INT64_MAX / 2};
  ck_assert_int_eq(sfproto_conn_create(ends[0], &sftest_connection.conn), SF_OK);
  ck_assert_int_eq(sfproto_conn_create(ends[1], &sftest_daemon), SF_OK);
  sftest_answered = 1;
}

void sftest_sfctl_teardown(void)
{
  sfreport_list_clear(&sftest_answers);
  sfctl_disconnect(&sftest_connection);
  sfproto_conn_destroy(sftest_daemon);
}

char *sftest_word(const char *text)
{
  return (char *)(uintptr_t)text; /* protobuf-c has no const */
}

void sftest_say(Sfproto__Message__BodyCase body, void *info, const int fds[], int nfds)
{
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.request = sftest_answered;
  message.body_case = body;
  message.status_info = info; /* members of one union */
  ck_assert_int_eq(sfproto_conn_send(sftest_daemon, &message, fds, nfds), SF_OK);
}

void sftest_say_job(uint64_t job_id, const char *name)
{
  Sfproto__JobInfo info = SFPROTO__JOB_INFO__INIT;
  info.job_id = job_id;
  info.name = sftest_word(name);
  info.state = sftest_word("running");
  sftest_say(SFPROTO__MESSAGE__BODY_JOB_INFO, &info, NULL, 0);
}

void sftest_say_graph(uint64_t job_id, uint64_t graph)
{
  Sfproto__GraphInfo info = SFPROTO__GRAPH_INFO__INIT;
  info.job_id = job_id;
  info.graph = graph;
  info.job = sftest_word("job");
  info.state = sftest_word("ready");
  sftest_say(SFPROTO__MESSAGE__BODY_GRAPH_INFO, &info, NULL, 0);
}

void sftest_say_end(int32_t count)
{
  Sfproto__QueryEnd end = SFPROTO__QUERY_END__INIT;
  end.count = count;
  sftest_say(SFPROTO__MESSAGE__BODY_QUERY_END, &end, NULL, 0);
  sftest_answered++;
}

void sftest_expect_collect_error(Sfproto__Query__What what, const char *job, sf_status_t expected, const char *text)
{
  ck_assert_int_eq(sfctl_collect(&sftest_connection, what, job, &sftest_answers), expected);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\" is not in \"%s\"", text, sfshm_error_detail());
}
