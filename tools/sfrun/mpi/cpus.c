/* Processors: see cpus.h. Counts cores besides hardware threads, as Open MPI's slots are cores. */
#include "tools/sfrun/mpi/cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#define MAX_CPUS 8192 /* the most that Linux supports */

/* A hardware thread counts as a core if it is the core's first one in the mask. The kernel lists threads in ascending
 * order; without a list each counts. */
static bool stands_for_core(int cpu, const cpu_set_t *set, size_t set_bytes)
{
  char path[80];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE *file = fopen(path, "re");
  if (!file)
    return true;
  int first = cpu, last = cpu;
  bool stands = true;
  while (stands && fscanf(file, "%d", &first) == 1 && first < cpu) {
    if (fscanf(file, "-%d", &last) != 1)
      last = first;
    for (int sibling = first; sibling <= last && sibling < cpu; sibling++)
      stands = stands && !CPU_ISSET_S((size_t)sibling, set_bytes, set);
    if (fgetc(file) != ',')
      break;
  }
  fclose(file);
  return stands;
}

sfrun_cpus_t sfrun_cpus_count(void)
{
  sfrun_cpus_t cpus = {.ncpus = 0, .ncores = 0};
  size_t set_bytes = CPU_ALLOC_SIZE(MAX_CPUS);
  cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
  if (set && sched_getaffinity(0, set_bytes, set) == 0)
    for (int cpu = 0; cpu < MAX_CPUS; cpu++)
      if (CPU_ISSET_S((size_t)cpu, set_bytes, set)) {
        cpus.ncpus++;
        cpus.ncores += stands_for_core(cpu, set, set_bytes);
      }
  CPU_FREE(set);
  return cpus.ncpus ? cpus : (sfrun_cpus_t){.ncpus = 1, .ncores = 1};
}
