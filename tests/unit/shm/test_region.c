/* Regions: what a new one looks like, which ones are accepted from others, and what their seals really prevent. */
#include "shm/region/region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/runner.h"

#define MAX_BYTES ((uint64_t)1 << 30)
#define LENGTH ((size_t)3 * 4096)

static int fds_before;

/* Lines of /proc/self/maps that name our memory. */
static int count_maps(void)
{
  char line[512];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (fgets(line, sizeof line, maps) != NULL)
    count += strstr(line, "memfd:sf-test") != NULL;
  fclose(maps);
  return count;
}

static void setup(void)
{
  fds_before = sftest_count_fds();
  ck_assert_int_eq(count_maps(), 0);
}

static void teardown(void)
{
  ck_assert_int_eq(sftest_count_fds(), fds_before);
  ck_assert_int_eq(count_maps(), 0);
}

static sfshm_region_t make(sfshm_region_kind_t kind, sfshm_sealing_t sealing, sfshm_commit_t commit)
{
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_create("sf-test", kind, LENGTH, sealing, commit, &region), SF_OK);
  return region;
}

/* An immutable region whose contents count up. */
static sfshm_region_t publish(size_t length_bytes)
{
  sfshm_region_t region;
  uint8_t *image = aligned_alloc(128, (length_bytes + 127) / 128 * 128);
  for (size_t i = 0; i < length_bytes; i++)
    image[i] = (uint8_t)(i * 7);
  ck_assert_int_eq(sfshm_region_publish("sf-test", SFSHM_REGION_EDGES, image, length_bytes, &region), SF_OK);
  free(image);
  return region;
}

/* A memfd with these bytes and seals, as somebody else might send it; behind allocated_bytes it is a hole. */
static int raw_memfd_with_hole(const void *bytes, size_t length_bytes, size_t allocated_bytes, size_t size_bytes,
                               int seals)
{
  int fd = memfd_create("sf-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_eq(fallocate(fd, 0, 0, (off_t)allocated_bytes), 0);
  ck_assert_int_eq(write(fd, bytes, length_bytes), (ssize_t)length_bytes);
  ck_assert_int_eq(ftruncate(fd, (off_t)size_bytes), 0);
  ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

static int raw_memfd(const void *bytes, size_t length_bytes, size_t size_bytes, int seals)
{
  return raw_memfd_with_hole(bytes, length_bytes, size_bytes, size_bytes, seals);
}

static sfshm_region_header_t good_header(sfshm_region_kind_t kind)
{
  return (sfshm_region_header_t){
      .magic = SFSHM_REGION_MAGIC, .length_bytes = LENGTH, .kind = (uint32_t)kind, .version = SFSHM_LAYOUT_VERSION};
}

static const int required_seals[] = {
    [SFSHM_REGION_INBOX] = F_SEAL_SHRINK | F_SEAL_GROW,
    [SFSHM_REGION_ALLOC] = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
    [SFSHM_REGION_COUNTERS] = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
    [SFSHM_REGION_EDGES] = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
    [SFSHM_REGION_BOARD] = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
};

/* ---- New regions ---- */

static void expect_header(const sfshm_region_t *region, sfshm_region_kind_t kind)
{
  const sfshm_region_header_t *header = region->base;
  ck_assert_uint_eq(header->magic, SFSHM_REGION_MAGIC);
  ck_assert_uint_eq(header->length_bytes, region->length_bytes);
  ck_assert_uint_eq(header->kind, kind);
  ck_assert_int_eq(header->owner_pid, getpid());
  ck_assert_uint_eq(header->version, SFSHM_LAYOUT_VERSION);
}

START_TEST(a_new_region_is_zeroed_and_says_what_it_is)
{
  sfshm_region_t region;
  ck_assert_int_eq(
      sfshm_region_create("sf-test", SFSHM_REGION_BOARD, 5000, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL, &region),
      SF_OK);
  ck_assert_uint_eq(region.length_bytes, 8192); /* whole pages */
  ck_assert_int_eq(fcntl(region.fd, F_GETFD), FD_CLOEXEC);
  ck_assert_int_eq(fcntl(region.fd, F_GET_SEALS), required_seals[SFSHM_REGION_BOARD]);
  expect_header(&region, SFSHM_REGION_BOARD);
  const uint8_t *bytes = region.base;
  for (size_t i = sizeof(sfshm_region_header_t); i < region.length_bytes; i++)
    ck_assert_uint_eq(bytes[i], 0);
  ck_assert_int_eq(count_maps(), 1);
  sfshm_region_destroy(&region);
  ck_assert_ptr_null(region.base);
  ck_assert_int_eq(region.fd, -1);
  sfshm_region_destroy(&region);
  sfshm_region_destroy(&(sfshm_region_t){0});
}
END_TEST

static uint64_t allocated_bytes(int fd)
{
  struct stat info;
  ck_assert_int_eq(fstat(fd, &info), 0);
  return (uint64_t)info.st_blocks * 512;
}

START_TEST(pages_are_allocated_when_asked_for)
{
  sfshm_region_t now = make(SFSHM_REGION_ALLOC, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL);
  ck_assert_uint_ge(allocated_bytes(now.fd), LENGTH);
  sfshm_region_t later = make(SFSHM_REGION_ALLOC, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_LATER);
  ck_assert_uint_lt(allocated_bytes(later.fd), LENGTH);
  /* Its owner can still do so once it is sealed, also with ends that are no page's. */
  ck_assert_int_eq(sfshm_region_commit(&later, 4000, LENGTH - 4000 - 1), SF_OK);
  ck_assert_uint_ge(allocated_bytes(later.fd), LENGTH);
  sfshm_region_destroy(&now);
  sfshm_region_destroy(&later);
}
END_TEST

START_TEST(too_much_memory_is_an_error)
{
  sfshm_region_t region = {.fd = 77};
  size_t lengths[] = {(size_t)1 << 50, (size_t)1 << 62, SIZE_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    ck_assert_int_lt(sfshm_region_create("sf-test", SFSHM_REGION_ALLOC, lengths[i], SFSHM_SEAL_FUTURE_WRITE,
                                         SFSHM_COMMIT_ALL, &region),
                     0);
    ck_assert_str_ne(sfshm_error_detail(), "");
    ck_assert_int_lt(sfshm_region_create("sf-test", SFSHM_REGION_ALLOC, lengths[i], SFSHM_SEAL_FUTURE_WRITE,
                                         SFSHM_COMMIT_LATER, &region),
                     0);
  }
  ck_assert_int_eq(region.fd, 77); /* written only on success */
}
END_TEST

/* ---- What others are allowed ---- */

static void expect_not_writable(int fd, size_t length_bytes)
{
  char byte = 1;
  errno = 0;
  ck_assert_ptr_eq(mmap(NULL, length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  ck_assert_int_eq(errno, EPERM);
  ck_assert_int_eq(pwrite(fd, &byte, 1, 200), -1);
  ck_assert_int_eq(errno, EPERM);
  ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
  ck_assert_int_eq(errno, EPERM);
}

static void expect_size_fixed(int fd, size_t length_bytes)
{
  ck_assert_int_eq(ftruncate(fd, 0), -1);
  ck_assert_int_eq(errno, EPERM);
  ck_assert_int_eq(ftruncate(fd, (off_t)(2 * length_bytes)), -1);
  ck_assert_int_eq(errno, EPERM);
}

/* The descriptor opened once more, as any process that has it can. */
static int reopen(int fd)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int again = open(path, O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(again, 0);
  return again;
}

START_TEST(only_the_owner_writes_what_is_sealed_against_future_writing)
{
  sfshm_region_t owner = make(SFSHM_REGION_ALLOC, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL), reader;
  int again = reopen(owner.fd);
  expect_not_writable(owner.fd, LENGTH);
  expect_not_writable(again, LENGTH);
  expect_size_fixed(again, LENGTH);
  ck_assert_int_eq(sfshm_region_map(again, SFSHM_REGION_ALLOC, MAX_BYTES, SFSHM_READ_WRITE, &reader), SF_ERR_NOMEM);
  ck_assert_int_eq(sfshm_region_map(again, SFSHM_REGION_ALLOC, MAX_BYTES, SFSHM_READ_ONLY, &reader), SF_OK);
  close(again);
  ck_assert_int_eq(mprotect(reader.base, LENGTH, PROT_READ | PROT_WRITE), -1);
  ((volatile uint8_t *)owner.base)[5000] = 42;
  ck_assert_uint_eq(((volatile uint8_t *)reader.base)[5000], 42);
  sfshm_region_destroy(&owner); /* the mapping outlives it */
  ck_assert_uint_eq(((volatile uint8_t *)reader.base)[5000], 42);
  sfshm_region_destroy(&reader);
}
END_TEST

START_TEST(peers_write_an_inbox_and_cannot_cut_it_off)
{
  sfshm_region_t owner = make(SFSHM_REGION_INBOX, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL), peer;
  ck_assert_int_eq(sfshm_region_map(owner.fd, SFSHM_REGION_INBOX, MAX_BYTES, SFSHM_READ_WRITE, &peer), SF_OK);
  ck_assert_int_eq(peer.fd, -1);
  ck_assert_uint_eq(peer.length_bytes, LENGTH);
  ((volatile uint8_t *)peer.base)[LENGTH - 1] = 43;
  ck_assert_uint_eq(((volatile uint8_t *)owner.base)[LENGTH - 1], 43);
  expect_size_fixed(owner.fd, LENGTH);
  sfshm_region_destroy(&peer);
  sfshm_region_destroy(&owner);
}
END_TEST

START_TEST(a_region_of_pieces_has_them_in_their_places_and_nobody_else_can_write_it)
{
  static char first[sizeof(sfshm_region_header_t) + 8], last[5000];
  sfshm_region_t region, mapped;
  memset(first, 'a', sizeof first);
  memset(last, 'b', sizeof last);
  const sfshm_region_piece_t pieces[] = {{0, first, sizeof first}, {4000, last, sizeof last}};
  ck_assert_int_eq(sfshm_region_compose("sf-test", SFSHM_REGION_TRUNK_MAP, pieces, 2, 9000, &region), SF_OK);
  expect_header(&region, SFSHM_REGION_TRUNK_MAP);
  ck_assert_uint_eq(region.length_bytes, LENGTH);
  ck_assert_int_eq(sfshm_region_map(region.fd, SFSHM_REGION_TRUNK_MAP, MAX_BYTES, SFSHM_READ_ONLY, &mapped), SF_OK);
  const char *bytes = mapped.base;
  for (size_t i = sizeof(sfshm_region_header_t); i < LENGTH; i++)
    ck_assert_int_eq(bytes[i], i < sizeof first ? 'a' : i >= 4000 && i < 9000 ? 'b' : 0);
  ck_assert_ptr_eq(mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0), MAP_FAILED);
  ck_assert_int_lt(pwrite(region.fd, "c", 1, 4000), 0);
  ck_assert_int_lt(fallocate(region.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LENGTH), 0);
  const sfshm_region_piece_t others[] = {{0, last, sizeof first}, {1000, first, sizeof first}, {5000, last, 4000}};
  sfshm_region_recompose(&region, others, 3);
  expect_header(&region, SFSHM_REGION_TRUNK_MAP);
  for (size_t i = sizeof(sfshm_region_header_t); i < 9000; i++)
    ck_assert_int_eq(bytes[i], i < sizeof first || i >= 5000 ? 'b' : i >= 1000 && i < 1000 + sizeof first ? 'a' : 0);
  sfshm_region_destroy(&mapped);
  sfshm_region_destroy(&region);
}
END_TEST

START_TEST(pieces_that_exceed_the_memory_are_an_error)
{
  static char first[sizeof(sfshm_region_header_t)];
  sfshm_region_t region;
  const sfshm_region_piece_t piece = {0, first, sizeof first};
  ck_assert_int_eq(sfshm_region_compose("sf-test", SFSHM_REGION_TRUNK_MAP, &piece, 1, (size_t)1 << 46, &region),
                   SF_ERR_NOMEM);
}
END_TEST

START_TEST(published_regions_never_change)
{
  size_t lengths[] = {sizeof(sfshm_region_header_t), 1000, 4096, 100001};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    sfshm_region_t region = publish(lengths[i]), reader;
    ck_assert_uint_eq(region.length_bytes, lengths[i]);
    expect_header(&region, SFSHM_REGION_EDGES);
    int again = reopen(region.fd);
    expect_not_writable(again, lengths[i]);
    expect_size_fixed(again, lengths[i]);
    ck_assert_int_eq(sfshm_region_map(again, SFSHM_REGION_EDGES, MAX_BYTES, SFSHM_READ_ONLY, &reader), SF_OK);
    close(again);
    ck_assert_uint_eq(reader.length_bytes, lengths[i]);
    for (size_t b = sizeof(sfshm_region_header_t); b < lengths[i]; b++)
      ck_assert_uint_eq(((const uint8_t *)reader.base)[b], (uint8_t)(b * 7));
    ck_assert_int_eq(memcmp(region.base, reader.base, lengths[i]), 0);
    sfshm_region_destroy(&region);
    sfshm_region_destroy(&reader);
  }
}
END_TEST

/* ---- What is accepted from others ---- */

START_TEST(every_seal_that_a_kind_needs_is_checked)
{
  const int seals[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL};
  for (unsigned set = 0; set < 32; set++) {
    int chosen = 0;
    for (unsigned i = 0; i < 5; i++)
      chosen |= set >> i & 1 ? seals[i] : 0;
    sfshm_region_header_t header = good_header(SFSHM_REGION_INBOX);
    int fd = raw_memfd(&header, sizeof header, LENGTH, chosen);
    chosen = fcntl(fd, F_GET_SEALS);
    for (sfshm_region_kind_t kind = SFSHM_REGION_INBOX; kind <= SFSHM_REGION_BOARD; kind++) {
      size_t length = 0;
      bool good = (chosen & required_seals[kind]) == required_seals[kind];
      ck_assert_int_eq(sfshm_region_verify(fd, kind, MAX_BYTES, &length), good ? SF_OK : SF_ERR_PROTO);
      ck_assert_uint_eq(length, good ? LENGTH : 0);
      ck_assert(good || strstr(sfshm_error_detail(), "seals") != NULL);
    }
    close(fd);
  }
}
END_TEST

START_TEST(other_descriptors_are_refused)
{
  size_t length;
  int pipes[2];
  sfshm_region_t region;
  ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
  int fds[] = {pipes[0],
               pipes[1],
               open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
               open("/dev/zero", O_RDWR | O_CLOEXEC),
               memfd_create("unsealable", MFD_CLOEXEC),
               socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
               -1};
  for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
    ck_assert_int_eq(sfshm_region_verify(fds[i], SFSHM_REGION_INBOX, MAX_BYTES, &length), SF_ERR_PROTO);
    ck_assert_int_eq(sfshm_region_map(fds[i], SFSHM_REGION_INBOX, MAX_BYTES, SFSHM_READ_WRITE, &region), SF_ERR_PROTO);
    close(fds[i]);
  }
}
END_TEST

START_TEST(sizes_are_checked_before_mapping)
{
  size_t length = 0;
  sfshm_region_t region;
  sfshm_region_header_t header = good_header(SFSHM_REGION_INBOX);
  int fd = raw_memfd(&header, 100, sizeof header - 1, F_SEAL_SHRINK | F_SEAL_GROW);
  ck_assert_int_eq(sfshm_region_map(fd, SFSHM_REGION_INBOX, MAX_BYTES, SFSHM_READ_ONLY, &region), SF_ERR_PROTO);
  close(fd);
  fd = raw_memfd(&header, sizeof header, LENGTH, F_SEAL_SHRINK | F_SEAL_GROW);
  ck_assert_int_eq(sfshm_region_verify(fd, SFSHM_REGION_INBOX, LENGTH, &length), SF_OK);
  ck_assert_int_eq(sfshm_region_verify(fd, SFSHM_REGION_INBOX, LENGTH - 1, &length), SF_ERR_PROTO);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "128 to 12287 bytes expected, 12288 found"));
  close(fd);
}
END_TEST

static void expect_refused(const sfshm_region_header_t *header, sf_status_t status, const char *text)
{
  sfshm_region_t region;
  int fd = raw_memfd(header, sizeof *header, LENGTH, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
  ck_assert_int_eq(sfshm_region_map(fd, SFSHM_REGION_ALLOC, MAX_BYTES, SFSHM_READ_ONLY, &region), status);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "%s", sfshm_error_detail());
  close(fd);
}

/* Those that can be written may have some. */
START_TEST(immutable_regions_have_no_holes)
{
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  size_t page = sfshm_page_bytes(), length = 0;
  sfshm_region_t region;
  for (size_t missing = 0; missing <= 3; missing++) {
    sfshm_region_header_t header = good_header(SFSHM_REGION_EDGES);
    header.length_bytes = 4 * page;
    int fd = raw_memfd_with_hole(&header, sizeof header, (4 - missing) * page, 4 * page, seals);
    sf_status_t expected = missing == 0 ? SF_OK : SF_ERR_PROTO;
    ck_assert_int_eq(sfshm_region_verify(fd, SFSHM_REGION_EDGES, MAX_BYTES, &length), expected);
    ck_assert_int_eq(sfshm_region_map(fd, SFSHM_REGION_EDGES, MAX_BYTES, SFSHM_READ_ONLY, &region), expected);
    ck_assert(missing == 0 || strstr(sfshm_error_detail(), "memory for all of its") != NULL);
    if (missing == 0)
      sfshm_region_destroy(&region);
    ck_assert_int_eq(sfshm_region_verify(fd, SFSHM_REGION_INBOX, MAX_BYTES, &length), SF_OK);
    close(fd);
  }
}
END_TEST

START_TEST(headers_are_checked)
{
  sfshm_region_t region;
  sfshm_region_header_t header = good_header(SFSHM_REGION_ALLOC);
  int fd = raw_memfd(&header, sizeof header, LENGTH, required_seals[SFSHM_REGION_ALLOC]);
  ck_assert_int_eq(sfshm_region_map(fd, SFSHM_REGION_ALLOC, MAX_BYTES, SFSHM_READ_ONLY, &region), SF_OK);
  sfshm_region_destroy(&region);
  close(fd);

  header.magic ^= 1;
  expect_refused(&header, SF_ERR_PROTO, "magic");
  header = good_header(SFSHM_REGION_ALLOC);
  header.version = 0; /* not filled in yet */
  char text[64];
  snprintf(text, sizeof text, "layout version %u expected, 0 found", SFSHM_LAYOUT_VERSION);
  expect_refused(&header, SF_ERR_VERSION, text);
  header.version = SFSHM_LAYOUT_VERSION + 1;
  expect_refused(&header, SF_ERR_VERSION, "layout version");
  header = good_header(SFSHM_REGION_COUNTERS);
  expect_refused(&header, SF_ERR_PROTO, "kind 3");
  header = good_header(SFSHM_REGION_ALLOC);
  header.length_bytes -= 4096;
  expect_refused(&header, SF_ERR_PROTO, "8192 bytes, expected 2 and 12288");
}
END_TEST

START_TEST(kinds_are_not_mixed_up)
{
  sfshm_region_t region = make(SFSHM_REGION_COUNTERS, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL), other;
  for (sfshm_region_kind_t kind = SFSHM_REGION_INBOX; kind <= SFSHM_REGION_BOARD; kind++) {
    sf_status_t expected = kind == SFSHM_REGION_COUNTERS ? SF_OK : SF_ERR_PROTO;
    ck_assert_int_eq(sfshm_region_map(region.fd, kind, MAX_BYTES, SFSHM_READ_ONLY, &other), expected);
    if (expected == SF_OK)
      sfshm_region_destroy(&other);
  }
  sfshm_region_destroy(&region);
}
END_TEST

/* Address space costs its maker nothing: who maps it takes no more than needed, or than there is memory for. */
START_TEST(sparse_regions_take_little_address_space)
{
  sfshm_region_t region, mapped;
  size_t length = (size_t)1 << 40;
  ck_assert_int_eq(
      sfshm_region_create("sparse", SFSHM_REGION_INBOX, length, SFSHM_SEAL_SIZE, SFSHM_COMMIT_LATER, &region), SF_OK);
  ck_assert_int_eq(sfshm_region_map_head(region.fd, SFSHM_REGION_INBOX, 256, SFSHM_READ_WRITE, &mapped), SF_OK);
  ck_assert_uint_eq(mapped.length_bytes, 256);
  sfshm_region_destroy(&mapped);
  sfshm_region_destroy(&region);
  ck_assert_int_eq(
      sfshm_region_create("sparse", SFSHM_REGION_ALLOC, length, SFSHM_SEAL_SIZE, SFSHM_COMMIT_LATER, &region), SF_OK);
  ck_assert_int_eq(sfshm_region_map_last(region.fd, SFSHM_REGION_ALLOC, length, &mapped), SF_ERR_NOMEM);
  ck_assert_int_ne(fcntl(region.fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE, 0);
  sfshm_region_destroy(&region);
}
END_TEST

START_TEST(heads_are_checked)
{
  sfshm_region_t region, mapped;
  ck_assert_int_eq(sfshm_region_create("short", SFSHM_REGION_INBOX, 4096, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL, &region),
                   SF_OK);
  ck_assert_int_eq(sfshm_region_map_head(region.fd, SFSHM_REGION_INBOX, 1 << 20, SFSHM_READ_WRITE, &mapped),
                   SF_ERR_PROTO);
  ck_assert_int_eq(sfshm_region_map_head(region.fd, SFSHM_REGION_CLAIMS, 256, SFSHM_READ_WRITE, &mapped), SF_ERR_PROTO);
  sfshm_region_destroy(&region);
}
END_TEST

static Suite *region_suite(void)
{
  Suite *suite = suite_create("region");
  TCase *tcase = tcase_create("region");
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, a_new_region_is_zeroed_and_says_what_it_is);
  tcase_add_test(tcase, pages_are_allocated_when_asked_for);
  tcase_add_test(tcase, too_much_memory_is_an_error);
  tcase_add_test(tcase, only_the_owner_writes_what_is_sealed_against_future_writing);
  tcase_add_test(tcase, peers_write_an_inbox_and_cannot_cut_it_off);
  tcase_add_test(tcase, a_region_of_pieces_has_them_in_their_places_and_nobody_else_can_write_it);
  tcase_add_test(tcase, pieces_that_exceed_the_memory_are_an_error);
  tcase_add_test(tcase, published_regions_never_change);
  tcase_add_test(tcase, every_seal_that_a_kind_needs_is_checked);
  tcase_add_test(tcase, other_descriptors_are_refused);
  tcase_add_test(tcase, sizes_are_checked_before_mapping);
  tcase_add_test(tcase, immutable_regions_have_no_holes);
  tcase_add_test(tcase, headers_are_checked);
  tcase_add_test(tcase, kinds_are_not_mixed_up);
  tcase_add_test(tcase, sparse_regions_take_little_address_space);
  tcase_add_test(tcase, heads_are_checked);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  return sftest_run(region_suite());
}
