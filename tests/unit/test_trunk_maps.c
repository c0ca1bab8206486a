/* Regions of trunk maps: that they serve one map after another, on both sides, and do not pile up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/trunk_maps.h"
#include "daemon/trunk_maps.h"
#include "shm/trunk.h"
#include "tests/unit/runner.h"

#define LENGTH 100000

static sfd_server_t server;
static sfd_job_t job;
static sfc_trunk_maps_t mapped;

/* A map of the daemon's, and what is known of it. */
typedef struct map {
  sfd_trunk_maps_t *maps;
  sfshm_region_t region;
  char value;
  size_t length;
} map_t;

static void setup(void)
{
  server = (sfd_server_t){.max_held_fds = INT32_MAX};
  job = (sfd_job_t){.server = &server};
  sfc_trunk_maps_init(&mapped);
}

static void teardown(void)
{
  sfc_trunk_maps_destroy(&mapped);
  sfd_trunk_maps_let_go(job.trunk_maps);
  ck_assert_int_eq(server.nheld_fds, 0);
}

/* All bytes behind the header have the value. */
static map_t take(size_t length, char value)
{
  map_t map = {.value = value, .length = length};
  char *content = malloc(length);
  memset(content, value, length);
  const sfshm_region_piece_t piece = {0, content, length};
  ck_assert_int_eq(sfd_trunk_map_take(&job, &piece, 1, length, &map.maps, &map.region), SF_OK);
  free(content);
  return map;
}

static void give(map_t *map)
{
  sfd_trunk_map_give(map->maps, &map->region);
}

static sfc_trunk_map_t *expect_mapped(const map_t *map)
{
  sfc_trunk_map_t *seen;
  ck_assert_int_eq(sfc_trunk_map_take(&mapped, map->region.fd, &seen), SF_OK);
  const char *bytes = sfc_trunk_map_region(seen)->base;
  size_t end = sizeof(sfshm_region_header_t);
  while (end < map->length && bytes[end] == map->value)
    end++;
  ck_assert_uint_eq(end, map->length);
  return seen;
}

static size_t count_mapped(void)
{
  size_t n = 0;
  char line[512];
  FILE *file = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, file) != NULL)
    n += strstr(line, "sf-trunks") != NULL;
  fclose(file);
  return n;
}

START_TEST(a_region_that_was_given_back_serves_the_next_map)
{
  map_t first = take(LENGTH, 'a');
  sfc_trunk_map_t *seen = expect_mapped(&first);
  const void *base = sfc_trunk_map_region(seen)->base;
  for (int round = 0; round < 10; round++) {
    sfc_trunk_map_give(&mapped, seen);
    void *daemon_base = first.region.base;
    give(&first);
    first = take(LENGTH + (size_t)round * 100, (char)('b' + round));
    ck_assert_ptr_eq(first.region.base, daemon_base);
    seen = expect_mapped(&first);
    ck_assert_ptr_eq(sfc_trunk_map_region(seen)->base, base);
  }
  ck_assert_uint_eq(count_mapped(), 2);
  sfc_trunk_map_give(&mapped, seen);
  give(&first);
}
END_TEST

START_TEST(maps_in_use_have_regions_of_their_own)
{
  map_t maps[5];
  sfc_trunk_map_t *seen[5];
  for (int i = 0; i < 5; i++) {
    maps[i] = take(LENGTH, (char)('a' + i));
    seen[i] = expect_mapped(&maps[i]);
  }
  for (int i = 0; i < 5; i++) {
    sfc_trunk_map_t *again = expect_mapped(&maps[i]);
    ck_assert_ptr_eq(again, seen[i]);
    sfc_trunk_map_give(&mapped, again);
  }
  for (int i = 0; i < 5; i++) {
    sfc_trunk_map_give(&mapped, seen[i]);
    give(&maps[i]);
  }
  ck_assert_uint_eq(count_mapped(), 2 * SFSHM_TRUNK_MAPS_IDLE);
}
END_TEST

/* A rank may keep its plan of a graph, which it has no use for, longer than the daemon does. */
START_TEST(a_region_can_serve_while_ranks_still_have_it_mapped_for_an_earlier_map)
{
  map_t map = take(LENGTH, 'a');
  sfc_trunk_map_t *stale = expect_mapped(&map);
  give(&map);
  map = take(LENGTH, 'b');
  sfc_trunk_map_t *seen = expect_mapped(&map);
  ck_assert_ptr_eq(seen, stale);
  sfc_trunk_map_give(&mapped, stale);
  sfc_trunk_map_give(&mapped, expect_mapped(&map));
  sfc_trunk_map_give(&mapped, seen);
  give(&map);
}
END_TEST

START_TEST(short_maps_do_not_take_long_regions_and_long_ones_are_not_kept)
{
  map_t longer = take(LENGTH, 'a'), longest = take(SFSHM_TRUNK_MAPS_IDLE_BYTES + 1, 'b');
  const void *base = longer.region.base;
  sfc_trunk_map_give(&mapped, expect_mapped(&longest));
  ck_assert_uint_eq(count_mapped(), 2);
  give(&longer);
  give(&longest);
  ck_assert_uint_eq(count_mapped(), 1);
  map_t shorter = take(LENGTH / 4, 'c');
  ck_assert_ptr_ne(shorter.region.base, base);
  longer = take(LENGTH, 'd');
  ck_assert_ptr_eq(longer.region.base, base);
  give(&shorter);
  give(&longer);
}
END_TEST

/* As when messages of a graph are still under way. */
START_TEST(a_map_may_outlive_its_job)
{
  map_t map = take(LENGTH, 'a');
  sfd_trunk_maps_let_go(job.trunk_maps);
  job.trunk_maps = NULL;
  sfc_trunk_map_give(&mapped, expect_mapped(&map));
  give(&map);
}
END_TEST

static Suite *trunk_maps_suite(void)
{
  Suite *suite = suite_create("trunk maps");
  TCase *tcase = tcase_create("trunk maps");
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, a_region_that_was_given_back_serves_the_next_map);
  tcase_add_test(tcase, maps_in_use_have_regions_of_their_own);
  tcase_add_test(tcase, a_region_can_serve_while_ranks_still_have_it_mapped_for_an_earlier_map);
  tcase_add_test(tcase, short_maps_do_not_take_long_regions_and_long_ones_are_not_kept);
  tcase_add_test(tcase, a_map_may_outlive_its_job);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  return sftest_run(trunk_maps_suite());
}
