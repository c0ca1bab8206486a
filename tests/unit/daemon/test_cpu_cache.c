/* Which processors share a cache, by descriptions like the kernel's. */
#include "daemon/base/cpu_cache.h"

#include <sys/stat.h>

#include "tests/unit/runner.h"

static char directory[] = "/tmp/sftest-cpus-XXXXXX";

static void setup(void)
{
  snprintf(directory, sizeof directory, "/tmp/sftest-cpus-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void teardown(void)
{
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", directory);
  ck_assert_int_eq(system(command), 0);
}

SFTEST_FIXTURE(setup, teardown);

static void describe(int cpu, int cache, const char *sharers)
{
  char path[128];
  snprintf(path, sizeof path, "%s/cpu%d", directory, cpu);
  (void)mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/cpu%d/cache", directory, cpu);
  (void)mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/cpu%d/cache/index%d", directory, cpu, cache);
  (void)mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/shared_cpu_list", directory, cpu, cache);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert(fputs(sharers, file) >= 0 && fclose(file) == 0);
}

static int32_t cache_of(int first, int last)
{
  sfd_cpus_t cpus = {0};
  for (int cpu = first; cpu <= last; cpu++)
    sfd_cpus_add(&cpus, cpu);
  return sfd_cpu_cache_of(directory, &cpus);
}

/* Two caches of level 3 with four cores each, of two threads. */
static void describe_two_caches(void)
{
  for (int cpu = 0; cpu < 16; cpu++) {
    char pair[16];
    snprintf(pair, sizeof pair, "%d,%d\n", cpu % 8, cpu % 8 + 8);
    describe(cpu, 0, pair);
    describe(cpu, 2, pair);
    describe(cpu, 3, cpu % 8 < 4 ? "0-3,8-11\n" : "4-7,12-15\n");
  }
}

SFTEST(the_last_cache_counts)
{
  sfd_cpus_t sharers;
  describe_two_caches();
  ck_assert(sfd_cpu_cache_sharers(directory, 9, &sharers));
  for (int cpu = 0; cpu < 20; cpu++)
    ck_assert_int_eq(sfd_cpus_have(&sharers, cpu), cpu < 16 && cpu % 8 < 4);
  ck_assert_int_eq(cache_of(1, 3), 0);
  ck_assert_int_eq(cache_of(10, 10), 0);
  ck_assert_int_eq(cache_of(5, 6), 4);
  ck_assert_int_eq(cache_of(12, 15), 4);
}

SFTEST(processors_of_two_caches_share_none)
{
  describe_two_caches();
  ck_assert_int_eq(cache_of(3, 4), -1);
  ck_assert_int_eq(cache_of(0, 15), -1);
}

SFTEST(a_cache_of_level_2_may_be_the_last)
{
  describe(0, 2, "0-1\n");
  describe(1, 2, "0-1");
  ck_assert_int_eq(cache_of(0, 1), 0);
  ck_assert_int_eq(cache_of(1, 2), -1);
}

SFTEST(what_is_not_described_is_not_known)
{
  sfd_cpus_t sharers, none = {0};
  ck_assert(!sfd_cpu_cache_sharers(directory, 0, &sharers));
  ck_assert_int_eq(cache_of(0, 0), -1);
  describe(0, 0, "0\n");
  ck_assert_int_eq(cache_of(0, 0), -1); /* level 1 says nothing */
  describe(0, 3, "nonsense\n");
  ck_assert_int_eq(cache_of(0, 0), -1);
  describe(0, 3, "1-3\n"); /* without itself */
  ck_assert_int_eq(cache_of(0, 0), -1);
  describe(0, 3, "0-99999999\n");
  ck_assert_int_eq(cache_of(0, 0), 0);
  ck_assert_int_eq(sfd_cpu_cache_of(directory, &none), -1);
}
