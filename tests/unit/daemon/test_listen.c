/* The daemon's socket: only one daemon at a time at a path, stale ones replaced, nothing else touched. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "daemon/clients/listen.h"
#include "shm/base/error.h"
#include "tests/unit/runner.h"

#define RACERS 4
#define RACES 1000
#define NOBODY 65534

static char directory[] = "/tmp/sftest-listen-XXXXXX";
static char path[64], lock_path[72], marker_path[72];

static void setup(void)
{
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/s", directory);
  snprintf(lock_path, sizeof lock_path, "%s.lock", path);
  snprintf(marker_path, sizeof marker_path, "%s/m", directory);
}

static void teardown(void)
{
  unlink(path);
  unlink(lock_path);
  unlink(marker_path);
  ck_assert_int_eq(rmdir(directory), 0); /* nothing else was left */
}

SFTEST_FIXTURE(setup, teardown);

static bool exists(const char *name)
{
  struct stat file;
  return lstat(name, &file) == 0;
}

static bool connects(void)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int rc = connect(fd, (const struct sockaddr *)&address, sizeof address);
  close(fd);
  return rc == 0;
}

static void write_file(const char *name, const char *text)
{
  FILE *file = fopen(name, "we");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  ck_assert_int_eq(fclose(file), 0);
}

static void check_refused(sf_status_t expected, const char *part_of_detail)
{
  int fd = -7;
  ck_assert_int_eq(sfd_listen(path, &fd), expected);
  ck_assert_int_eq(fd, -7);
  ck_assert_msg(strstr(sfshm_error_detail(), part_of_detail) != NULL, "'%s' lacks '%s'", sfshm_error_detail(),
                part_of_detail);
}

static int check_listens(void)
{
  int fd = -1;
  sf_status_t status = sfd_listen(path, &fd);
  ck_assert_msg(status == SF_OK, "refused: %s", sfshm_error_detail());
  ck_assert(connects());
  return fd;
}

/* A child that serves at the path until it is killed or, by SIGTERM, ended; returns once it does. */
static pid_t start_daemon(void)
{
  int ready[2];
  ck_assert_int_eq(pipe(ready), 0);
  pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid == 0) {
    int fd, number;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (sfd_listen(path, &fd) != SF_OK || write(ready[1], "r", 1) != 1 || sigwait(&set, &number) != 0)
      _exit(1);
    sfd_listen_close(fd);
    _exit(0);
  }
  char byte;
  close(ready[1]);
  ck_assert_int_eq(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  return pid;
}

static void kill_daemon(pid_t pid)
{
  ck_assert_int_eq(kill(pid, SIGKILL), 0);
  ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static mode_t mode_of_socket(void)
{
  struct stat file;
  ck_assert_int_eq(lstat(path, &file), 0);
  ck_assert(S_ISSOCK(file.st_mode));
  return file.st_mode & 07777;
}

SFTEST_FOR(socket_has_its_mode_and_goes_away, 2)
{
  mode_t mask = umask(_i == 0 ? 0 : 0777);
  int fd = check_listens();
  ck_assert_int_eq(umask(mask), _i == 0 ? 0 : 0777);
  ck_assert_int_eq(mode_of_socket(), geteuid() == 0 ? 0666 : 0600);
  ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
  ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  ck_assert(exists(lock_path));
  sfd_listen_close(fd);
  ck_assert(!exists(path) && !exists(lock_path));
  sfd_listen_close(check_listens()); /* and again */
  sfd_listen_close(-1);
}

SFTEST(socket_of_an_ordinary_user_is_private)
{
  if (geteuid() != 0)
    return; /* the test before has seen it */
  ck_assert_int_eq(chown(directory, NOBODY, NOBODY), 0);
  ck_assert_int_eq(seteuid(NOBODY), 0);
  int fd = check_listens();
  ck_assert_int_eq(mode_of_socket(), 0600);
  sfd_listen_close(fd);
  ck_assert_int_eq(seteuid(0), 0);
}

SFTEST(live_daemon_is_respected)
{
  pid_t pid = start_daemon();
  check_refused(SF_ERR_EXISTS, path);
  ck_assert(connects());
  ck_assert(exists(lock_path));
  kill(pid, SIGSTOP); /* also when it is stopped */
  check_refused(SF_ERR_EXISTS, path);
  kill_daemon(pid);
}

SFTEST(killed_daemon_is_replaced)
{
  kill_daemon(start_daemon());
  ck_assert(exists(path) && exists(lock_path) && !connects());
  int fd = check_listens();
  sfd_listen_close(fd);
  ck_assert(!exists(path) && !exists(lock_path));
}

SFTEST(live_socket_without_lock_is_respected)
{
  pid_t pid = start_daemon();
  ck_assert_int_eq(unlink(lock_path), 0);
  char expected[128];
  snprintf(expected, sizeof expected, "%s is in use: process %d serves there", path, (int)pid);
  check_refused(SF_ERR_EXISTS, expected);
  ck_assert(connects() && !exists(lock_path));
  kill_daemon(pid);
}

SFTEST(full_queue_is_no_stale_socket)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
  ck_assert_int_eq(listen(fd, 0), 0);
  ck_assert(connects());
  check_refused(SF_ERR_EXISTS, "is in use");
  ck_assert(exists(path));
  close(fd);
}

SFTEST(socket_of_another_type_is_respected)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
  check_refused(SF_ERR_EXISTS, "no stream");
  ck_assert(exists(path) && !exists(lock_path));
  close(fd);
}

SFTEST(what_is_no_socket_is_left_alone)
{
  struct stat file;
  write_file(path, "precious");
  check_refused(SF_ERR_EXISTS, "is not a socket");
  ck_assert_int_eq(lstat(path, &file), 0);
  ck_assert_int_eq(file.st_size, 8);
  unlink(path);
  ck_assert_int_eq(symlink("nowhere", path), 0);
  check_refused(SF_ERR_EXISTS, "is not a socket");
  ck_assert(exists(path) && !exists(lock_path));
  unlink(path);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  check_refused(SF_ERR_EXISTS, "is not a socket");
  ck_assert_int_eq(rmdir(path), 0);
}

SFTEST(what_is_no_lock_is_left_alone)
{
  write_file(lock_path, "precious");
  check_refused(SF_ERR_EXISTS, "is not a lock of sfd");
  ck_assert(exists(lock_path) && !exists(path));
  unlink(lock_path);
  ck_assert_int_eq(mkfifo(lock_path, 0600), 0);
  check_refused(SF_ERR_EXISTS, "is not a lock of sfd");
  unlink(lock_path);
  ck_assert_int_eq(symlink(marker_path, lock_path), 0);
  check_refused(SF_ERR_SYS, "cannot open the lock");
  ck_assert(!exists(marker_path));
}

SFTEST(close_leaves_a_successor_alone)
{
  pid_t pid = start_daemon();
  unlink(path);
  unlink(lock_path);
  int status, fd = check_listens();
  kill(pid, SIGTERM);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_int_eq(status, 0);
  ck_assert(connects() && exists(lock_path));
  sfd_listen_close(fd);
}

SFTEST(places_that_cannot_be_used)
{
  int fd;
  char name[200];
  memset(name, 'x', sizeof name - 1);
  name[0] = '/';
  name[sizeof name - 1] = '\0';
  ck_assert_int_eq(sfd_listen(name, &fd), SF_ERR_ARG);
  snprintf(name, sizeof name, "%s/no/s", directory);
  ck_assert_int_eq(sfd_listen(name, &fd), SF_ERR_SYS);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "No such file or directory"));
  snprintf(name, sizeof name, "%s/closed", directory);
  ck_assert_int_eq(mkdir(name, 0500), 0);
  strcat(name, "/s");
  if (geteuid() == 0)
    ck_assert_int_eq(seteuid(NOBODY), 0);
  ck_assert_int_eq(sfd_listen(name, &fd), SF_ERR_PERM);
  if (getuid() == 0)
    ck_assert_int_eq(seteuid(0), 0);
  *strrchr(name, '/') = '\0';
  ck_assert_int_eq(rmdir(name), 0);
}

/* ---- Sockets that are passed ---- */

static int make_listener(int type, const char *name, size_t length)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, name, length);
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, size), 0);
  if (type == SOCK_STREAM)
    ck_assert_int_eq(listen(fd, 1), 0);
  return fd;
}

/* In a process of its own, in which fd is what a service manager passed, count times: sfd_listen's status and detail.
 */
static sf_status_t listen_with(int fd, int count, const char *given, char detail[512])
{
  int ends[2];
  sf_status_t status = SF_ERR_INTERNAL;
  ck_assert_int_eq(pipe(ends), 0);
  pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid == 0) {
    char text[16];
    int found = -1, source = fcntl(fd, F_DUPFD, 20), out = fcntl(ends[1], F_DUPFD, 20);
    for (int i = 0; i < count; i++)
      dup2(source, 3 + i);
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("LISTEN_PID", text, 1);
    snprintf(text, sizeof text, "%d", count);
    setenv("LISTEN_FDS", text, 1);
    status = sfd_listen(given, &found);
    bool taken = found == 3 && (fcntl(3, F_GETFL) & O_NONBLOCK) && (fcntl(3, F_GETFD) & FD_CLOEXEC) &&
                 strcmp(sfd_listen_path(), path) == 0;
    if (status == SF_OK ? !taken || getenv("LISTEN_FDS") != NULL : fcntl(3, F_GETFD) != -1 || found != -1)
      status = SF_ERR_INTERNAL;
    if (status == SF_OK)
      sfd_listen_close(found);
    dprintf(out, "%s", sfshm_error_detail());
    _exit(-status);
  }
  close(ends[1]);
  ssize_t length = read(ends[0], detail, 511);
  detail[length > 0 ? length : 0] = '\0';
  close(ends[0]);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFEXITED(status));
  return -WEXITSTATUS(status);
}

SFTEST(passed_socket_is_taken_and_left)
{
  char detail[512], same[80];
  int fd = make_listener(SOCK_STREAM, path, strlen(path) + 1);
  snprintf(same, sizeof same, "%s/./s", directory);
  const char *const given[] = {NULL, "", path, same};
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
    ck_assert_msg(listen_with(fd, 1, given[i], detail) == SF_OK, "%s", detail);
  ck_assert(exists(path) && !exists(lock_path) && connects());
  close(fd);
}

SFTEST(what_is_passed_is_checked)
{
  char detail[512], abstract[32];
  int stream = make_listener(SOCK_STREAM, path, strlen(path) + 1);
  int datagram = make_listener(SOCK_DGRAM, marker_path, strlen(marker_path) + 1);
  int length = snprintf(abstract + 1, sizeof abstract - 1, "sftest-%d", (int)getpid());
  abstract[0] = '\0';
  int nameless = make_listener(SOCK_STREAM, abstract, (size_t)length + 1);
  ck_assert_int_eq(listen_with(stream, 1, lock_path, detail), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(detail, "the option socket says"));
  ck_assert_int_eq(listen_with(stream, 2, path, detail), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(detail, "2 descriptors, expected one"));
  ck_assert_int_eq(sfd_listen_peers_fd(), -1);
  ck_assert_int_eq(listen_with(datagram, 1, NULL, detail), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(detail, "is not a listening Unix stream socket"));
  ck_assert_int_eq(listen_with(nameless, 1, NULL, detail), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(detail, "with a path"));
  close(stream);
  close(datagram);
  close(nameless);
}

/* One of several processes that take and leave the path; whoever has it must have it alone. */
static void race(void)
{
  int taken = 0;
  for (int i = 0; i < RACES || taken == 0; i++) {
    int fd;
    sf_status_t status = sfd_listen(path, &fd);
    if (status == SF_ERR_EXISTS)
      continue;
    int marker = status == SF_OK ? open(marker_path, O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (marker < 0 || !connects()) {
      fprintf(stderr, "status %d (%s), marker %d\n", status, sfshm_error_detail(), marker);
      _exit(1);
    }
    close(marker);
    taken++;
    if (i % 8 == 7 && fork() == 0)
      _exit(0); /* closing its copies must not release what the parent holds */
    unlink(marker_path);
    sfd_listen_close(fd);
  }
  _exit(0);
}

SFTEST(only_one_at_a_time)
{
  for (int i = 0; i < RACERS; i++) {
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
      race();
  }
  for (int i = 0; i < RACERS; i++) {
    int status;
    ck_assert_int_gt(wait(&status), 0);
    ck_assert_int_eq(status, 0);
  }
  ck_assert(!exists(path) && !exists(lock_path));
}
