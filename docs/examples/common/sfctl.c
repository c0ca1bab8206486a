/* Lets an example show what the daemon knows about it. Used by one thread. */
#include "docs/examples/common/sfctl.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where sfctl is built: in the folder above the one of this executable. False if it is not there. */
static bool find_beside(char path[PATH_MAX])
{
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0)
    return false;
  self[length] = '\0';
  char *slash = strrchr(self, '/');
  if (!slash)
    return false;
  *slash = '\0';
  int needed = snprintf(path, PATH_MAX, "%s/../sfctl", self);
  struct stat found;
  return needed < PATH_MAX && stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

sfctl_outcome_t sfctl_show(const char *what)
{
  char beside[PATH_MAX];
  const char *program = getenv("SFCTL");
  if (!program || !*program)
    program = find_beside(beside) ? beside : "sfctl";
  char *arguments[] = {(char *)program, (char *)what, NULL};
  fflush(stdout);
  pid_t pid;
  int error = posix_spawnp(&pid, program, NULL, NULL, arguments, environ);
  if (error)
    return error == ENOENT ? SFCTL_NOT_FOUND : SFCTL_FAILED;
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return SFCTL_FAILED;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? SFCTL_SHOWN : SFCTL_FAILED;
}
