/* Identity of the job: see job.h. Single-threaded: changes the environment. */
#include "tools/sfrun/job.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shm/base/error.h"

#define PROGRAM_MAX 40 /* characters of its name */
#define NAME_BYTES 64

/* The program's name as far as it can be typed, and a number that makes it unique. */
static void make_name(const char *program, uint32_t number, char name_p[NAME_BYTES])
{
  const char *slash = strrchr(program, '/');
  const char *base = slash && slash[1] ? slash + 1 : program;
  int length = 0;
  for (; base[length] && length < PROGRAM_MAX; length++)
    name_p[length] = isalnum((unsigned char)base[length]) || strchr("._+-", base[length]) ? base[length] : '_';
  snprintf(name_p + length, (size_t)(NAME_BYTES - length), "-%08" PRIx32, number);
}

sf_status_t sfrun_job_set_environment(const char *socket_path, const char *name, const char *program, bool with_key)
{
  uint64_t random[3];
  char job[NAME_BYTES], key[33];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return sfshm_error_errno(SF_ERR_SYS, "random number for the job's name and key");
  make_name(program, (uint32_t)random[2], job);
  snprintf(key, sizeof key, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);

  if (!socket_path)
    unsetenv("SF_SOCKET");
  if (!with_key)
    unsetenv("SF_JOB_KEY");
  if ((socket_path && setenv("SF_SOCKET", socket_path, 1)) || setenv("SF_JOB", name ? name : job, 1) ||
      (with_key && setenv("SF_JOB_KEY", key, 1)))
    return sfshm_error_errno(SF_ERR_SYS, "environment of the job");
  if (setenv(SFRUN_DEVICE_QUEUES, "32", 0) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "environment of the job");
  unsetenv("SF_RANK");
  unsetenv("SF_SIZE");
  return SF_OK;
}
