/* Caches of processors: see cpu_cache.h. */
#include "daemon/base/cpu_cache.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS 4 /* the kernel numbers caches of a processor: 0 and 1 are of level 1, for data and instructions */

/* Adds processors such as "0-7,64-71". */
static bool add_list(const char *text, sfd_cpus_t *cpus)
{
  while (*text != '\0' && *text != '\n') {
    char *end;
    long first = strtol(text, &end, 10), last = first;
    if (end == text || first < 0)
      return false;
    if (*end == '-')
      last = strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last && cpu < SFD_MAX_CPUS; cpu++)
      sfd_cpus_add(cpus, (int)cpu);
    text = *end == ',' ? end + 1 : end;
  }
  return true;
}

static bool read_list(const char *directory, int cpu, int cache, sfd_cpus_t *cpus)
{
  char path[PATH_MAX], text[4096];
  snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/shared_cpu_list", directory, cpu, cache);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return false;
  bool done = fgets(text, sizeof text, file) != NULL && add_list(text, cpus);
  fclose(file);
  return done;
}

bool sfd_cpu_cache_sharers(const char *directory, int cpu, sfd_cpus_t *sharers)
{
  memset(sharers, 0, sizeof *sharers);
  for (int cache = LEVELS; cache >= 2; cache--)
    if (read_list(directory, cpu, cache, sharers))
      return sfd_cpus_have(sharers, cpu);
  return false;
}

static int first_of(const sfd_cpus_t *cpus)
{
  int cpu = 0;
  while (cpu < SFD_MAX_CPUS && !sfd_cpus_have(cpus, cpu))
    cpu++;
  return cpu;
}

int32_t sfd_cpu_cache_of(const char *directory, const sfd_cpus_t *cpus)
{
  sfd_cpus_t sharers;
  int first = first_of(cpus);
  if (first == SFD_MAX_CPUS || !sfd_cpu_cache_sharers(directory, first, &sharers))
    return -1;
  for (int cpu = first; cpu < SFD_MAX_CPUS; cpu++)
    if (sfd_cpus_have(cpus, cpu) && !sfd_cpus_have(&sharers, cpu))
      return -1;
  return first_of(&sharers);
}
