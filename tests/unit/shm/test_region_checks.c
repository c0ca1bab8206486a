/* Regions that others send: which ones are accepted, by seals, size, header, kind and pages. */
#include "shm/region/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

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

SFTEST(every_seal_that_a_kind_needs_is_checked)
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

SFTEST(other_descriptors_are_refused)
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

SFTEST(sizes_are_checked_before_mapping)
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

static void expect_refused(const sfshm_region_header_t *header, sf_status_t status, const char *text)
{
  sfshm_region_t region;
  int fd = raw_memfd(header, sizeof *header, LENGTH, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
  ck_assert_int_eq(sfshm_region_map(fd, SFSHM_REGION_ALLOC, MAX_BYTES, SFSHM_READ_ONLY, &region), status);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "%s", sfshm_error_detail());
  close(fd);
}

/* Those that can be written may have some. */
SFTEST(immutable_regions_have_no_holes)
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

SFTEST(headers_are_checked)
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

SFTEST(kinds_are_not_mixed_up)
{
  sfshm_region_t region = sftest_region_make(SFSHM_REGION_COUNTERS, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL), other;
  for (sfshm_region_kind_t kind = SFSHM_REGION_INBOX; kind <= SFSHM_REGION_BOARD; kind++) {
    sf_status_t expected = kind == SFSHM_REGION_COUNTERS ? SF_OK : SF_ERR_PROTO;
    ck_assert_int_eq(sfshm_region_map(region.fd, kind, MAX_BYTES, SFSHM_READ_ONLY, &other), expected);
    if (expected == SF_OK)
      sfshm_region_destroy(&other);
  }
  sfshm_region_destroy(&region);
}

SFTEST(heads_are_checked)
{
  sfshm_region_t region, mapped;
  ck_assert_int_eq(sfshm_region_create("short", SFSHM_REGION_INBOX, 4096, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL, &region),
                   SF_OK);
  ck_assert_int_eq(sfshm_region_map_head(region.fd, SFSHM_REGION_INBOX, 1 << 20, SFSHM_READ_WRITE, &mapped),
                   SF_ERR_PROTO);
  ck_assert_int_eq(sfshm_region_map_head(region.fd, SFSHM_REGION_CLAIMS, 256, SFSHM_READ_WRITE, &mapped), SF_ERR_PROTO);
  sfshm_region_destroy(&region);
}
