/* Registered regions: listed, and those of devices handed out and taken back. */
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/daemon_job.h"

#define SIZE 3

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static void send_add_with(sftest_client_t *client, uint64_t region, size_t handle_bytes, int fd)
{
  static uint8_t handle[1000] = "handle";
  Sfproto__RegionAdd add = SFPROTO__REGION_ADD__INIT;
  Sfproto__Message message = sftest_message(client);
  add.region = region;
  add.length = 100;
  add.has_handle = handle_bytes > 0;
  add.handle.data = handle;
  add.handle.len = handle_bytes;
  add.has_offset = true;
  add.offset = 24;
  message.body_case = SFPROTO__MESSAGE__BODY_REGION_ADD;
  message.region_add = &add;
  sftest_send(client, &message, &fd, fd >= 0);
}

static void send_add(sftest_client_t *client, uint64_t region, size_t handle_bytes)
{
  send_add_with(client, region, handle_bytes, -1);
}

static void send_removal(sftest_client_t *client, uint64_t region, bool at_once)
{
  Sfproto__RegionRemove away = SFPROTO__REGION_REMOVE__INIT;
  Sfproto__Message message = sftest_message(client);
  away.region = region;
  away.has_at_once = true;
  away.at_once = at_once;
  message.body_case = SFPROTO__MESSAGE__BODY_REGION_REMOVE;
  message.region_remove = &away;
  sftest_send(client, &message, NULL, 0);
}

static void send_remove(sftest_client_t *client, uint64_t region)
{
  send_removal(client, region, false);
}

static void send_get(sftest_client_t *client, int32_t rank, uint64_t region)
{
  Sfproto__RegionGet get = SFPROTO__REGION_GET__INIT;
  Sfproto__Message message = sftest_message(client);
  get.rank = rank;
  get.region = region;
  message.body_case = SFPROTO__MESSAGE__BODY_REGION_GET;
  message.region_get = &get;
  sftest_send(client, &message, NULL, 0);
}

static void send_closed(sftest_client_t *client, int32_t rank, uint64_t region)
{
  Sfproto__RegionClosed closed = SFPROTO__REGION_CLOSED__INIT;
  Sfproto__Message message = sftest_message(client);
  closed.rank = rank;
  closed.region = region;
  message.body_case = SFPROTO__MESSAGE__BODY_REGION_CLOSED;
  message.region_closed = &closed;
  sftest_send(client, &message, NULL, 0);
}

static void expect_region(sftest_client_t *client)
{
  sfproto_incoming_t incoming;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_REGION, &incoming);
  ck_assert_uint_eq(incoming.message->region->length, 100);
  ck_assert_uint_eq(incoming.message->region->offset, 24);
  ck_assert_uint_eq(incoming.message->region->handle.len, 96);
  ck_assert_str_eq((const char *)incoming.message->region->handle.data, "handle");
  sfproto_incoming_free(&incoming);
}

static void add(sftest_client_t *client, uint64_t region, size_t handle_bytes)
{
  send_add(client, region, handle_bytes);
  sftest_expect_done(client);
}

static void get(sftest_client_t *client, int32_t rank, uint64_t region)
{
  send_get(client, rank, region);
  expect_region(client);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

SFTEST(regions_are_listed_and_bounded)
{
  daemon_.options.max_regions = 2;
  add(&clients[0], 1, 0);
  send_add(&clients[0], 1, 0);
  sftest_expect_error(&clients[0], SF_ERR_EXISTS, "region 1");
  add(&clients[0], 2, 0);
  send_add(&clients[0], 3, 0);
  sftest_expect_error(&clients[0], SF_ERR_LIMIT, "max-regions");
  send_remove(&clients[0], 1);
  sftest_expect_done(&clients[0]);
  send_remove(&clients[0], 1);
  sftest_expect_error(&clients[0], SF_ERR_NOT_FOUND, "region 1");
}

SFTEST(bad_requests)
{
  add(&clients[0], 1, 0);
  send_get(&clients[1], 0, 1);
  sftest_expect_error(&clients[1], SF_ERR_STATE, "cannot be opened");
  send_get(&clients[1], 0, 2);
  sftest_expect_error(&clients[1], SF_ERR_NOT_FOUND, "region 2");
  send_get(&clients[1], SIZE, 1);
  sftest_expect_error(&clients[1], SF_ERR_ARG, "ranks 0 to 2");
  send_get(&clients[1], -1, 1);
  sftest_expect_error(&clients[1], SF_ERR_ARG, "rank -1");
  send_closed(&clients[1], 7, 1);
  sftest_expect_error(&clients[1], SF_ERR_ARG, "rank 7");
  send_closed(&clients[1], 0, 1); /* what it does not have */
  sftest_expect_done(&clients[1]);
  send_removal(&clients[0], 1, true);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "memory of the application, which does not last");
  send_add(&clients[0], 5, 129);
  sftest_expect_error(&clients[0], SF_ERR_ARG, "129 bytes");
}

/* Goes with the handle to all that ask, and is closed with the region. */
SFTEST(handles_with_descriptors)
{
  sfproto_incoming_t incoming;
  struct stat sent, got;
  int64_t held = daemon_.server->nheld_fds;
  int before = sftest_count_fds(), fd = memfd_create("memory", MFD_CLOEXEC);
  ck_assert_int_eq(fstat(fd, &sent), 0);
  send_add_with(&clients[0], 1, 0, fd);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, "a descriptor without a handle");
  send_add_with(&clients[0], 1, 96, fd);
  sftest_expect_done(&clients[0]);
  close(fd);
  for (int i = 0; i < 2; i++) {
    send_get(&clients[1], 0, 1);
    sftest_expect(&clients[1], SFPROTO__MESSAGE__BODY_REGION, &incoming);
    ck_assert_int_eq(incoming.nfds, 1);
    ck_assert_int_eq(fstat(incoming.fds[0], &got), 0);
    ck_assert(got.st_ino == sent.st_ino && got.st_dev == sent.st_dev);
    sfproto_incoming_free(&incoming);
  }
  ck_assert_int_eq(daemon_.server->nheld_fds, held + 1);
  send_closed(&clients[1], 0, 1);
  sftest_expect_done(&clients[1]);
  send_remove(&clients[0], 1);
  sftest_expect_done(&clients[0]);
  ck_assert_int_eq(sftest_count_fds(), before);
}

SFTEST(removal_waits_for_all_who_have_it)
{
  add(&clients[0], 1, 96);
  get(&clients[1], 0, 1);
  get(&clients[2], 0, 1);
  get(&clients[2], 0, 1); /* counts once */
  send_remove(&clients[0], 1);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__REGION_REVOKED, NULL);
  sftest_expect_alert(&clients[2], SFPROTO__ALERT__KIND__REGION_REVOKED, NULL);
  send_get(&clients[1], 0, 1);
  sftest_expect_error(&clients[1], SF_ERR_STATE, "being removed");
  send_closed(&clients[1], 0, 1);
  sftest_expect_done(&clients[1]);
  sftest_expect_nothing(&clients[0]);
  send_closed(&clients[2], 0, 1);
  sftest_expect_done(&clients[2]);
  sftest_expect_done(&clients[0]);
  add(&clients[0], 1, 96); /* the number is free again */
}

SFTEST(who_has_closed_it_is_not_waited_for)
{
  add(&clients[0], 1, 96);
  get(&clients[1], 0, 1);
  send_closed(&clients[1], 0, 1);
  sftest_expect_done(&clients[1]);
  send_remove(&clients[0], 1);
  sftest_expect_done(&clients[0]);
  sftest_expect_no_alert(&clients[1]);
}

SFTEST(who_leaves_has_closed_everything)
{
  add(&clients[0], 1, 96);
  get(&clients[1], 0, 1);
  send_remove(&clients[0], 1);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__REGION_REVOKED, NULL);
  sftest_send_goodbye(&clients[1]);
  sftest_expect_done(&clients[1]);
  sftest_expect_done(&clients[0]);
}

SFTEST(the_dead_are_not_waited_for)
{
  add(&clients[0], 1, 96);
  get(&clients[1], 0, 1);
  send_remove(&clients[0], 1);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__REGION_REVOKED, NULL);
  sftest_drop(&clients[1]);
  sftest_expect_done(&clients[0]);
}

SFTEST(memory_of_who_leaves_is_revoked)
{
  add(&clients[0], 1, 96);
  get(&clients[1], 0, 1);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_done(&clients[0]);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__REGION_REVOKED, NULL);
  send_closed(&clients[1], 0, 1);
  sftest_expect_error(&clients[1], SF_ERR_NOT_FOUND, "region 1");
}
