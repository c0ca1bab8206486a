/* How much memory is left, by what the kernel's files say: made-up ones. */
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm/region/memory_left.h"
#include "shm/region/region.h"
#include "tests/unit/runner.h"

#define MIB (UINT64_C(1) << 20)

static char root[64], proc[80], sys[80];

static void make_file(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Below the root, with the directories on the way. */
static void make_file(const char *path, const char *format, ...)
{
  char name[256];
  va_list args;
  snprintf(name, sizeof name, "%s/%s", root, path);
  for (char *slash = strchr(name + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(name, 0700);
    *slash = '/';
  }
  FILE *file = fopen(name, "w");
  ck_assert_ptr_nonnull(file);
  va_start(args, format);
  vfprintf(file, format, args);
  va_end(args);
  fclose(file);
}

static void setup(void)
{
  const char *directory = getenv("TMPDIR");
  snprintf(root, sizeof root, "%.40s/sftest.XXXXXX", directory != NULL ? directory : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(root));
  snprintf(proc, sizeof proc, "%s/proc", root);
  snprintf(sys, sizeof sys, "%s/sys", root);
  make_file("proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:   %d kB\nSwapFree:    %d kB\n", 1000 * 1024, 0);
}

static void teardown(void)
{
  char command[128];
  snprintf(command, sizeof command, "rm -r '%s'", root);
  ck_assert_int_eq(system(command), 0);
}

SFTEST_FIXTURE(setup, teardown);

static void expect_left(uint64_t bytes)
{
  ck_assert_uint_eq(sfshm_memory_left(proc, sys, UINT64_MAX), bytes);
}

SFTEST(of_the_machine)
{
  expect_left(1000 * MIB);
  make_file("proc/meminfo", "MemAvailable:   %d kB\nSwapFree:    %d kB\n", 1000 * 1024, 24 * 1024);
  expect_left(1024 * MIB);
  snprintf(proc, sizeof proc, "%s/nothing", root);
  expect_left(UINT64_MAX);
}

/* Pages of files are taken back; a group without limit, or without files, sets none. */
SFTEST(of_groups)
{
  make_file("proc/self/cgroup", "0::/system/job\n");
  expect_left(1000 * MIB);
  make_file("sys/system/job/memory.max", "max\n");
  make_file("sys/system/job/memory.current", "%" PRIu64 "\n", 30 * MIB);
  expect_left(1000 * MIB);
  make_file("sys/system/job/memory.max", "%" PRIu64 "\n", 100 * MIB);
  expect_left(70 * MIB);
  make_file("sys/system/job/memory.stat", "anon 7\ninactive_file %" PRIu64 "\nactive_file %" PRIu64 "\nshmem 9\n",
            4 * MIB, MIB);
  expect_left(75 * MIB);
  make_file("sys/system/job/memory.current", "%" PRIu64 "\n", 101 * MIB);
  expect_left(5 * MIB);
}

SFTEST(of_groups_above)
{
  make_file("proc/self/cgroup", "0::/system/job/step\n");
  make_file("sys/system/job/step/memory.max", "%" PRIu64 "\n", 100 * MIB);
  make_file("sys/system/job/step/memory.current", "0\n");
  make_file("sys/system/memory.max", "%" PRIu64 "\n", 50 * MIB);
  make_file("sys/system/memory.current", "%" PRIu64 "\n", 10 * MIB);
  expect_left(40 * MIB);
  make_file("sys/memory.max", "%" PRIu64 "\n", 20 * MIB); /* of a container, at its root */
  make_file("sys/memory.current", "0\n");
  expect_left(20 * MIB);
}

SFTEST(swap_of_groups)
{
  make_file("proc/meminfo", "MemAvailable:   %d kB\nSwapFree:    %d kB\n", 1000 * 1024, 100 * 1024);
  make_file("proc/self/cgroup", "0::/job\n");
  make_file("sys/job/memory.max", "%" PRIu64 "\n", 10 * MIB);
  make_file("sys/job/memory.current", "0\n");
  expect_left(110 * MIB);
  make_file("sys/job/memory.swap.max", "%" PRIu64 "\n", 8 * MIB);
  make_file("sys/job/memory.swap.current", "%" PRIu64 "\n", 3 * MIB);
  expect_left(15 * MIB);
}

SFTEST(of_version_1)
{
  make_file("proc/self/cgroup", "9:cpuset:/other\n4:memory:/a/b\n0::/\n");
  make_file("sys/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  make_file("sys/memory/a/b/memory.usage_in_bytes", "%" PRIu64 "\n", 3 * MIB);
  expect_left(1000 * MIB);
  make_file("sys/memory/a/memory.limit_in_bytes", "%" PRIu64 "\n", 10 * MIB);
  make_file("sys/memory/a/memory.usage_in_bytes", "%" PRIu64 "\n", 3 * MIB);
  make_file("sys/memory/a/memory.stat", "total_inactive_file %" PRIu64 "\n", MIB);
  expect_left(8 * MIB);
}

/* ---- A real group ------------------------------------------------------------------------------------------------ */

static bool write_text(const char *directory, const char *name, const char *text)
{
  char path[640];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "w");
  if (file == NULL)
    return false;
  bool written = fputs(text, file) >= 0;
  return (fclose(file) == 0) & written;
}

/* A group below this process's, of 32 MiB; false if none can be made. */
static bool make_group(char directory[512])
{
  char line[512], path[256] = "";
  bool first = false;
  FILE *file = fopen("/proc/self/cgroup", "re");
  while (file != NULL && !first && fgets(line, sizeof line, file) != NULL)
    first = sscanf(line, "%*d:memory:%255s", path) == 1 || sscanf(line, "0::%255s", path) == 1;
  if (file != NULL)
    fclose(file);
  bool version_1 = first && strstr(line, ":memory:") != NULL;
  snprintf(directory, 512, "/sys/fs/cgroup%s%s/sftest-%d", version_1 ? "/memory" : "", path, (int)getpid());
  if (!first || mkdir(directory, 0700) != 0)
    return false;
  if (write_text(directory, version_1 ? "memory.limit_in_bytes" : "memory.max", "33554432"))
    return true;
  rmdir(directory);
  return false;
}

/* An error, instead of the kernel's killing somebody. */
SFTEST(region_that_is_larger_than_the_group)
{
  char directory[512];
  int status;
  if (!make_group(directory)) {
    puts("part skipped: no control group with a limit of memory can be made here");
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    sfshm_region_t region;
    bool joined = write_text(directory, "cgroup.procs", "0");
    sf_status_t created =
        sfshm_region_create("large", SFSHM_REGION_ALLOC, 48 * MIB, SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL, &region);
    _exit(!joined ? 77 : created == SF_ERR_NOMEM ? 0 : 1);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  rmdir(directory);
  if (status == 77 << 8)
    puts("part skipped: no control group can be joined here");
  else
    ck_assert_int_eq(status, 0);
}
