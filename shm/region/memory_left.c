/* Remaining memory: see memory_left.h. */
#include "shm/region/memory_left.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "shm/base/error.h"

#define PATH_SIZE 4608 /* of a file of a group */
#define LINE_SIZE 4224

/* File names of one cgroup version. */
typedef struct version {
  const char *directory; /* below sys */
  const char *limit;
  const char *usage;
  const char *files[2]; /* in memory.stat: pages of files, which can be taken back */
  const char *swap_limit;
  const char *swap_usage; /* NULL: not looked at */
} version_t;

static const version_t version_1 = {
    "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}, NULL,
    NULL};
static const version_t version_2 = {
    "", "memory.max", "memory.current", {"inactive_file", "active_file"}, "memory.swap.max", "memory.swap.current"};

static uint64_t add(uint64_t a, uint64_t b)
{
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Sum of the values of two names at line starts, "name value" or "name: value". */
static uint64_t sum_of(const char *path, const char *const names[2])
{
  char line[256], name[128];
  uint64_t value, sum = 0;
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "%127[^: ]%*[: ]%" SCNu64, name, &value) == 2 &&
        (strcmp(name, names[0]) == 0 || strcmp(name, names[1]) == 0))
      sum = add(sum, value);
  fclose(file);
  return sum;
}

/* Returns false if the file does not exist or has no number, like "max". */
static bool read_number(const char *group, const char *name, uint64_t *value_p)
{
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s", group, name);
  FILE *file = fopen(path, "re");
  bool found = file != NULL && fscanf(file, "%" SCNu64, value_p) == 1;
  if (file != NULL)
    fclose(file);
  return found;
}

static uint64_t swap_left(const version_t *version, const char *group, const char *meminfo)
{
  static const char *const swap_free[] = {"SwapFree", "SwapFree"};
  uint64_t limit, used, machine = sum_of(meminfo, swap_free) * 1024;
  if (version->swap_limit == NULL || !read_number(group, version->swap_limit, &limit) ||
      !read_number(group, version->swap_usage, &used))
    return machine;
  uint64_t left = limit > used ? limit - used : 0;
  return left < machine ? left : machine;
}

/* A group's statistics are slow to read; they are skipped if its limit leaves enough. */
typedef struct question {
  uint64_t enough;
  const char *meminfo; /* path */
} question_t;

static uint64_t left_in_group(const version_t *version, const char *group, const question_t *question)
{
  uint64_t limit, used;
  char path[PATH_SIZE];
  if (!read_number(group, version->limit, &limit) || !read_number(group, version->usage, &used))
    return UINT64_MAX;
  uint64_t left = limit > used ? limit - used : 0;
  if (left >= question->enough)
    return left;
  snprintf(path, sizeof path, "%s/memory.stat", group);
  return add(add(left, sum_of(path, version->files)), swap_left(version, group, question->meminfo));
}

/* Minimum over a group and its ancestors. group ends in the path; root: its prefix above the topmost group. */
static uint64_t left_in_groups(const version_t *version, char *group, size_t root, const question_t *question)
{
  uint64_t least = UINT64_MAX;
  for (;;) {
    uint64_t left = left_in_group(version, group, question);
    least = left < least ? left : least;
    char *slash = strrchr(group, '/');
    if (slash == NULL || (size_t)(slash - group) < root)
      return least;
    *slash = '\0';
  }
}

/* "4:memory:/a/b" in version 1, "0::/a/b" in version 2; other controllers are ignored. */
static uint64_t left_by_line(char *line, const char *sys, const question_t *question)
{
  char group[LINE_SIZE + 256];
  char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
  if (path == NULL)
    return UINT64_MAX;
  *path++ = '\0';
  path[strcspn(path, "\n")] = '\0';
  const version_t *version = strcmp(controllers + 1, "memory") == 0 ? &version_1 : &version_2;
  if (version == &version_2 && controllers[1] != '\0')
    return UINT64_MAX;
  int root = snprintf(group, sizeof group, "%.200s%s", sys, version->directory);
  snprintf(group + root, sizeof group - (size_t)root, "%s", strcmp(path, "/") == 0 ? "" : path);
  return left_in_groups(version, group, (size_t)root, question);
}

uint64_t sfshm_memory_left(const char *proc, const char *sys, uint64_t enough)
{
  static const char *const available[] = {"MemAvailable", "SwapFree"};
  char meminfo[256], path[256], line[LINE_SIZE];
  snprintf(meminfo, sizeof meminfo, "%.200s/meminfo", proc);
  uint64_t machine = sum_of(meminfo, available) * 1024;
  question_t question = {enough, meminfo};
  uint64_t least = machine > 0 ? machine : UINT64_MAX;
  snprintf(path, sizeof path, "%.200s/self/cgroup", proc);
  FILE *file = fopen(path, "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    uint64_t left = left_by_line(line, sys, &question);
    least = left < least ? left : least;
  }
  if (file != NULL)
    fclose(file);
  return least;
}

sf_status_t sfshm_memory_check_file(size_t length_bytes)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || length_bytes <= limit.rlim_cur)
    return SF_OK;
  return sfshm_error(SF_ERR_LIMIT,
                     "%zu bytes of shared memory are more than the %llu that a file of this process may have (ulimit "
                     "-f, RLIMIT_FSIZE)",
                     length_bytes, (unsigned long long)limit.rlim_cur);
}
