/* sfctl doctor: cores, memory and devices, from /proc, /sys and /dev. The one thread of sfctl. */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/core.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/doctor/doctor.h"
#include "tools/sfrun/mpi/cpus.h"

#define FULL_PERCENT 90 /* of a memory limit */

/* The begin of a file below root, without the last newline. */
static bool read_text(const sfctl_doctor_t *doctor, const char *path, char *text, size_t size)
{
  char full[PATH_MAX];
  if (snprintf(full, sizeof full, "%s%s", doctor->root, path) >= (int)sizeof full)
    return false;
  FILE *file = fopen(full, "re");
  if (file == NULL)
    return false;
  size_t length = fread(text, 1, size - 1, file);
  fclose(file);
  text[length] = '\0';
  if (length > 0 && text[length - 1] == '\n')
    text[length - 1] = '\0';
  return length > 0;
}

/* ---- Cores ---- */

static void examine_cores(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  char text[128];
  double load = 0;
  sfrun_cpus_t cpus = sfrun_cpus_count();
  if (!read_text(doctor, "/proc/loadavg", text, sizeof text) || sscanf(text, "%lf", &load) != 1) {
    sfctl_report_add(report, "cores", SFCTL_FINE, "%d cores, %d hardware threads; the load is not known", cpus.ncores,
                     cpus.ncpus);
    return;
  }
  bool busy = load > cpus.ncpus;
  sfctl_report_add(report, "cores", busy ? SFCTL_WARNING : SFCTL_FINE,
                   "%d cores, %d hardware threads that this process may use; load of the last minute %.2f", cpus.ncores,
                   cpus.ncpus, load);
  if (busy)
    sfctl_report_advise(report, "see by top what else runs: ranks that share a core wait for each other");
}

/* ---- Memory ---- */

/* Version of cgroups, and names of its files. */
typedef struct hierarchy {
  const char *mount, *limit, *used, *reclaimable;
} hierarchy_t;

static const hierarchy_t version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                      "total_inactive_file "};
static const hierarchy_t version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};

/* A line is number:controllers:path; version 2 has no controllers. */
static const hierarchy_t *find_cgroup(char *text, char path[PATH_MAX])
{
  const hierarchy_t *found = NULL;
  char *rest = text, *line;
  while ((line = strsep(&rest, "\n")) != NULL && found != &version_1) {
    char *first = strchr(line, ':'), *second = first != NULL ? strchr(first + 1, ':') : NULL;
    if (second == NULL)
      continue;
    *second = '\0';
    bool is_memory = strcmp(first + 1, "memory") == 0;
    if (!is_memory && first[1] != '\0')
      continue;
    found = is_memory ? &version_1 : &version_2;
    snprintf(path, PATH_MAX, "%s", second + 1);
  }
  return found;
}

static bool read_number(const sfctl_doctor_t *doctor, const hierarchy_t *kind, const char *path, const char *name,
                        uint64_t *number_p)
{
  char file[PATH_MAX], text[64], *end;
  snprintf(file, sizeof file, "%s%.3000s/%s", kind->mount, path, name);
  if (!read_text(doctor, file, text, sizeof text))
    return false;
  uint64_t number = strtoull(text, &end, 10);
  if (end == text || *end != '\0') /* "max" */
    return false;
  *number_p = number;
  return true;
}

/* The lowest limit of the cgroup and those above it; path becomes that of the cgroup with it. */
static bool find_limit(const sfctl_doctor_t *doctor, const hierarchy_t *kind, char path[PATH_MAX], uint64_t *limit_p)
{
  char at[PATH_MAX];
  bool found = false;
  snprintf(at, sizeof at, "%s", strcmp(path, "/") == 0 ? "" : path);
  for (;;) {
    uint64_t limit;
    if (read_number(doctor, kind, at, kind->limit, &limit) && (!found || limit < *limit_p)) {
      found = true;
      *limit_p = limit;
      snprintf(path, PATH_MAX, "%s", at);
    }
    char *slash = strrchr(at, '/');
    if (slash == NULL)
      return found;
    *slash = '\0';
  }
}

/* Without memory that the kernel can reclaim at once. */
static uint64_t memory_in_use(const sfctl_doctor_t *doctor, const hierarchy_t *kind, const char *path)
{
  char file[PATH_MAX], text[8192];
  uint64_t used = 0, cached = 0;
  if (!read_number(doctor, kind, path, kind->used, &used))
    return 0;
  snprintf(file, sizeof file, "%s%.3000s/memory.stat", kind->mount, path);
  if (!read_text(doctor, file, text, sizeof text))
    return used;
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, kind->reclaimable, strlen(kind->reclaimable)) == 0)
      cached = strtoull(line + strlen(kind->reclaimable), NULL, 10);
  }
  return cached < used ? used - cached : 0;
}

static uint64_t machine_memory(const sfctl_doctor_t *doctor)
{
  char text[256];
  uint64_t kib = 0;
  if (!read_text(doctor, "/proc/meminfo", text, sizeof text) || sscanf(text, "MemTotal: %" SCNu64, &kib) != 1)
    return UINT64_MAX;
  return kib * 1024;
}

static void examine_memory(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  char text[4096], path[PATH_MAX], a[SFREPORT_TEXT_SIZE], b[SFREPORT_TEXT_SIZE];
  uint64_t limit = UINT64_MAX, total = machine_memory(doctor);
  const hierarchy_t *kind = read_text(doctor, "/proc/self/cgroup", text, sizeof text) ? find_cgroup(text, path) : NULL;
  if (kind == NULL || !find_limit(doctor, kind, path, &limit) || limit >= total) {
    sfctl_report_add(report, "memory", SFCTL_FINE, "%s, not limited by a cgroup",
                     total != UINT64_MAX ? sfreport_text_bytes(total, a) : "not known how much");
    return;
  }
  uint64_t used = memory_in_use(doctor, kind, path);
  bool full = used > limit / 100 * FULL_PERCENT;
  sfctl_report_add(report, "memory", full ? SFCTL_WARNING : SFCTL_FINE, "limited by a cgroup to %s, %s in use",
                   sfreport_text_bytes(limit, a), sfreport_text_bytes(used, b));
  if (full)
    sfctl_report_advise(report, "raise the container's or the job's memory limit: shared memory counts too");
}

/* Finds the active one of "always [never] deny". */
static void examine_huge_pages(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  char text[128];
  const char *begin = NULL;
  if (read_text(doctor, "/sys/kernel/mm/transparent_hugepage/shmem_enabled", text, sizeof text))
    begin = strchr(text, '[');
  sfctl_report_add(report, "huge-pages", SFCTL_FINE, "transparent huge pages for shared memory: %.*s",
                   begin != NULL ? (int)strcspn(begin + 1, "]") : 9, begin != NULL ? begin + 1 : "not known");
}

/* ---- Devices ---- */

/* How the driver loads kernels, and how many queues streams share. */
static void examine_driver(const char *text, const sfshm_device_ops_t *ops, sfctl_report_t *report)
{
  sfshm_device_info_t info = {0};
  const char *queues = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  bool known = ops->describe(0, &info) == SF_OK;
  sfctl_report_add(report, "gpu", SFCTL_FINE, "%.200s: CUDA %d.%d, memory of devices can be registered%s", text,
                   info.driver_version / 1000, info.driver_version % 1000 / 10,
                   known && info.driver_version < SFSHM_DEVICE_DRIVER_COMPILED
                       ? "; the driver compiles the kernels when they are first used (not from CUDA 13 on)"
                       : "");
  sfctl_report_add(report, "gpu-queues", SFCTL_FINE, "streams of a process share %s hardware queues of a device%s",
                   queues != NULL ? queues : "8",
                   queues != NULL ? "" : ", under sfrun 32 (CUDA_DEVICE_MAX_CONNECTIONS)");
}

/* Loads the plugin, as libsfclient would, if there is a driver or the plugin is named. */
static void examine_gpu(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  char text[256] = "SF_CUDA_PLUGIN is set", device[PATH_MAX];
  const char *given = getenv("SF_CUDA_PLUGIN");
  const sfshm_device_ops_t *ops;
  snprintf(device, sizeof device, "%.4000s/dev/nvidiactl", doctor->root);
  if (read_text(doctor, "/proc/driver/nvidia/version", text, sizeof text)) {
    text[strcspn(text, "\n")] = '\0';
  } else if (access(device, F_OK) == 0) {
    snprintf(text, sizeof text, "a CUDA device");
  } else if (given == NULL || *given == '\0') {
    sfctl_report_add(report, "gpu", SFCTL_FINE, "no CUDA driver: memory of devices is for machines that have one");
    return;
  }
  if (sfshm_device_load(&ops) == SF_OK) {
    examine_driver(text, ops, report);
    return;
  }
  sfctl_report_add(report, "gpu", SFCTL_WARNING, "%.200s, but memory of devices cannot be registered: %s", text,
                   sfshm_error_detail());
  sfctl_report_advise(report,
                      "install a driver of CUDA %d.%d or later, and libsf_cuda.so (built where nvcc is), or name "
                      "that by SF_CUDA_PLUGIN",
                      SFSHM_DEVICE_DRIVER_LEAST / 1000, SFSHM_DEVICE_DRIVER_LEAST % 1000 / 10);
}

void sfctl_doctor_examine_machine(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  examine_cores(doctor, report);
  examine_memory(doctor, report);
  examine_huge_pages(doctor, report);
  examine_gpu(doctor, report);
}
