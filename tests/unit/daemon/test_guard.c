/* Pages of shared memory that are not there: the process goes on, but not where others are missing. */
#include "daemon/base/sigbus_guard.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "shm/region/region.h"
#include "tests/unit/runner.h"

#define PAGES 3

/* Pages of a file of which only the first is there, as others would be without memory. */
static volatile char *map_shortened(int fd)
{
  size_t page = sfshm_page_bytes();
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(ftruncate(fd, (off_t)(PAGES * page)), 0);
  char *base = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ck_assert_ptr_ne(base, MAP_FAILED);
  base[0] = 'a';
  ck_assert_int_eq(ftruncate(fd, (off_t)page), 0);
  close(fd);
  return base;
}

SFTEST(pages_of_clients)
{
  size_t page = sfshm_page_bytes();
  volatile char *base = map_shortened(memfd_create("a client's", MFD_CLOEXEC));
  sfd_sigbus_guard_begin();
  ck_assert_int_eq(base[page + 7], 0); /* reading */
  base[2 * page] = 'c';                /* writing */
  ck_assert_int_eq(base[2 * page], 'c');
  ck_assert_int_eq(base[0], 'a'); /* what is there stays */
  ck_assert_uint_eq(sfd_sigbus_guard_take(), 2);
  ck_assert_uint_eq(sfd_sigbus_guard_take(), 0);
}

START_TEST(pages_of_others)
{
  char path[] = "/tmp/sftest-guard.XXXXXX";
  int fd = mkstemp(path);
  unlink(path);
  volatile char *base = map_shortened(fd);
  sfd_sigbus_guard_begin();
  base[sfshm_page_bytes()] = 'b';
}
END_TEST

SFTEST_CASE(tcase_add_test_raise_signal(tests, pages_of_others, SIGBUS));
