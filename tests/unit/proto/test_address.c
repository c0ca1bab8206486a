/* Where the daemon's socket is looked for, and whom a client refuses to trust. */
#include "proto/address.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shm/base/error.h"
#include "tests/unit/runner.h"

static char scratch[64];
static char default_directory[64];
static uid_t test_uid; /* another one in each run, so that runs don't meet in /tmp */

static void setup(void)
{
  snprintf(scratch, sizeof scratch, "/tmp/sftest-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(scratch));
  unsetenv("SF_SOCKET");
  unsetenv("XDG_RUNTIME_DIR");
}

static void teardown(void)
{
  ck_assert_int_eq(rmdir(scratch), 0);
}

static void expect_address(const char *path, const char *expected)
{
  struct sockaddr_un address;
  ck_assert_int_eq(sfproto_address(path, false, &address), SF_OK);
  ck_assert_int_eq(address.sun_family, AF_UNIX);
  ck_assert_str_eq(address.sun_path, expected);
}

static void expect_error(sf_status_t status, sf_status_t expected, const char *text)
{
  ck_assert_int_eq(status, expected);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\" lacks \"%s\"", sfshm_error_detail(), text);
}

SFTEST_FIXTURE(setup, teardown);

SFTEST(order_of_places)
{
  setenv("SF_SOCKET", "/a/from-env", 1);
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  expect_address("/a/given", "/a/given");
  expect_address("relative", "relative");
  expect_address(NULL, "/a/from-env");
  expect_address("", "/a/from-env");
  setenv("SF_SOCKET", "", 1);
  expect_address(NULL, "/run/user/7/sfd.sock");
}

SFTEST(longest_path)
{
  char path[200];
  memset(path, 'p', sizeof path);
  path[107] = '\0';
  expect_address(path, path);
  path[107] = 'p';
  path[108] = '\0';
  struct sockaddr_un address;
  expect_error(sfproto_address(path, false, &address), SF_ERR_ARG,
               "of 108 bytes, a socket address holds at most 107: pp");
  setenv("SF_SOCKET", path, 1);
  expect_error(sfproto_address(NULL, false, &address), SF_ERR_ARG, "socket path (from SF_SOCKET) of 108 bytes");
  unsetenv("SF_SOCKET");
  path[0] = '/';
  setenv("XDG_RUNTIME_DIR", path, 1);
  expect_error(sfproto_address(NULL, false, &address), SF_ERR_ARG, "socket path (from XDG_RUNTIME_DIR) of 117 bytes");
  int fd;
  expect_error(sfproto_connect(NULL, &fd), SF_ERR_ARG, "at most 107");
}

/* ---- Connecting ---- */

static int bind_socket(const char *name, struct sockaddr_un *address)
{
  char path[100];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  ck_assert_int_eq(sfproto_address(path, false, address), SF_OK);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(fd, (struct sockaddr *)address, sizeof *address), 0);
  return fd;
}

SFTEST(daemon_answers)
{
  struct sockaddr_un address;
  int listener = bind_socket("live", &address);
  ck_assert_int_eq(listen(listener, 1), 0);
  int fd = -1;
  ck_assert_int_eq(sfproto_connect(address.sun_path, &fd), SF_OK);
  ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
  ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  int accepted = accept(listener, NULL, NULL);
  ck_assert_int_eq(write(fd, "x", 1), 1);
  char byte;
  ck_assert_int_eq(read(accepted, &byte, 1), 1);
  close(accepted);
  close(fd);
  close(listener);
  unlink(address.sun_path);
}

SFTEST(nothing_there)
{
  char path[100];
  snprintf(path, sizeof path, "%s/absent", scratch);
  int fd = -1;
  expect_error(sfproto_connect(path, &fd), SF_ERR_NO_DAEMON, path);
  expect_error(sfproto_connect(path, &fd), SF_ERR_NO_DAEMON, "sfrun");
  snprintf(path, sizeof path, "%s/no/such/directory", scratch);
  expect_error(sfproto_connect(path, &fd), SF_ERR_NO_DAEMON, path);
  ck_assert_int_eq(fd, -1);
}

SFTEST(stale_socket)
{
  struct sockaddr_un address;
  close(bind_socket("stale", &address));
  int fd = -1;
  expect_error(sfproto_connect(address.sun_path, &fd), SF_ERR_NO_DAEMON, "Connection refused");
  ck_assert_int_eq(fd, -1);
  unlink(address.sun_path);
}

SFTEST(no_permission)
{
  struct sockaddr_un address;
  int listener = bind_socket("closed", &address);
  ck_assert_int_eq(listen(listener, 1), 0);
  ck_assert_int_eq(chmod(address.sun_path, 0), 0);
  bool root = geteuid() == 0;
  ck_assert(!root || (chmod(scratch, 0711) == 0 && seteuid(test_uid) == 0));
  int fd = -1;
  expect_error(sfproto_connect(address.sun_path, &fd), SF_ERR_PERM, address.sun_path);
  ck_assert(!root || seteuid(0) == 0);
  close(listener);
  unlink(address.sun_path);
}

/* ---- The directory in /tmp: that of a user who surely has none, who only root can become ---- */

static void become_user(void)
{
  snprintf(default_directory, sizeof default_directory, "/tmp/sfd-%u", (unsigned)test_uid);
  setup();
  ck_assert_int_eq(chown(scratch, test_uid, (gid_t)-1), 0);
  ck_assert_int_eq(seteuid(test_uid), 0);
}

static void become_root(void)
{
  ck_assert_int_eq(seteuid(0), 0);
  unlink(default_directory);
  rmdir(default_directory);
  teardown();
}

static void expect_default_error(sf_status_t expected, const char *text)
{
  struct sockaddr_un address;
  int fd;
  expect_error(sfproto_address(NULL, false, &address), expected, text);
  expect_error(sfproto_address(NULL, true, &address), expected, text);
  expect_error(sfproto_connect(NULL, &fd), expected, text);
}

SFTEST_FIXTURE(become_user, become_root);

SFTEST_IF(directory_is_made, geteuid() == 0)
{
  char path[100];
  snprintf(path, sizeof path, "%s/sfd.sock", default_directory);
  expect_address(NULL, path);
  setenv("XDG_RUNTIME_DIR", "relative", 1);
  expect_address(NULL, path);
  ck_assert_int_ne(access(default_directory, F_OK), 0);
  int fd;
  expect_error(sfproto_connect(NULL, &fd), SF_ERR_NO_DAEMON, path);
  umask(0);
  struct sockaddr_un address;
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(sfproto_address(NULL, true, &address), SF_OK);
  struct stat stat;
  ck_assert_int_eq(lstat(default_directory, &stat), 0);
  ck_assert_uint_eq(stat.st_mode, S_IFDIR | 0700);
  ck_assert_uint_eq(stat.st_uid, test_uid);
}

SFTEST_IF(directory_of_somebody_else, geteuid() == 0)
{
  ck_assert_int_eq(seteuid(0), 0);
  ck_assert_int_eq(mkdir(default_directory, 0700), 0);
  ck_assert_int_eq(seteuid(test_uid), 0);
  expect_default_error(SF_ERR_PERM, "belongs to user 0, expected ");
}

SFTEST_FOR(directory_open_to_others, geteuid() == 0 ? 5 : 0)
{
  static const mode_t modes[] = {0710, 0701, 0720, 0777, 01777};
  ck_assert_int_eq(mkdir(default_directory, 0700), 0);
  ck_assert_int_eq(chmod(default_directory, modes[_i]), 0);
  char text[32];
  snprintf(text, sizeof text, "has mode %04o", modes[_i]);
  expect_default_error(SF_ERR_PERM, text);
}

SFTEST_IF(directory_is_a_link, geteuid() == 0)
{
  ck_assert_int_eq(symlink(scratch, default_directory), 0);
  expect_default_error(SF_ERR_PERM, "is not a directory");
}

SFTEST_IF(directory_is_a_file, geteuid() == 0)
{
  int fd = open(default_directory, O_CREAT | O_EXCL | O_WRONLY, 0600);
  ck_assert_int_ge(fd, 0);
  close(fd);
  expect_default_error(SF_ERR_PERM, "is not a directory");
}

int main(void)
{
  test_uid = 1000000u + (uid_t)getpid();
  if (geteuid() != 0)
    printf("part skipped: the directory in /tmp is tested as another user, which needs root\n");
  return sftest_main();
}
