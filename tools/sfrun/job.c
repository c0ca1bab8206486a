/* The identity of the job that sfrun starts. Single-threaded: changes the environment. */
#include "tools/sfrun/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "shm/error.h"

sf_status_t sfrun_job_set_environment(const char *socket_path)
{
  uint64_t random[3];
  char host[65] = "", job[128], key[33];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return sfshm_error_errno(SF_ERR_SYS, "random number for the job's name and key");
  gethostname(host, sizeof host - 1);
  snprintf(job, sizeof job, "%s-%d-%08" PRIx32, *host ? host : "host", (int)getpid(), (uint32_t)random[2]);
  snprintf(key, sizeof key, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);

  if (!socket_path)
    unsetenv("SF_SOCKET");
  if ((socket_path && setenv("SF_SOCKET", socket_path, 1)) || setenv("SF_JOB", job, 1) || setenv("SF_JOB_KEY", key, 1))
    return sfshm_error_errno(SF_ERR_SYS, "environment of the job");
  unsetenv("SF_RANK");
  unsetenv("SF_SIZE");
  return SF_OK;
}
