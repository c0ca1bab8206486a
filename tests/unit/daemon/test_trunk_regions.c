/* Regions of trunk maps and boards: that they serve one graph after another, on both sides, and do not pile up; that
 * boards do not overlap, and come zeroed. */
#include "client/core/trunk_regions.h"
#include "daemon/data/trunk_regions.h"
#include "shm/trunk/trunk.h"
#include "tests/unit/runner.h"

#define LENGTH 100000
#define MAX_BOARDS 200

static sfd_server_t server;
static sfd_job_t job;
static sfc_trunk_regions_t mapped;
static sfd_trunk_memory_t boards[MAX_BOARDS];
static uint32_t nsides[MAX_BOARDS];

/* A map of the daemon's, and what is known of it. */
typedef struct map {
  sfd_trunk_memory_t memory;
  char value;
  size_t length;
} map_t;

static void setup(void)
{
  server = (sfd_server_t){.max_held_fds = INT32_MAX};
  job = (sfd_job_t){.server = &server};
  sfc_trunk_regions_init(&mapped);
  memset(boards, 0, sizeof boards);
}

static void teardown(void)
{
  sfc_trunk_regions_destroy(&mapped);
  for (int i = 0; i < MAX_BOARDS; i++)
    sfd_trunk_regions_give(&boards[i]);
  sfd_trunk_regions_release(job.trunk_regions);
  ck_assert_int_eq(server.nheld_fds, 0);
}

SFTEST_FIXTURE(setup, teardown);

/* All bytes behind the header have the value. */
static map_t take(size_t length, char value)
{
  map_t map = {.value = value, .length = length};
  char *content = malloc(length);
  memset(content, value, length);
  const sfshm_region_piece_t piece = {0, content, length};
  ck_assert_int_eq(sfd_trunk_regions_take_map(&job, &piece, 1, length, &map.memory), SF_OK);
  free(content);
  return map;
}

static void give(map_t *map)
{
  sfd_trunk_regions_give(&map->memory);
}

static sfc_trunk_region_t *expect_mapped(const map_t *map)
{
  sfc_trunk_region_t *seen;
  ck_assert_int_eq(sfc_trunk_regions_take_map(&mapped, sfd_trunk_memory_fd(&map->memory), &seen), SF_OK);
  const char *bytes = sfc_trunk_region(seen)->base;
  size_t end = sizeof(sfshm_region_header_t);
  while (end < map->length && bytes[end] == map->value)
    end++;
  ck_assert_uint_eq(end, map->length);
  return seen;
}

static size_t count_mapped(const char *name)
{
  size_t n = 0;
  char line[512];
  FILE *file = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, file) != NULL)
    n += strstr(line, name) != NULL;
  fclose(file);
  return n;
}

SFTEST(a_region_that_was_given_back_serves_the_next_map)
{
  map_t first = take(LENGTH, 'a');
  sfc_trunk_region_t *seen = expect_mapped(&first);
  const void *base = sfc_trunk_region(seen)->base;
  for (int round = 0; round < 10; round++) {
    sfc_trunk_regions_give(&mapped, seen);
    void *daemon_base = first.memory.base;
    give(&first);
    first = take(LENGTH + (size_t)round * 100, (char)('b' + round));
    ck_assert_ptr_eq(first.memory.base, daemon_base);
    seen = expect_mapped(&first);
    ck_assert_ptr_eq(sfc_trunk_region(seen)->base, base);
  }
  ck_assert_uint_eq(count_mapped("sf-trunks"), 2);
  sfc_trunk_regions_give(&mapped, seen);
  give(&first);
}

SFTEST(maps_in_use_have_regions_of_their_own)
{
  map_t maps[5];
  sfc_trunk_region_t *seen[5];
  for (int i = 0; i < 5; i++) {
    maps[i] = take(LENGTH, (char)('a' + i));
    seen[i] = expect_mapped(&maps[i]);
  }
  for (int i = 0; i < 5; i++) {
    sfc_trunk_region_t *again = expect_mapped(&maps[i]);
    ck_assert_ptr_eq(again, seen[i]);
    sfc_trunk_regions_give(&mapped, again);
  }
  for (int i = 0; i < 5; i++) {
    sfc_trunk_regions_give(&mapped, seen[i]);
    give(&maps[i]);
  }
  ck_assert_uint_eq(count_mapped("sf-trunks"), 2 * SFSHM_TRUNK_IDLE);
}

/* A rank may keep its plan of a graph, which it has no use for, longer than the daemon does. */
SFTEST(a_region_can_serve_while_ranks_still_have_it_mapped_for_an_earlier_map)
{
  map_t map = take(LENGTH, 'a');
  sfc_trunk_region_t *stale = expect_mapped(&map);
  give(&map);
  map = take(LENGTH, 'b');
  sfc_trunk_region_t *seen = expect_mapped(&map);
  ck_assert_ptr_eq(seen, stale);
  sfc_trunk_regions_give(&mapped, stale);
  sfc_trunk_regions_give(&mapped, expect_mapped(&map));
  sfc_trunk_regions_give(&mapped, seen);
  give(&map);
}

SFTEST(short_maps_do_not_take_long_regions_and_long_ones_are_not_kept)
{
  map_t longer = take(LENGTH, 'a'), longest = take(SFSHM_TRUNK_IDLE_BYTES + 1, 'b');
  const void *base = longer.memory.base;
  sfc_trunk_regions_give(&mapped, expect_mapped(&longest));
  ck_assert_uint_eq(count_mapped("sf-trunks"), 2);
  give(&longer);
  give(&longest);
  ck_assert_uint_eq(count_mapped("sf-trunks"), 1);
  map_t shorter = take(LENGTH / 4, 'c');
  ck_assert_ptr_ne(shorter.memory.base, base);
  longer = take(LENGTH, 'd');
  ck_assert_ptr_eq(longer.memory.base, base);
  give(&shorter);
  give(&longer);
}

/* As when messages of a graph are still under way. */
SFTEST(a_map_may_outlive_its_job)
{
  map_t map = take(LENGTH, 'a');
  sfd_trunk_regions_release(job.trunk_regions);
  job.trunk_regions = NULL;
  sfc_trunk_regions_give(&mapped, expect_mapped(&map));
  give(&map);
}

/* Whether all bytes of the board have that value. */
static bool is_filled(int i, char value)
{
  const char *byte = (const char *)boards[i].base;
  bool filled = true;
  for (size_t b = 0; b < sfshm_trunk_board_bytes(nsides[i]); b++)
    filled &= byte[b] == value;
  return filled;
}

/* Takes board i, which has to be zeroed, and fills it with a value of its own. */
static void take_board(int i, uint32_t sides)
{
  nsides[i] = sides;
  ck_assert_int_eq(sfd_trunk_regions_take_board(&job, sfshm_trunk_board_bytes(sides), &boards[i]), SF_OK);
  ck_assert(is_filled(i, 0));
  memset(boards[i].base, i % 100 + 1, sfshm_trunk_board_bytes(sides));
}

static void expect_whole(int i)
{
  ck_assert(is_filled(i, (char)(i % 100 + 1)));
}

SFTEST(boards_do_not_overlap)
{
  for (int i = 0; i < MAX_BOARDS; i++)
    take_board(i, (uint32_t)(i * 7 % 100) + 1);
  for (int i = 0; i < MAX_BOARDS; i++)
    expect_whole(i);
  for (int i = 0; i < MAX_BOARDS; i += 3)
    sfd_trunk_regions_give(&boards[i]);
  for (int i = 0; i < MAX_BOARDS; i += 3)
    take_board(i, (uint32_t)(i * 11 % 100) + 1);
  for (int i = 0; i < MAX_BOARDS; i++)
    expect_whole(i);
}

/* Small ones, and ones that need a region each. */
SFTEST(memory_of_boards_serves_again)
{
  static const uint32_t sides[] = {2, 62, 200, 1000};
  for (int i = 0; i < 4; i++)
    take_board(i, sides[i]);
  uint64_t last = server.last_serial;
  for (int round = 0; round < 10; round++)
    for (int i = 0; i < 4; i++) {
      sfd_trunk_regions_give(&boards[i]);
      take_board(i, sides[i]);
    }
  ck_assert_uint_eq(server.last_serial, last); /* no further region */
}

SFTEST(boards_have_pages_of_their_own)
{
  take_board(0, 2);
  take_board(1, 2);
  ck_assert_uint_eq(sfd_trunk_memory_number(&boards[0]), sfd_trunk_memory_number(&boards[1]));
  ck_assert_uint_ge(sfd_trunk_memory_offset(&boards[0]), sizeof(sfshm_region_header_t));
  ck_assert_uint_ge(sfd_trunk_memory_offset(&boards[1]),
                    sfd_trunk_memory_offset(&boards[0]) + sfshm_trunk_board_bytes(2));
  ck_assert_uint_eq(sfd_trunk_memory_offset(&boards[1]) % (uint64_t)sysconf(_SC_PAGESIZE), 0);
  ck_assert_int_ge(sfd_trunk_memory_fd(&boards[0]), 0);
}

/* Messages of a graph may still be under way when its job ends. */
SFTEST(boards_outlive_the_job)
{
  take_board(0, 2);
  sfd_trunk_regions_release(job.trunk_regions);
  job.trunk_regions = NULL;
  expect_whole(0);
}

static sfc_trunk_region_t *expect_board_mapped(int i)
{
  uint64_t number = sfd_trunk_memory_number(&boards[i]);
  sfc_trunk_region_t *seen = sfc_trunk_regions_find_boards(&mapped, number);
  if (seen == NULL)
    ck_assert_int_eq(sfc_trunk_regions_take_boards(&mapped, number, sfd_trunk_memory_fd(&boards[i]), &seen), SF_OK);
  const char *base = sfc_trunk_region(seen)->base;
  ck_assert_mem_eq(base + sfd_trunk_memory_offset(&boards[i]), boards[i].base, sfshm_trunk_board_bytes(nsides[i]));
  return seen;
}

/* Boards so long that each has a region of its own. */
SFTEST(regions_of_boards_do_not_pile_up)
{
  sfc_trunk_region_t *seen[5];
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 5; i++) {
      take_board(i, 1000);
      seen[i] = expect_board_mapped(i);
      ck_assert_ptr_eq(expect_board_mapped(i), seen[i]);
      sfc_trunk_regions_give(&mapped, seen[i]);
    }
    ck_assert_uint_ge(count_mapped("sf-trunk-boards"), 10);
    for (int i = 0; i < 5; i++) {
      sfc_trunk_regions_give(&mapped, seen[i]);
      sfd_trunk_regions_give(&boards[i]);
    }
    ck_assert_uint_eq(count_mapped("sf-trunk-boards"), 2 * SFSHM_TRUNK_IDLE);
  }
}
