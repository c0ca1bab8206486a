/* Runs sfctl and reads its JSON by the names that sfctl(1) promises. Runs in each rank's only thread. */
#include "tools/sfperf/daemon.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ANSWER = 1 << 20 };

void sfperf_daemon_find_sfctl(char path[PATH_MAX])
{
  static const char name[] = "/sfctl";
  ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof name);
  char *slash = len > 0 ? memrchr(path, '/', (size_t)len) : NULL;
  if (slash)
    memcpy(slash, name, sizeof name);
  if (!slash || access(path, X_OK) != 0)
    strcpy(path, name + 1);
}

/* What `sfctl COMMAND --json` prints, to be freed; NULL if it fails. */
static char *ask(const char *command)
{
  char path[PATH_MAX], line[PATH_MAX + 64];
  sfperf_daemon_find_sfctl(path);
  if (strchr(path, '\''))
    return NULL;
  snprintf(line, sizeof line, "'%s' %s --json 2>/dev/null", path, command);
  FILE *pipe = popen(line, "re");
  char *text = calloc(1, MAX_ANSWER);
  if (pipe && text)
    text[fread(text, 1, MAX_ANSWER - 1, pipe)] = '\0';
  int status = pipe ? pclose(pipe) : -1;
  if (status == 0 && text)
    return text;
  free(text);
  return NULL;
}

/* The number of the first member of this name. */
static bool member(const char *json, const char *name, uint64_t *value_p)
{
  const char *at = strstr(json, name);
  char *end;
  if (!at)
    return false;
  at += strlen(name);
  *value_p = strtoull(at, &end, 10);
  return end != at;
}

bool sfperf_daemon_parse(const char *json, sfperf_traffic_t *traffic_p)
{
  static const struct {
    const char *kind;
    bool is_message; /* else the data of another message, with which they share a frame */
  } kinds[] = {{"\"kind\":\"data\"", true},
               {"\"kind\":\"array\"", true},
               {"\"kind\":\"array-data\"", false},
               {"\"kind\":\"array-done\"", true}};
  sfperf_traffic_t sum = {0}, one;
  if (json[strspn(json, " \n")] != '[')
    return false;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    for (const char *at = strstr(json, kinds[k].kind); at; at = strstr(at + 1, kinds[k].kind)) {
      if (!member(at, "\"messages_sent\":", &one.messages) || !member(at, "\"payload_sent\":", &one.payload))
        return false;
      sum.messages += kinds[k].is_message ? one.messages : 0;
      sum.payload += one.payload;
    }
  *traffic_p = sum;
  return true;
}

bool sfperf_daemon_traffic(sfperf_traffic_t *traffic_p)
{
  char *json = ask("peers");
  bool good = json && sfperf_daemon_parse(json, traffic_p);
  free(json);
  return good;
}

int sfperf_daemon_pid(void)
{
  char *json = ask("status");
  uint64_t pid = 0;
  bool good = json && member(json, "\"pid\":", &pid) && pid <= INT_MAX;
  free(json);
  return good ? (int)pid : 0;
}
