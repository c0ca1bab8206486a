/* Where the ranks run and how MPI waits: what must be the same for all contenders, and is printed with the results. */
#ifndef SFPERF_MACHINE_H
#define SFPERF_MACHINE_H

#include <stdbool.h>

typedef enum sfperf_bound_by {
  SFPERF_BOUND_BY_LAUNCHER, /* no two ranks of a machine share a core */
  SFPERF_BOUND_BY_SFPERF,   /* rank i of a machine pinned to the i-th core that its ranks may use */
  SFPERF_BOUND_BY_NOBODY,   /* --no-pin, or fewer cores than ranks, or masks that overlap in part */
} sfperf_bound_by_t;

/* A machine has a kernel and cores of its own; several hosts, in network namespaces, may be one. */
typedef struct sfperf_machine {
  int ranks;
  sfperf_bound_by_t bound_by;
  bool cores_shared; /* some machine has more ranks than cores for them */
  bool one_host;     /* all ranks on one host, as MPI sees it: they can share memory */
  bool mpi_yields;   /* MPI gives up its core while it waits, where that can be found out */
  char cores[128];   /* first-last core of each rank, separated by commas; shortened if there are many */
} sfperf_machine_t;

/* Pins the ranks if asked to and if the launcher has not, and looks around. Collective; before anything that counts
 * cores. */
void sfperf_machine_init(sfperf_machine_t *machine, bool pin);

/* "launcher", "sfperf" or "nobody". */
const char *sfperf_bound_by_name(sfperf_bound_by_t bound_by);

#endif
