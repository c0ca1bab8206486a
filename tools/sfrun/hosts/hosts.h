/* Hosts of a job. */
#ifndef SFRUN_HOSTS_HOSTS_H
#define SFRUN_HOSTS_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/mpi.h"

#define SFRUN_HOST_BYTES 254

typedef struct sfrun_host {
  char name[SFRUN_HOST_BYTES];
  int32_t slots; /* ranks; 0: not given */
} sfrun_host_t;

/* All zero: none. Each host occurs once. */
typedef struct sfrun_hosts {
  sfrun_host_t *hosts;
  int32_t count;
} sfrun_hosts_t;

/* Reads lines HOST, HOST slots=N, or HOST:N; # begins a comment; repeated hosts add slots. SF_ERR_ARG (with the line),
 * SF_ERR_LIMIT, SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_hosts_read(const char *path, sfrun_hosts_t *hosts_p);

/* Whether this is a Slurm job over several hosts. */
bool sfrun_hosts_in_slurm(void);

/* Hosts of the Slurm job, by scontrol. SF_ERR_STATE: no scontrol; SF_ERR_ARG: it failed; else as above. */
sf_status_t sfrun_hosts_from_slurm(sfrun_hosts_t *hosts_p);

void sfrun_hosts_free(sfrun_hosts_t *hosts); /* twice is allowed */

/* Index of the host of that name, without domains; -1: none, also if the list has its address. */
int32_t sfrun_hosts_find(const sfrun_hosts_t *hosts, const char *name);

/* Writes a hostfile for that MPI. SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_hosts_write(const sfrun_hosts_t *hosts, sfrun_mpi_t mpi, const char *directory, const char *name);

#endif
