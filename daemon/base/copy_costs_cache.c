/* Kept copy costs: see copy_costs_cache.h. The file has a line that says of what the figures are, and the figures in
 * the order of sfshm_costs_t. The reader formats the figures that it finds and compares the texts, by which it finds
 * what is malformed as well as what was measured elsewhere. */
#include "daemon/base/copy_costs_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/copy_costs.h"
#include "daemon/base/cpu_cache.h"
#include "daemon/base/daemon.h"
#include "daemon/base/log.h"
#include "shm/base/clock.h"

#define TEXT_SIZE 1024
#define MOST_PS 1000000000u
#define KEPT_S (24 * 3600)
#define FEW_PREEMPTIONS 4 /* in a measurement: by work that is over soon */
#define FIGURES (sizeof(sfshm_costs_t) / sizeof(uint32_t))

typedef union sfd_kept {
  sfshm_costs_t costs;
  uint32_t figures[FIGURES];
} sfd_kept_t;

/* Reads the beginning of a file and closes it; "" on failure, also for descriptor -1. */
static void read_text(int fd, char text[TEXT_SIZE])
{
  ssize_t length = fd < 0 ? -1 : read(fd, text, TEXT_SIZE - 1);
  text[length < 0 ? 0 : length] = '\0';
  if (fd >= 0)
    close(fd);
}

/* Returns the length. */
static size_t format(const sfd_kept_t *kept, char text[TEXT_SIZE])
{
  char processor[TEXT_SIZE];
  sfd_cpus_t allowed = {0};
  struct utsname host = {0};
  int count = 0;
  uname(&host);
  sfd_cpus_of(0, &allowed);
  for (int cpu = 0; cpu < SFD_MAX_CPUS; cpu++)
    count += sfd_cpus_have(&allowed, cpu);
  read_text(open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC), processor);
  const char *model = strstr(processor, "model name");
  int length =
      snprintf(text, TEXT_SIZE, "1, %s, %s %s, %.*s, %d of %ld processors, %s\n", SFD_SOFTWARE, host.machine,
               host.release, model ? (int)strcspn(model, "\n") : 0, model, count, sysconf(_SC_NPROCESSORS_ONLN),
               sfd_cpu_cache_of(SFD_CPU_DIRECTORY, &allowed) < 0 ? "apart" : "of one cache");
  for (size_t i = 0; i < FIGURES && length < TEXT_SIZE; i++)
    length += snprintf(text + length, TEXT_SIZE - (size_t)length, "%u\n", kept->figures[i]);
  return strlen(text);
}

/* Opens a file or directory that only this user can write to; a file that is too old counts as none. */
static int open_own(int directory, const char *path, mode_t type)
{
  struct stat facts;
  int fd = openat(directory, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 ||
      (fstat(fd, &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & (S_IFMT | S_IWGRP | S_IWOTH)) == type &&
       (type == S_IFDIR || llabs((long long)(time(NULL) - facts.st_mtime)) < KEPT_S)))
    return fd;
  close(fd);
  errno = EPERM;
  return -1;
}

/* The directory, and the file's name in it. make: the directory and that above it, if they are not there. */
static int open_directory(bool make, char name[NAME_MAX])
{
  const char *const bases[] = {geteuid() == 0 ? getenv("CACHE_DIRECTORY") : NULL, getenv("XDG_CACHE_HOME"),
                               getenv("HOME")};
  static const char *const below[] = {"", "/sfd", "/.cache/sfd"};
  char path[PATH_MAX] = "", *last;
  for (size_t i = 0; i < 3 && path[0] == '\0'; i++)
    if (bases[i] != NULL && bases[i][0] == '/')
      snprintf(path, sizeof path, "%s%s", bases[i], below[i]);
  if (make && (last = strrchr(path, '/')) != NULL) {
    *last = '\0';
    mkdir(path, 0700);
    *last = '/';
    mkdir(path, 0700);
  }
  snprintf(name, NAME_MAX, "copy-costs.");
  gethostname(name + strlen(name), HOST_NAME_MAX + 1);
  return open_own(AT_FDCWD, path, S_IFDIR);
}

bool sfd_copy_costs_load(sfshm_costs_t *costs_p)
{
  char name[NAME_MAX], found[TEXT_SIZE], expected[TEXT_SIZE];
  sfd_kept_t kept;
  int directory = open_directory(false, name);
  if (directory < 0)
    return false;
  read_text(open_own(directory, name, S_IFREG), found);
  close(directory);
  char *next = found + strcspn(found, "\n");
  for (size_t i = 0; i < FIGURES; i++) {
    kept.figures[i] = (uint32_t)strtoul(next, &next, 10);
    if (i < offsetof(sfshm_costs_t, measured) / sizeof(uint32_t) && kept.figures[i] - 1 >= MOST_PS)
      return false;
  }
  format(&kept, expected);
  if (strcmp(found, expected) != 0 || kept.costs.measured != 1 || kept.costs.nontemporal > SFSHM_NONTEMPORAL_ALL)
    return false;
  *costs_p = kept.costs;
  return true;
}

bool sfd_copy_costs_save(const sfshm_costs_t *costs)
{
  char name[NAME_MAX], temporary[NAME_MAX + 64], text[TEXT_SIZE];
  size_t length = format(&(sfd_kept_t){.costs = *costs}, text);
  int directory = open_directory(true, name);
  snprintf(temporary, sizeof temporary, "%s.%d.%lld", name, (int)getpid(), (long long)sfshm_now_ns());
  int fd = directory < 0 ? -1 : openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool done =
      fd >= 0 && write(fd, text, length) == (ssize_t)length && renameat(directory, temporary, directory, name) == 0;
  if (!done)
    sfd_log(SFD_LOG_MAIN, SFD_DEBUG, "copy costs can't be kept: %s", strerror(errno));
  if (fd >= 0 && !done)
    unlinkat(directory, temporary, 0);
  if (fd >= 0)
    close(fd);
  if (directory >= 0)
    close(directory);
  return done;
}

static long preemptions(void)
{
  struct rusage usage = {0};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

void sfd_copy_costs_find(bool again, sfshm_costs_t *costs_p)
{
  if (!again && sfd_copy_costs_load(costs_p)) {
    sfd_log(SFD_LOG_MAIN, SFD_DEBUG, "copy costs are those that were kept");
    return;
  }
  long before = preemptions();
  sfd_copy_costs_measure(costs_p);
  long preempted = preemptions() - before;
  sfd_log(SFD_LOG_MAIN, SFD_DEBUG, "copy costs are %s; preempted %ld times",
          costs_p->measured ? "measured" : "built in", preempted);
  if (costs_p->measured && preempted <= FEW_PREEMPTIONS)
    (void)sfd_copy_costs_save(costs_p);
}
