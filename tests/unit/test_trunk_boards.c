/* Trunk boards: that they do not overlap, come zeroed, and serve one graph after another. */
#include <string.h>
#include <unistd.h>

#include "daemon/trunk_boards.h"
#include "tests/unit/runner.h"

#define MAX_BOARDS 200

static sfd_server_t server;
static sfd_job_t job;
static sfd_trunk_board_t boards[MAX_BOARDS];
static uint32_t nsides[MAX_BOARDS];

static void setup(void)
{
  server = (sfd_server_t){.max_held_fds = INT32_MAX};
  job = (sfd_job_t){.server = &server};
  memset(boards, 0, sizeof boards);
}

static void teardown(void)
{
  for (int i = 0; i < MAX_BOARDS; i++)
    sfd_trunk_board_give(&boards[i]);
  sfd_trunk_boards_let_go(job.trunk_boards);
  ck_assert_int_eq(server.nheld_fds, 0);
}

/* Whether all bytes of the board have that value. */
static bool is_filled(int i, char value)
{
  const char *byte = (const char *)boards[i].memory;
  bool filled = true;
  for (size_t b = 0; b < sfshm_trunk_board_bytes(nsides[i]); b++)
    filled &= byte[b] == value;
  return filled;
}

/* Takes board i, which has to be zeroed, and fills it with a value of its own. */
static void take(int i, uint32_t sides)
{
  nsides[i] = sides;
  ck_assert_int_eq(sfd_trunk_board_take(&job, sides, &boards[i]), SF_OK);
  ck_assert(is_filled(i, 0));
  memset(boards[i].memory, i % 100 + 1, sfshm_trunk_board_bytes(sides));
}

static void expect_whole(int i)
{
  ck_assert(is_filled(i, (char)(i % 100 + 1)));
}

START_TEST(boards_do_not_overlap)
{
  for (int i = 0; i < MAX_BOARDS; i++)
    take(i, (uint32_t)(i * 7 % 100) + 1);
  for (int i = 0; i < MAX_BOARDS; i++)
    expect_whole(i);
  for (int i = 0; i < MAX_BOARDS; i += 3)
    sfd_trunk_board_give(&boards[i]);
  for (int i = 0; i < MAX_BOARDS; i += 3)
    take(i, (uint32_t)(i * 11 % 100) + 1);
  for (int i = 0; i < MAX_BOARDS; i++)
    expect_whole(i);
}
END_TEST

/* Small ones, and ones that need a region each. */
START_TEST(memory_serves_again)
{
  static const uint32_t sides[] = {2, 62, 200, 1000};
  for (int i = 0; i < 4; i++)
    take(i, sides[i]);
  uint64_t last = server.last_serial;
  for (int round = 0; round < 10; round++)
    for (int i = 0; i < 4; i++) {
      sfd_trunk_board_give(&boards[i]);
      take(i, sides[i]);
    }
  ck_assert_uint_eq(server.last_serial, last); /* no further region */
}
END_TEST

START_TEST(place_is_told)
{
  take(0, 2);
  take(1, 2);
  ck_assert_uint_eq(sfd_trunk_board_region(&boards[0]), sfd_trunk_board_region(&boards[1]));
  ck_assert_uint_ge(sfd_trunk_board_offset(&boards[0]), sizeof(sfshm_region_header_t));
  ck_assert_uint_ge(sfd_trunk_board_offset(&boards[1]),
                    sfd_trunk_board_offset(&boards[0]) + sfshm_trunk_board_bytes(2));
  ck_assert_uint_eq(sfd_trunk_board_offset(&boards[1]) % (uint64_t)sysconf(_SC_PAGESIZE), 0);
  ck_assert_int_ge(sfd_trunk_board_fd(&boards[0]), 0);
}
END_TEST

/* Messages of a graph may still be under way when its job ends. */
START_TEST(boards_outlive_the_job)
{
  take(0, 2);
  sfd_trunk_boards_let_go(job.trunk_boards);
  job.trunk_boards = NULL;
  expect_whole(0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("trunk_boards");
  TCase *tc = tcase_create("boards");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, boards_do_not_overlap);
  tcase_add_test(tc, memory_serves_again);
  tcase_add_test(tc, place_is_told);
  tcase_add_test(tc, boards_outlive_the_job);
  suite_add_tcase(suite, tc);
  return sftest_run(suite);
}
