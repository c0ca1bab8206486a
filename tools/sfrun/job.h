/* The identity of the job that sfrun starts, as its ranks find it in the environment. */
#ifndef SFRUN_JOB_H
#define SFRUN_JOB_H

#include <stdbool.h>

#include <sf/sf_status.h>

/* Sets SF_SOCKET to socket_path (NULL: unsets it, as the ranks have different ones), SF_JOB to the name, or if that is
 * NULL to the program's and a random number, SF_JOB_KEY to a random 128-bit key, or unsets it: mpirun would send it to
 * other hosts in clear, and daemons tell users apart without it; unsets SF_RANK and SF_SIZE, which would otherwise give
 * all ranks the rank of a surrounding job. Sets SFRUN_DEVICE_QUEUES to the most there are, if it is not set. */
sf_status_t sfrun_job_set_environment(const char *socket_path, const char *name, const char *program, bool with_key);

/* How many hardware queues of a device streams share, by the driver's variable. */
#define SFRUN_DEVICE_QUEUES "CUDA_DEVICE_MAX_CONNECTIONS"

#endif
