/* A munged of a test's own: see munged.h. */
#include "tests/unit/munged.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/runner.h"

#define PROGRAM "/usr/sbin/munged" /* seldom in the path of a user */

const char *sftest_munged_lacks(void)
{
  return access(PROGRAM, X_OK) == 0 ? NULL : "no " PROGRAM;
}

static void write_key(const char *path, char fill)
{
  char bytes[64];
  memset(bytes, fill, sizeof bytes);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ck_assert_int_eq(write(fd, bytes, sizeof bytes), sizeof bytes);
  close(fd);
}

static void become(const sftest_munged_t *munged)
{
  static const char *const options[] = {"socket", "key-file", "pid-file", "seed-file", "log-file"};
  static char words[5][128];
  char *argv[8] = {PROGRAM, "--foreground"};
  for (int i = 0; i < 5; i++) {
    snprintf(words[i], sizeof words[i], "--%s=%s/%s", options[i], munged->directory, options[i]);
    argv[2 + i] = words[i];
  }
  int log = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++)
    dup2(log, fd);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execv(PROGRAM, argv);
  _exit(127);
}

void sftest_munged_start(sftest_munged_t *munged, char fill)
{
  char key[96];
  struct stat file;
  snprintf(munged->directory, sizeof munged->directory, "/tmp/sftest-munge-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(munged->directory));
  ck_assert_int_eq(chmod(munged->directory, 0711), 0); /* munged insists: everybody is to reach its socket */
  snprintf(munged->socket, sizeof munged->socket, "%s/socket", munged->directory);
  snprintf(key, sizeof key, "%s/key-file", munged->directory);
  write_key(key, fill);
  munged->pid = fork();
  ck_assert_int_ge(munged->pid, 0);
  if (munged->pid == 0)
    become(munged);
  while (stat(munged->socket, &file) != 0) {
    ck_assert_msg(waitpid(munged->pid, NULL, WNOHANG) == 0, "munged has ended");
    usleep(5000);
  }
}

void sftest_munged_stop(sftest_munged_t *munged)
{
  char path[400];
  kill(munged->pid, SIGTERM);
  waitpid(munged->pid, NULL, 0);
  DIR *directory = opendir(munged->directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", munged->directory, entry->d_name);
    if (entry->d_name[0] != '.')
      unlink(path);
  }
  closedir(directory);
  rmdir(munged->directory);
}
