/* What tools make the daemon do, and who may. */
#include "daemon/admin/control.h"

#include "daemon/base/log.h"
#include "daemon/jobs/job.h"
#include "shm/base/error.h"
#include "tests/unit/daemon_fixture.h"

static sftest_client_t tool;

static void setup(void)
{
  sftest_daemon_start(&daemon_);
  sftest_tool(&daemon_, &tool);
}

static void teardown(void)
{
  sftest_drop(&tool);
  sftest_daemon_settle(&daemon_);
  sftest_daemon_stop(&daemon_);
}

SFTEST_FIXTURE(setup, teardown);

static void request(Sfproto__Control *control)
{
  sftest_send_body(&tool, SFPROTO__MESSAGE__BODY_CONTROL, control, NULL, 0);
}

static Sfproto__Control control_of(Sfproto__Control__Action action)
{
  Sfproto__Control control = SFPROTO__CONTROL__INIT;
  control.action = action;
  return control;
}

static void expect_controlled(const char *text)
{
  sfproto_incoming_t incoming;
  sftest_expect(&tool, SFPROTO__MESSAGE__BODY_CONTROLLED, &incoming);
  const char *found = incoming.message->controlled->text;
  ck_assert_msg(strstr(found, text) != NULL, "\"%s\" is not in \"%s\"", text, found);
  sfproto_incoming_free(&incoming);
}

static void drain(bool undo, const char *text)
{
  Sfproto__Control control = control_of(undo ? SFPROTO__CONTROL__ACTION__UNDRAIN : SFPROTO__CONTROL__ACTION__DRAIN);
  request(&control);
  expect_controlled(text);
}

SFTEST(a_drained_daemon_takes_no_new_jobs)
{
  sftest_client_t early[2], late;
  sfproto_incoming_t incoming;
  sftest_join(&daemon_, &early[0], "early", 0, 2);
  sftest_daemon_settle(&daemon_);
  drain(false, "drained: takes no new jobs; 1 job is left");
  sftest_join(&daemon_, &late, "late", 0, 1);
  sftest_expect_error(&late, SF_ERR_STATE,
                      "takes no new jobs, as job \"late\" would be: drained by sfctl drain of uid ");
  sftest_drop(&late);
  sftest_join(&daemon_, &early[1], "early", 1, 2); /* that one had begun */
  sftest_expect(&early[0], SFPROTO__MESSAGE__BODY_WELCOME, &incoming);
  sfproto_incoming_free(&incoming);
  drain(true, "takes new jobs");
  sftest_join_all(&daemon_, &late, "late", 1);
  sftest_drop(&late);
  sftest_drop_all(early, 2);
}

static void expect_refusal(const sfd_requester_t *asker, const Sfproto__Control *control, sf_status_t status,
                           const char *detail)
{
  char text[SFD_TEXT_SIZE];
  ck_assert_int_eq(sfd_control_apply(daemon_.server, asker, control, text), status);
  ck_assert_msg(strstr(sfshm_error_detail(), detail) != NULL, "\"%s\" is not in \"%s\"", detail, sfshm_error_detail());
}

SFTEST(others_may_not)
{
  static const Sfproto__Control__Action forbidden[] = {
      SFPROTO__CONTROL__ACTION__DRAIN, SFPROTO__CONTROL__ACTION__UNDRAIN, SFPROTO__CONTROL__ACTION__SHUTDOWN,
      SFPROTO__CONTROL__ACTION__LOG};
  const sfd_requester_t stranger = {.uid = getuid() + 17, .pid = 5, .node = -1};
  char levels[] = "trace", job[] = "job", text[SFD_TEXT_SIZE];
  sftest_client_t client;
  sftest_join_all(&daemon_, &client, "job", 1);
  for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
    Sfproto__Control control = control_of(forbidden[i]);
    control.levels = levels;
    control.has_force = control.force = true;
    expect_refusal(&stranger, &control, SF_ERR_PERM, "which runs this sfd, may do that, not uid ");
  }
  Sfproto__Control control = control_of(SFPROTO__CONTROL__ACTION__KILL);
  control.job = job;
  expect_refusal(&stranger, &control, SF_ERR_NOT_FOUND, "no job \"job\" is known here, or it is another user's");
  control = control_of(SFPROTO__CONTROL__ACTION__LOG); /* looking is free */
  ck_assert_int_eq(sfd_control_apply(daemon_.server, &stranger, &control, text), SF_OK);
  ck_assert_str_eq(text, "error");
  ck_assert(!daemon_.server->drained && !daemon_.server->ending);
  ck_assert_int_eq(sfd_log_levels.level[SFD_LOG_JOB], SFD_ERROR); /* as the fixture has it */
  sftest_drop(&client);
}

SFTEST(owners_may_kill_their_jobs)
{
  const sfd_requester_t root = {.uid = 0, .pid = 7, .node = 3};
  char name[] = "job", text[SFD_TEXT_SIZE];
  sftest_client_t clients[2];
  Sfproto__Control control = control_of(SFPROTO__CONTROL__ACTION__KILL);
  control.job = name;
  sftest_join_all(&daemon_, clients, "job", 2);
  ck_assert_int_eq(sfd_control_apply(daemon_.server, &root, &control, text), SF_OK);
  ck_assert_str_eq(text, "job \"job\" of 2 ranks killed");
  for (int i = 0; i < 2; i++)
    sftest_expect_alert(&clients[i], SFPROTO__ALERT__KIND__JOB_FAILED,
                        "job \"job\" was killed by sfctl kill of uid 0 (pid 7 on node 3)");
  expect_refusal(&root, &control, SF_ERR_STATE, "job \"job\" has failed already: job \"job\" was killed by");
  sftest_drop_all(clients, 2);
}

/* By its number, where no job has that name; those who are joining are told as well. */
SFTEST(jobs_are_named_in_two_ways)
{
  sftest_client_t running, joining;
  char number[32];
  sftest_join_all(&daemon_, &running, "a", 1);
  snprintf(number, sizeof number, "%llu", (unsigned long long)running.job_id);
  sftest_join(&daemon_, &joining, number, 0, 2);
  sftest_daemon_settle(&daemon_);
  Sfproto__Control control = control_of(SFPROTO__CONTROL__ACTION__KILL);
  control.job = number;
  request(&control);
  expect_controlled("of 2 ranks killed");
  sftest_expect_error(&joining, SF_ERR_RANK_FAILED, "was killed by sfctl kill of uid ");
  sftest_drop(&joining);
  sftest_daemon_settle(&daemon_);
  request(&control);
  expect_controlled("job \"a\" of 1 rank killed");
  sftest_expect_alert(&running, SFPROTO__ALERT__KIND__JOB_FAILED, "was killed");
  sftest_drop(&running);
}

SFTEST(levels_change_one_by_one)
{
  static const char *const changes[][2] = {{"debug", "debug"},
                                           {"session=warn", "debug,session=warn"},
                                           {"network=trace,session=debug", "debug,network=trace"},
                                           {"info,job=error", "info,job=error"}};
  Sfproto__Control control = control_of(SFPROTO__CONTROL__ACTION__LOG);
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    control.levels = (char *)(uintptr_t)changes[i][0];
    request(&control);
    expect_controlled(changes[i][1]);
  }
  char wrong[] = "sesion=info";
  control.levels = wrong;
  request(&control);
  sftest_expect_error(&tool, SF_ERR_ARG, "did you mean session?");
  ck_assert_int_eq(sfd_log_levels.level[SFD_LOG_JOB], SFD_ERROR);
}

SFTEST(a_daemon_with_jobs_does_not_end)
{
  sftest_client_t client;
  sftest_join_all(&daemon_, &client, "job", 1);
  Sfproto__Control control = control_of(SFPROTO__CONTROL__ACTION__SHUTDOWN);
  request(&control);
  sftest_expect_error(&tool, SF_ERR_STATE, "1 job is there: \"job\"; sfctl drain lets no new ones in");
  sftest_drop(&client);
  sftest_daemon_settle(&daemon_);
  ck_assert(!daemon_.server->ending);
}

SFTEST(what_a_later_version_wants)
{
  Sfproto__Control control = control_of((Sfproto__Control__Action)77);
  request(&control);
  sftest_expect_error(&tool, SF_ERR_UNSUPPORTED, "this sfd knows no action 77");
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  query.what = (Sfproto__Query__What)77;
  sftest_send_body(&tool, SFPROTO__MESSAGE__BODY_QUERY, &query, NULL, 0);
  sftest_expect_error(&tool, SF_ERR_UNSUPPORTED, SFD_SOFTWARE " knows no query 77");
}
