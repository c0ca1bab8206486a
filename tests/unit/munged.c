/* A munged of a test's own: see munged.h. */
#include "tests/unit/munged.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/runner.h"

#define PROGRAM "/usr/sbin/munged" /* seldom in the path of a user */
#define LOOK_US 5000
#define LOOKS 80000 /* for its socket */

/* Without Check's words: it may not be a test yet that asks. */
static bool write_key(const char *path, char fill)
{
  char bytes[64];
  memset(bytes, fill, sizeof bytes);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written = write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
  close(fd);
  return written;
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

/* Whether its socket comes. */
static bool start(sftest_munged_t *munged, char fill)
{
  char key[96];
  struct stat file;
  snprintf(munged->directory, sizeof munged->directory, "/tmp/sftest-munge-XXXXXX");
  /* munged insists: everybody is to reach its socket */
  if (mkdtemp(munged->directory) == NULL || chmod(munged->directory, 0711) != 0)
    return false;
  snprintf(munged->socket, sizeof munged->socket, "%s/socket", munged->directory);
  snprintf(key, sizeof key, "%s/key-file", munged->directory);
  munged->pid = write_key(key, fill) ? fork() : -1;
  if (munged->pid < 0)
    return false;
  if (munged->pid == 0)
    become(munged);
  for (int looks = 0; looks < LOOKS; looks++) {
    if (stat(munged->socket, &file) == 0)
      return true;
    if (waitpid(munged->pid, NULL, WNOHANG) != 0)
      return false;
    usleep(LOOK_US);
  }
  kill(munged->pid, SIGKILL);
  waitpid(munged->pid, NULL, 0);
  return false;
}

void sftest_munged_start(sftest_munged_t *munged, char fill)
{
  ck_assert_msg(start(munged, fill), "munged has ended");
}

static void remove_directory(const sftest_munged_t *munged)
{
  char path[400];
  DIR *directory = opendir(munged->directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", munged->directory, entry->d_name);
    if (entry->d_name[0] != '.')
      unlink(path);
  }
  closedir(directory);
  rmdir(munged->directory);
}

/* SIGTERM would be lost on one that is just about to wait for questions: it looks for signals before, and then waits
 * for ever. */
void sftest_munged_stop(sftest_munged_t *munged)
{
  kill(munged->pid, SIGKILL);
  waitpid(munged->pid, NULL, 0);
  remove_directory(munged);
}

const char *sftest_munged_lacks(void)
{
  sftest_munged_t munged;
  if (access(PROGRAM, X_OK) != 0)
    return "no " PROGRAM;
  if (start(&munged, 'p')) {
    sftest_munged_stop(&munged);
    return NULL;
  }
  remove_directory(&munged);
  return PROGRAM " does not start here";
}
