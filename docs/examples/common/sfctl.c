/* Lets an example show what the daemon knows about it. Used by one thread. */
#include "common/sfctl.h"

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

/* The program to run; beside is where its name may be put. */
static const char *find_program(char beside[PATH_MAX])
{
  const char *program = getenv("SFCTL");
  if (program && *program)
    return program;
  return find_beside(beside) ? beside : "sfctl";
}

sfctl_outcome_t sfctl_show(const char *what)
{
  char beside[PATH_MAX];
  const char *program = find_program(beside);
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

/* Reads the two numbers of each line of `sfctl peers --json`, which tells about one peer; names as in sfctl(1). */
static bool read_traffic(FILE *file, sfctl_traffic_t *traffic)
{
  char *line = NULL;
  size_t size_bytes = 0;
  bool good = true;
  while (getline(&line, &size_bytes, file) >= 0) {
    const char *data = strstr(line, "\"kind\":\"data\"");
    const char *messages = data ? strstr(data, "\"messages_sent\":") : NULL;
    const char *bytes = data ? strstr(data, "\"payload_sent\":") : NULL;
    if (messages && bytes) {
      traffic->messages += strtoull(messages + strlen("\"messages_sent\":"), NULL, 10);
      traffic->bytes += strtoull(bytes + strlen("\"payload_sent\":"), NULL, 10);
    }
    good = good && !data == !(messages && bytes);
  }
  free(line);
  return good;
}

bool sfctl_ask_traffic(sfctl_traffic_t *traffic_p)
{
  char beside[PATH_MAX], command[PATH_MAX + 64];
  sfctl_traffic_t traffic = {0};
  int needed = snprintf(command, sizeof command, "\"%s\" peers --json 2>/dev/null", find_program(beside));
  FILE *file = needed < (int)sizeof command ? popen(command, "re") : NULL;
  bool good = file && read_traffic(file, &traffic);
  good = file && pclose(file) == 0 && good;
  if (good)
    *traffic_p = traffic;
  return good;
}
