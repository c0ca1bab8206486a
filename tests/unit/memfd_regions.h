/* Regions of tests, and how many of them are mapped. */
#ifndef SFTEST_MEMFD_REGIONS_H
#define SFTEST_MEMFD_REGIONS_H

#include "shm/region/region.h"

#include "tests/unit/runner.h"

#define MAX_BYTES ((uint64_t)1 << 30)
#define LENGTH ((size_t)3 * 4096)

/* Lines of /proc/self/maps that name our memory. */
static inline int sftest_count_maps(void)
{
  char line[512];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (fgets(line, sizeof line, maps) != NULL)
    count += strstr(line, "memfd:sf-test") != NULL;
  fclose(maps);
  return count;
}

static inline sfshm_region_t sftest_region_make(sfshm_region_kind_t kind, sfshm_sealing_t sealing,
                                                sfshm_commit_t commit)
{
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_create("sf-test", kind, LENGTH, sealing, commit, &region), SF_OK);
  return region;
}

#endif
