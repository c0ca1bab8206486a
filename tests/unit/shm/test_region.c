/* Regions: what a new one looks like, and what their seals really prevent. Which ones are accepted from others:
 * test_region_checks.c. */
#include "shm/region/region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "shm/base/error.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/memfd_regions.h"

static int fds_before;

static void setup(void)
{
  fds_before = sftest_count_fds();
  ck_assert_int_eq(sftest_count_maps(), 0);
}

static void teardown(void)
{
  ck_assert_int_eq(sftest_count_fds(), fds_before);
  ck_assert_int_eq(sftest_count_maps(), 0);
}

SFTEST_FIXTURE(setup, teardown);

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

SFTEST(a_new_region_is_zeroed_and_says_what_it_is)
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
  ck_assert_int_eq(sftest_count_maps(), 1);
  sfshm_region_destroy(&region);
  ck_assert_ptr_null(region.base);
  ck_assert_int_eq(region.fd, -1);
  sfshm_region_destroy(&region);
  sfshm_region_destroy(&(sfshm_region_t){0});
}

static uint64_t allocated_bytes(int fd)
{
  struct stat info;
  ck_assert_int_eq(fstat(fd, &info), 0);
  return (uint64_t)info.st_blocks * 512;
}

SFTEST(pages_are_allocated_when_asked_for)
{
  sfshm_region_t now = sftest_region_make(SFSHM_REGION_ALLOC, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL);
  ck_assert_uint_ge(allocated_bytes(now.fd), LENGTH);
  sfshm_region_t later = sftest_region_make(SFSHM_REGION_ALLOC, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_LATER);
  ck_assert_uint_lt(allocated_bytes(later.fd), LENGTH);
  /* Its owner can still do so once it is sealed, also with ends that are no page's. */
  ck_assert_int_eq(sfshm_region_commit(&later, 4000, LENGTH - 4000 - 1), SF_OK);
  ck_assert_uint_ge(allocated_bytes(later.fd), LENGTH);
  sfshm_region_destroy(&now);
  sfshm_region_destroy(&later);
}

SFTEST(too_much_memory_is_an_error)
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

SFTEST(only_the_owner_writes_what_is_sealed_against_future_writing)
{
  sfshm_region_t owner = sftest_region_make(SFSHM_REGION_ALLOC, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL), reader;
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

SFTEST(peers_write_an_inbox_and_cannot_cut_it_off)
{
  sfshm_region_t owner = sftest_region_make(SFSHM_REGION_INBOX, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL), peer;
  ck_assert_int_eq(sfshm_region_map(owner.fd, SFSHM_REGION_INBOX, MAX_BYTES, SFSHM_READ_WRITE, &peer), SF_OK);
  ck_assert_int_eq(peer.fd, -1);
  ck_assert_uint_eq(peer.length_bytes, LENGTH);
  ((volatile uint8_t *)peer.base)[LENGTH - 1] = 43;
  ck_assert_uint_eq(((volatile uint8_t *)owner.base)[LENGTH - 1], 43);
  expect_size_fixed(owner.fd, LENGTH);
  sfshm_region_destroy(&peer);
  sfshm_region_destroy(&owner);
}

SFTEST(a_region_of_pieces_has_them_in_their_places_and_nobody_else_can_write_it)
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

SFTEST(pieces_that_exceed_the_memory_are_an_error)
{
  static char first[sizeof(sfshm_region_header_t)];
  sfshm_region_t region;
  const sfshm_region_piece_t piece = {0, first, sizeof first};
  ck_assert_int_eq(sfshm_region_compose("sf-test", SFSHM_REGION_TRUNK_MAP, &piece, 1, (size_t)1 << 46, &region),
                   SF_ERR_NOMEM);
}

SFTEST(published_regions_never_change)
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

/* ---- What is accepted from others ---- */

/* Address space costs its maker nothing: who maps it takes no more than needed, or than there is memory for. */
SFTEST(sparse_regions_take_little_address_space)
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

/* Not a signal, which would end the process. */
SFTEST(files_of_limited_size)
{
  struct rlimit limit = {65536, RLIM_INFINITY};
  sfshm_region_t region, large;
  ck_assert_int_eq(
      sfshm_region_create("small", SFSHM_REGION_ALLOC, 65536, SFSHM_SEAL_SIZE, SFSHM_COMMIT_LATER, &region), SF_OK);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ck_assert_int_eq(sfshm_region_commit(&region, 4096, 61440), SF_OK);
  ck_assert_int_eq(sfshm_region_create("large", SFSHM_REGION_ALLOC, 65537, SFSHM_SEAL_SIZE, SFSHM_COMMIT_LATER, &large),
                   SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "69632 bytes of shared memory are more than the 65536"));
  ck_assert_int_eq(sfshm_region_compose("large", SFSHM_REGION_EDGES, NULL, 0, 65537, &large), SF_ERR_LIMIT);
  limit.rlim_cur = 8192;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ck_assert_int_eq(sfshm_region_commit(&region, 4096, 8192), SF_ERR_LIMIT);
  sfshm_region_destroy(&region);
}
