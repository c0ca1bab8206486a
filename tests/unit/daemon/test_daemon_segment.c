/* Memory: segments that are handed out. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "daemon/clients/credentials.h"
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_job.h"

#define SIZE 3

static void send_add_fd(sftest_client_t *client, uint64_t segment, uint64_t length, bool inbox, int fd)
{
  Sfproto__SegmentAdd add = SFPROTO__SEGMENT_ADD__INIT;
  add.segment = segment;
  add.length = length;
  add.inbox = inbox;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_SEGMENT_ADD, &add, &fd, fd >= 0 ? 1 : 0);
}

static void send_add(sftest_client_t *client, uint64_t segment, bool inbox)
{
  int fd = sftest_region(inbox ? SFSHM_REGION_INBOX : SFSHM_REGION_ALLOC, 4096);
  send_add_fd(client, segment, 4096, inbox, fd);
  close(fd);
}

static void send_remove(sftest_client_t *client, uint64_t segment)
{
  Sfproto__SegmentRemove away = SFPROTO__SEGMENT_REMOVE__INIT;
  away.segment = segment;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_SEGMENT_REMOVE, &away, NULL, 0);
}

static void send_get(sftest_client_t *client, int32_t rank, uint64_t segment)
{
  Sfproto__SegmentGet get = SFPROTO__SEGMENT_GET__INIT;
  get.rank = rank;
  get.segment = segment;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_SEGMENT_GET, &get, NULL, 0);
}

static void expect_segment(sftest_client_t *client, uint64_t length, bool inbox)
{
  sfproto_incoming_t incoming;
  struct stat info;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_SEGMENT, &incoming);
  ck_assert_uint_eq(incoming.message->segment->length, length);
  ck_assert_int_eq(incoming.message->segment->inbox, inbox);
  ck_assert_int_eq(incoming.nfds, 1);
  ck_assert_int_eq(fstat(incoming.fds[0], &info), 0);
  ck_assert_uint_eq((uint64_t)info.st_size, length);
  sfproto_incoming_free(&incoming);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

SFTEST(inbox_of_hello_can_be_had)
{
  send_get(&clients[0], 2, 0);
  expect_segment(&clients[0], SFTEST_INBOX_BYTES, true);
  send_get(&clients[2], 2, 0);
  expect_segment(&clients[2], SFTEST_INBOX_BYTES, true);
}

SFTEST(who_has_it_hears_of_its_end)
{
  send_add(&clients[0], 7, false);
  sftest_expect_done(&clients[0]);
  send_get(&clients[2], 0, 7);
  expect_segment(&clients[2], 4096, false);
  send_get(&clients[2], 0, 7);
  expect_segment(&clients[2], 4096, false);
  send_get(&clients[0], 0, 7); /* its owner needs no alert */
  expect_segment(&clients[0], 4096, false);
  send_remove(&clients[0], 7);
  sftest_expect_done(&clients[0]);
  sftest_expect_alert(&clients[2], SFPROTO__ALERT__KIND__SEGMENT_REMOVED, NULL);
  for (int r = 0; r < SIZE; r++)
    sftest_expect_no_alert(&clients[r]);
  send_get(&clients[2], 0, 7);
  sftest_expect_error(&clients[2], SF_ERR_NOT_FOUND, "rank 0 has no segment 7");
  send_add(&clients[0], 7, true); /* the number is free again */
  sftest_expect_done(&clients[0]);
}

SFTEST(bad_requests)
{
  int inbox = sftest_region(SFSHM_REGION_INBOX, 4096);
  send_add_fd(&clients[0], 1, 8192, true, inbox);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "4096 bytes, not 8192");
  send_add_fd(&clients[0], 1, 4096, false, inbox);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, "alloc region");
  close(inbox);
  send_add(&clients[0], 0, true);
  sftest_expect_error(&clients[0], SF_ERR_EXISTS, "segment 0");
  send_remove(&clients[0], 5);
  sftest_expect_error(&clients[0], SF_ERR_NOT_FOUND, "segment 5");
  send_get(&clients[0], SIZE, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "rank 3");
  send_get(&clients[0], -1, 0);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "rank -1");
  send_add(&clients[0], 1, true); /* the connection is as good as before */
  sftest_expect_done(&clients[0]);
}

SFTEST(descriptor_is_missing)
{
  send_add_fd(&clients[0], 1, 4096, true, -1);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, "SegmentAdd with 0 descriptors");
  sftest_expect_closed(&clients[0]);
}

SFTEST(number_of_segments_is_bounded)
{
  daemon_.options.max_segments = 3;
  for (uint64_t s = 1; s < 3; s++) {
    send_add(&clients[0], s, false);
    sftest_expect_done(&clients[0]);
  }
  send_add(&clients[0], 3, false);
  sftest_expect_error(&clients[0], SF_ERR_LIMIT, "max-segments");
  send_remove(&clients[0], 1);
  sftest_expect_done(&clients[0]);
  send_add(&clients[0], 3, false);
  sftest_expect_done(&clients[0]);
}

SFTEST(descriptors_are_bounded)
{
  daemon_.server->max_held_fds = 9; /* 6 of them for one job, which has 3 inboxes */
  for (uint64_t s = 1; s <= 3; s++) {
    send_add(&clients[0], s, false);
    sftest_expect_done(&clients[0]);
  }
  send_add(&clients[1], 1, false);
  sftest_expect_error(&clients[1], SF_ERR_LIMIT, "keeps 6 descriptors for job \"job\"");
  sftest_client_t other;
  sftest_join_all(&daemon_, &other, "other", 1);
  send_remove(&clients[0], 3);
  sftest_expect_done(&clients[0]);
  send_add(&clients[1], 1, false);
  sftest_expect_done(&clients[1]);
  sftest_drop(&other);
}

/* As of root's daemon: a user's jobs leave something to those of others. */
SFTEST(users_have_shares_of_the_descriptors)
{
  sfd_job_t *job;
  sftest_client_t other;
  daemon_.server->uid = 0;
  daemon_.server->max_held_fds = 9;
  sftest_join_all(&daemon_, &other, "other", 1);
  TAILQ_FOREACH (job, &daemon_.server->jobs->list, entry)
    job->uid = 1000;
  for (uint64_t s = 1; s <= 3; s++) {
    send_add(&clients[0], s, false);
    sftest_expect_done(&clients[0]);
  }
  send_add(&other, 1, false);
  sftest_expect_error(&other, SF_ERR_LIMIT, "7 descriptors for jobs of uid 1000 and 7 in all, out of at most 9");
  TAILQ_LAST(&daemon_.server->jobs->list, sfd_job_list)->uid = 1001;
  send_add(&other, 1, false);
  sftest_expect_done(&other);
  sftest_drop(&other);
}

/* Duplicates that wait in the daemon are no way around the bound. */
SFTEST(descriptors_that_are_not_read_are_bounded)
{
  int before = sftest_count_fds();
  for (int i = 0; i < 10000 && daemon_.server->statistics.jobs_failed == 0; i++) {
    send_get(&clients[0], 0, 0);
    sftest_daemon_settle(&daemon_);
    ck_assert_int_lt(sftest_count_fds(), before + 1000);
  }
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, "descriptors are waiting");
}

SFTEST(who_leaves_takes_memory_along_but_not_its_inboxes)
{
  send_add(&clients[0], 1, false);
  sftest_expect_done(&clients[0]);
  send_get(&clients[1], 0, 1);
  expect_segment(&clients[1], 4096, false);
  send_get(&clients[1], 0, 0);
  expect_segment(&clients[1], SFTEST_INBOX_BYTES, true);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_done(&clients[0]);
  sftest_drop(&clients[0]);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__SEGMENT_REMOVED, NULL);
  sftest_expect_no_alert(&clients[1]);
  send_get(&clients[2], 0, 0);
  expect_segment(&clients[2], SFTEST_INBOX_BYTES, true);
  send_get(&clients[2], 0, 1);
  sftest_expect_error(&clients[2], SF_ERR_NOT_FOUND, "segment 1");
}

SFTEST(memory_of_the_dead_is_given_back)
{
  send_add(&clients[0], 1, false);
  sftest_expect_done(&clients[0]);
  int before = sftest_count_fds();
  sftest_drop(&clients[0]);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, "rank 0");
  sftest_daemon_settle(&daemon_);
  /* 2 here; there: 2 sockets, inbox, segment, and a pidfd where there are any. Only the counters stay, for sfctl. */
  int after = sftest_count_fds(), pidfd = sfd_credentials_pidfd(getpid());
  ck_assert_int_eq(before - after, pidfd >= 0 ? 7 : 6);
  if (pidfd >= 0)
    close(pidfd);
  send_get(&clients[1], 0, 0);
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 0");
}

/* ---- How many descriptors a daemon keeps ---- */

static bool few_mappings;

/* As if the kernel allowed a process 1000 mappings; needs root. */
static void allow_few_mappings(void)
{
  char path[] = "/tmp/sftest-XXXXXX";
  int fd = mkstemp(path);
  ck_assert_int_eq(write(fd, "1000\n", 5), 5);
  close(fd);
  few_mappings = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                 mount(path, "/proc/sys/vm/max_map_count", NULL, MS_BIND, NULL) == 0;
  unlink(path);
}

SFTEST_FIXTURE(allow_few_mappings, NULL);
SFTEST_CASE(sftest_daemon_for_case(tests));

/* A client's memory may be mapped, and the daemon needs mappings for itself. */
SFTEST(half_of_the_mappings_are_left)
{
  if (few_mappings)
    ck_assert_int_eq(daemon_.server->max_held_fds, 500);
  else
    printf("part skipped: how many mappings there may be can't be changed here\n");
}
