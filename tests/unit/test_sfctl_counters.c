/* Reading a rank's counters, also those of a rank that writes nonsense. */
#include "proto/report/counters.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shm/error.h"
#include "tests/unit/runner.h"

static sfshm_region_t region;
static sfreport_rank_counts_t counts;

static sfshm_counters_t *make_region(size_t length_bytes)
{
  ck_assert_int_eq(sfshm_region_create("counters", SFSHM_REGION_COUNTERS, length_bytes, SFSHM_SEAL_FUTURE_WRITE,
                                       SFSHM_COMMIT_ALL, &region),
                   SF_OK);
  return region.base;
}

static void teardown(void)
{
  sfshm_region_destroy(&region);
}

START_TEST(sums)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  shared->total.bcasts = 10;
  shared->total.bytes_slots = 1000;
  shared->sleeps = 7;
  shared->graphs[0].graph = 5;
  shared->graphs[0].counts.bcasts = 1;
  shared->graphs[0].counts.bytes_slots = 24;
  shared->graphs[1].counts.bcasts = 99; /* of a free entry */
  shared->graphs[SFSHM_COUNTED_GRAPHS - 1].graph = 6;
  shared->graphs[SFSHM_COUNTED_GRAPHS - 1].counts.reduces = 2;
  ck_assert_int_eq(sfreport_counters_read(region.fd, &counts), SF_OK);
  ck_assert_uint_eq(counts.total.bcasts, 11);
  ck_assert_uint_eq(counts.total.reduces, 2);
  ck_assert_uint_eq(counts.total.bytes_slots, 1024);
  ck_assert_uint_eq(counts.sleeps, 7);
  ck_assert_int_eq(counts.ngraphs, 2);
  ck_assert_uint_eq(counts.graphs[0].graph, 5);
  ck_assert_uint_eq(counts.graphs[0].counts.bytes_slots, 24);
  ck_assert_uint_eq(counts.graphs[1].graph, 6);
}
END_TEST

START_TEST(nonsense)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  memset((char *)shared + sizeof shared->header, 0xff, sizeof *shared - sizeof shared->header);
  ck_assert_int_eq(sfreport_counters_read(region.fd, &counts), SF_OK);
  ck_assert_int_eq(counts.ngraphs, SFSHM_COUNTED_GRAPHS);
  ck_assert_uint_eq(counts.total.bcasts, (uint64_t)0 - (SFSHM_COUNTED_GRAPHS + 1)); /* wrapped */
}
END_TEST

static void expect_refused(int fd, sf_status_t expected, const char *text)
{
  ck_assert_int_eq(sfreport_counters_read(fd, &counts), expected);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\" is not in \"%s\"", text, sfshm_error_detail());
}

START_TEST(too_short)
{
  make_region(sizeof(sfshm_region_header_t));
  expect_refused(region.fd, SF_ERR_PROTO, "bytes expected");
}
END_TEST

START_TEST(another_version)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  shared->header.version = SFSHM_LAYOUT_VERSION + 1;
  expect_refused(region.fd, SF_ERR_VERSION, "layout version");
}
END_TEST

START_TEST(not_a_region)
{
  int ends[2];
  make_region(sizeof(sfshm_counters_t));
  ck_assert_int_eq(pipe(ends), 0);
  expect_refused(ends[0], SF_ERR_PROTO, "no memfd");
  close(ends[0]);
  close(ends[1]);
  int unsealed = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_eq(ftruncate(unsealed, sizeof(sfshm_counters_t)), 0);
  expect_refused(unsealed, SF_ERR_PROTO, "seals");
  close(unsealed);
}
END_TEST

START_TEST(merging_ranks_of_a_graph)
{
  sfreport_counts_t sum = {.bcasts = 99};
  const sfreport_counts_t a = {.bcasts = 5, .reduces = 2, .completed = 7, .bytes_inline = 8, .messages_sent = 7};
  const sfreport_counts_t b = {.bcasts = 6, .reduces = 2, .completed = 6, .bytes_inline = 16, .messages_sent = 8};
  sfreport_counts_merge(&sum, &a, true);
  ck_assert_mem_eq(&sum, &a, sizeof sum);
  sfreport_counts_merge(&sum, &b, false);
  ck_assert_uint_eq(sum.bcasts, 6);
  ck_assert_uint_eq(sum.reduces, 2);
  ck_assert_uint_eq(sum.completed, 6);
  ck_assert_uint_eq(sum.bytes_inline, 24);
  ck_assert_uint_eq(sum.messages_sent, 15);
}
END_TEST

START_TEST(sent_bytes)
{
  const sfreport_counts_t each = {.bytes_inline = 1,
                                  .bytes_slots = 10,
                                  .bytes_in_place = 100,
                                  .bytes_vm_read = 1000,
                                  .bytes_self = 10000,
                                  .bytes_received = 100000};
  ck_assert_uint_eq(sfreport_counts_sent_bytes(&each), 1111);
}
END_TEST

static Suite *suite(void)
{
  Suite *s = suite_create("sfctl: counters");
  TCase *tc = tcase_create("counters");
  tcase_add_checked_fixture(tc, NULL, teardown);
  tcase_add_test(tc, sums);
  tcase_add_test(tc, nonsense);
  tcase_add_test(tc, too_short);
  tcase_add_test(tc, another_version);
  tcase_add_test(tc, not_a_region);
  tcase_add_test(tc, merging_ranks_of_a_graph);
  tcase_add_test(tc, sent_bytes);
  suite_add_tcase(s, tc);
  return s;
}

int main(void)
{
  return sftest_run(suite());
}
