/* Groups: matching by list, tag and order; leaving and destroying. */
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_job.h"

#define SIZE 4

static void send_destroy(sftest_client_t *client, uint64_t group)
{
  Sfproto__GroupDestroy destroy = SFPROTO__GROUP_DESTROY__INIT;
  destroy.group = group;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GROUP_DESTROY, &destroy, NULL, 0);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

SFTEST(members_get_the_same_new_id)
{
  static const int32_t ranks[] = {3, 0, 2};
  sftest_send_group_create(&clients[0], ranks, 3, 7);
  sftest_send_group_create(&clients[2], ranks, 3, 7);
  sftest_expect_nothing(&clients[0]);
  sftest_send_group_create(&clients[3], ranks, 3, 7);
  uint64_t id = sftest_expect_group(&clients[3]);
  ck_assert_uint_gt(id, clients[0].job_id);
  ck_assert_uint_eq(sftest_expect_group(&clients[0]), id);
  ck_assert_uint_eq(sftest_expect_group(&clients[2]), id);
  sftest_expect_nothing(&clients[1]);
}

SFTEST(tag_and_order_of_the_list_matter)
{
  static const int32_t ranks[] = {0, 1}, reverse[] = {1, 0};
  sftest_send_group_create(&clients[0], ranks, 2, 1);
  sftest_send_group_create(&clients[1], ranks, 2, 2);
  sftest_expect_nothing(&clients[0]);
  sftest_send_group_create(&clients[1], reverse, 2, 1);
  sftest_expect_nothing(&clients[0]);
  sftest_send_group_create(&clients[1], ranks, 2, 1);
  ck_assert_uint_eq(sftest_expect_group(&clients[0]), sftest_expect_group(&clients[1]));
}

SFTEST(equal_requests_are_matched_by_order)
{
  static const int32_t ranks[] = {0, 1};
  for (int i = 0; i < 3; i++)
    sftest_send_group_create(&clients[0], ranks, 2, 0);
  uint64_t before = 0;
  for (int i = 0; i < 3; i++) {
    sftest_send_group_create(&clients[1], ranks, 2, 0);
    sfproto_incoming_t incoming;
    sftest_receive(&clients[0], &incoming);
    ck_assert_int_eq(incoming.message->body_case, SFPROTO__MESSAGE__BODY_GROUP);
    ck_assert_uint_eq(incoming.message->request, clients[0].last_request - 2 + (uint64_t)i);
    uint64_t id = incoming.message->group->group;
    sfproto_incoming_free(&incoming);
    ck_assert_uint_eq(id, sftest_expect_group(&clients[1]));
    ck_assert_uint_gt(id, before);
    before = id;
  }
}

SFTEST(group_of_one)
{
  static const int32_t self[] = {2};
  sftest_send_group_create(&clients[2], self, 1, 0);
  ck_assert_uint_ne(sftest_expect_group(&clients[2]), 0);
}

SFTEST(bad_lists_are_refused)
{
  static const int32_t out_of_range[] = {0, SIZE}, negative[] = {0, -1}, twice[] = {0, 1, 0}, without[] = {1, 2};
  static const int32_t long_list[] = {0, 1, 2, 3, 0};
  sftest_send_group_create(&clients[0], out_of_range, 2, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "member 1 of the group is rank 4");
  sftest_send_group_create(&clients[0], negative, 2, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "rank -1");
  sftest_send_group_create(&clients[0], twice, 3, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "twice");
  sftest_send_group_create(&clients[0], without, 2, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "rank 0 is not in the list");
  sftest_send_group_create(&clients[0], NULL, 0, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "group of 0 ranks");
  sftest_send_group_create(&clients[0], long_list, 5, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "group of 5 ranks in a job of 4");
}

SFTEST(death_answers_all_who_wait)
{
  static const int32_t ranks[] = {0, 1, 2, 3}, pair[] = {1, 2};
  sftest_send_group_create(&clients[0], ranks, 4, 0);
  sftest_send_group_create(&clients[1], pair, 2, 0); /* does not need the one that dies, but its job does */
  sftest_daemon_settle(&daemon_);
  sftest_drop(&clients[3]);
  sftest_expect_error(&clients[0], SF_ERR_RANK_FAILED, "died without sf_finalize");
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 3 (pid");
  for (int r = 0; r < 3; r++)
    sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__JOB_FAILED, "rank 3 (pid");
  sftest_send_group_create(&clients[2], pair, 2, 0);
  sftest_expect_error(&clients[2], SF_ERR_RANK_FAILED, "rank 3 (pid");
}

SFTEST(goodbye_answers_all_who_wait_for_it)
{
  static const int32_t ranks[] = {0, 3}, others[] = {1, 2};
  sftest_send_group_create(&clients[0], ranks, 2, 0);
  sftest_send_group_create(&clients[1], others, 2, 0);
  sftest_send_goodbye(&clients[3]);
  sftest_expect_done(&clients[3]);
  sftest_expect_error(&clients[0], SF_ERR_STATE, "rank 3 (pid");
  sftest_send_group_create(&clients[0], ranks, 2, 0);
  sftest_expect_error(&clients[0], SF_ERR_STATE, "has left");
  sftest_expect_nothing(&clients[1]);
  sftest_send_group_create(&clients[2], others, 2, 0);
  ck_assert_uint_eq(sftest_expect_group(&clients[1]), sftest_expect_group(&clients[2]));
  sftest_expect_no_alert(&clients[0]);
}

SFTEST(goodbye_with_a_request_pending_is_refused)
{
  static const int32_t ranks[] = {0, 1};
  sftest_send_group_create(&clients[0], ranks, 2, 0);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_error(&clients[0], SF_ERR_STATE, "1 requests of this rank are waiting");
  sftest_send_group_create(&clients[1], ranks, 2, 0);
  sftest_expect_group(&clients[1]);
  sfproto_incoming_t incoming;
  sftest_receive(&clients[0], &incoming);
  ck_assert_int_eq(incoming.message->body_case, SFPROTO__MESSAGE__BODY_GROUP);
  sfproto_incoming_free(&incoming);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_done(&clients[0]);
}

SFTEST(pending_requests_are_bounded)
{
  static const int32_t ranks[] = {0, 1};
  for (int i = 0; i < SFD_MAX_PENDING; i++)
    sftest_send_group_create(&clients[0], ranks, 2, i);
  sftest_expect_nothing(&clients[0]);
  sftest_send_group_create(&clients[0], ranks, 2, SFD_MAX_PENDING);
  sftest_expect_error(&clients[0], SF_ERR_LIMIT, "1024 requests");
}

SFTEST(destroying)
{
  static const int32_t ranks[] = {0, 1};
  sftest_send_group_create(&clients[0], ranks, 2, 0);
  sftest_send_group_create(&clients[1], ranks, 2, 0);
  uint64_t id = sftest_expect_group(&clients[0]);
  sftest_expect_group(&clients[1]);
  int32_t before = TAILQ_FIRST(&daemon_.server->jobs->list)->ngroups;
  send_destroy(&clients[0], id);
  sftest_expect_done(&clients[0]);
  send_destroy(&clients[0], id);
  sftest_expect_error(&clients[0], SF_ERR_NOT_FOUND, "no group");
  send_destroy(&clients[2], id);
  sftest_expect_error(&clients[2], SF_ERR_NOT_FOUND, "no group");
  send_destroy(&clients[1], id);
  sftest_expect_done(&clients[1]);
  ck_assert_int_eq(TAILQ_FIRST(&daemon_.server->jobs->list)->ngroups, before - 1);
  send_destroy(&clients[0], clients[0].job_id);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "group of all ranks");
}

SFTEST(all_leave)
{
  static const int32_t ranks[] = {0, 1};
  sftest_send_group_create(&clients[0], ranks, 2, 0);
  sftest_send_group_create(&clients[1], ranks, 2, 0);
  sftest_expect_group(&clients[0]);
  sftest_expect_group(&clients[1]);
  for (int r = 0; r < SIZE; r++) {
    sftest_send_goodbye(&clients[r]);
    sftest_expect_done(&clients[r]);
  }
  ck_assert_int_eq(TAILQ_FIRST(&daemon_.server->jobs->list)->ngroups, 0);
  ck_assert_uint_eq(daemon_.server->statistics.jobs_failed, 0);
}
