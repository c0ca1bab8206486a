/* The hosts that a job runs on. */
#ifndef SFRUN_HOSTS_HOSTS_H
#define SFRUN_HOSTS_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/mpi.h"

#define SFRUN_HOST_BYTES 254

typedef struct sfrun_host {
  char name[SFRUN_HOST_BYTES];
  int32_t slots; /* ranks that it takes; 0: not said */
} sfrun_host_t;

/* All zero: none. Each host is there once. */
typedef struct sfrun_hosts {
  sfrun_host_t *hosts;
  int32_t count;
} sfrun_hosts_t;

/* Reads a file with lines HOST, HOST slots=N, or HOST:N; from # on a line is comment; a host that comes again adds its
 * slots. SF_ERR_ARG (with the line), SF_ERR_LIMIT, SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_hosts_read(const char *path, sfrun_hosts_t *hosts_p);

/* Whether this is a Slurm job over several hosts. */
bool sfrun_hosts_in_slurm(void);

/* The hosts of the Slurm job, as scontrol knows them. SF_ERR_STATE: no scontrol; SF_ERR_ARG: it failed; else as above.
 */
sf_status_t sfrun_hosts_from_slurm(sfrun_hosts_t *hosts_p);

void sfrun_hosts_free(sfrun_hosts_t *hosts); /* twice is allowed */

/* Which host calls itself that; domains are passed over. -1: none, as with one that the list names by its address. */
int32_t sfrun_hosts_find(const sfrun_hosts_t *hosts, const char *name);

/* Writes a hostfile as that MPI wants it. SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_hosts_write(const sfrun_hosts_t *hosts, sfrun_mpi_t mpi, const char *directory, const char *name);

#endif
