/* Number of processors that this process may use. */
#ifndef SFRUN_MPI_CPUS_H
#define SFRUN_MPI_CPUS_H

typedef struct sfrun_cpus {
  int ncpus;  /* hardware threads in the affinity mask, at least 1 */
  int ncores; /* cores of these: 1..ncpus */
} sfrun_cpus_t;

sfrun_cpus_t sfrun_cpus_count(void);

#endif
