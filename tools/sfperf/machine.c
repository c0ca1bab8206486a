/* Binding of ranks to cores. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/machine.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/fail.h"

static bool disjoint(const cpu_set_t masks[], int count)
{
  cpu_set_t seen;
  CPU_ZERO(&seen);
  for (int i = 0; i < count; i++) {
    cpu_set_t common;
    CPU_AND(&common, &seen, &masks[i]);
    if (CPU_COUNT(&common) > 0)
      return false;
    CPU_OR(&seen, &seen, &masks[i]);
  }
  return true;
}

static bool equal(const cpu_set_t masks[], int count)
{
  for (int i = 1; i < count; i++)
    if (!CPU_EQUAL(&masks[0], &masks[i]))
      return false;
  return true;
}

static int nth_core(const cpu_set_t *mask, int n)
{
  for (size_t core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, mask) && n-- == 0)
      return (int)core;
  return -1;
}

static void pin_to(int core)
{
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET((size_t)core, &mask);
  if (sched_setaffinity(0, sizeof mask, &mask) != 0)
    sfperf_fail("cannot bind to core %d; --no-pin leaves the ranks where they are", core);
}

/* Decides from the masks of this machine's ranks; all of them come to the same result. */
static sfperf_bound_by_t bind_rank(const cpu_set_t masks[], int count, int me, bool pin)
{
  if (disjoint(masks, count))
    return SFPERF_BOUND_BY_LAUNCHER;
  if (!pin || !equal(masks, count) || CPU_COUNT(&masks[0]) < count)
    return SFPERF_BOUND_BY_NOBODY;
  pin_to(nth_core(&masks[0], me));
  return SFPERF_BOUND_BY_SFPERF;
}

static cpu_set_t my_mask(void)
{
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0)
    sfperf_fail("sched_getaffinity failed: more than %d cores?", CPU_SETSIZE);
  return mask;
}

static bool more_ranks_than_cores(const cpu_set_t masks[], int count)
{
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < count; i++)
    CPU_OR(&all, &all, &masks[i]);
  return CPU_COUNT(&all) < count;
}

/* A number of the running kernel: hosts that share cores, as network namespaces and containers do, share it. */
static int kernel_number(void)
{
  unsigned int number = 0;
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file && fscanf(file, "%8x", &number) != 1)
    number = 0;
  if (file)
    fclose(file);
  return (int)(number & INT_MAX);
}

/* The ranks among whom cores are dealt. */
static MPI_Comm ranks_of_kernel(void)
{
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, kernel_number(), 0, &comm);
  return comm;
}

static bool is_one_host(int ranks)
{
  MPI_Comm host;
  int count;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &count);
  MPI_Comm_free(&host);
  return count == ranks;
}

static void bind_ranks(sfperf_machine_t *machine, bool pin)
{
  MPI_Comm kernel = ranks_of_kernel();
  int count, me;
  MPI_Comm_size(kernel, &count);
  MPI_Comm_rank(kernel, &me);
  cpu_set_t mine = my_mask();
  cpu_set_t *masks = sfperf_malloc((size_t)count * sizeof masks[0]);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, masks, sizeof mine, MPI_BYTE, kernel);
  machine->cores_shared = more_ranks_than_cores(masks, count);
  machine->bound_by = bind_rank(masks, count, me, pin);
  free(masks);
  MPI_Comm_free(&kernel);
}

/* First and last core that this rank may use. */
static void cores_text(char text[32])
{
  cpu_set_t mask = my_mask();
  int first = nth_core(&mask, 0);
  int last = nth_core(&mask, CPU_COUNT(&mask) - 1);
  if (first == last)
    snprintf(text, 32, "%d", first);
  else
    snprintf(text, 32, "%d-%d", first, last);
}

static void list_cores(sfperf_machine_t *machine)
{
  char mine[32];
  cores_text(mine);
  char(*all)[sizeof mine] = sfperf_malloc((size_t)machine->ranks * sizeof mine);
  MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
  size_t used = 0;
  for (int i = 0; i < machine->ranks; i++) {
    if (used + strlen(all[i]) + sizeof ",,..." > sizeof machine->cores) {
      strcpy(machine->cores + used, ",...");
      break;
    }
    used += (size_t)sprintf(machine->cores + used, "%s%s", i ? "," : "", all[i]);
  }
  free(all);
}

/* Open MPI yields when it believes that cores are oversubscribed; its peers would then wait differently. */
static bool mpi_yields(void)
{
  int provided, index, count;
  MPI_T_cvar_handle handle;
  int value = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
    return false;
  if (MPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
    if (count == 1)
      MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return (value & 0xff) != 0; /* a bool or an int, depending on the version */
}

void sfperf_machine_init(sfperf_machine_t *machine, bool pin)
{
  *machine = (sfperf_machine_t){0};
  MPI_Comm_size(MPI_COMM_WORLD, &machine->ranks);
  machine->one_host = is_one_host(machine->ranks);
  bind_ranks(machine, pin);
  list_cores(machine);
  machine->mpi_yields = mpi_yields();
}

const char *sfperf_bound_by_name(sfperf_bound_by_t bound_by)
{
  switch (bound_by) {
  case SFPERF_BOUND_BY_LAUNCHER:
    return "launcher";
  case SFPERF_BOUND_BY_SFPERF:
    return "sfperf";
  default:
    return "nobody";
  }
}
