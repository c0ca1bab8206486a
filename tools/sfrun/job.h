/* Identity of the job in the ranks' environment. */
#ifndef SFRUN_JOB_H
#define SFRUN_JOB_H

#include <stdbool.h>

#include <sf/sf_status.h>

/* Sets SF_SOCKET to socket_path (NULL: unset, as ranks have different ones), SF_JOB to name or (NULL) the program's
 * name and a random number, SF_JOB_KEY to a random 128-bit key, or unsets it: mpirun would send it to other hosts in
 * clear, and daemons also distinguish users without it. Unsets SF_RANK and SF_SIZE of a surrounding job. Sets
 * SFRUN_DEVICE_QUEUES to the maximum if it is not set. */
sf_status_t sfrun_job_set_environment(const char *socket_path, const char *name, const char *program, bool with_key);

/* Variable of the driver: hardware queues of a device that streams share. */
#define SFRUN_DEVICE_QUEUES "CUDA_DEVICE_MAX_CONNECTIONS"

#endif
