/* Caches that processors share, as the kernel describes them below a directory. Any thread. */
#ifndef SFD_BASE_CPU_CACHE_H
#define SFD_BASE_CPU_CACHE_H

#include "daemon/base/node_board.h"

#define SFD_CPU_DIRECTORY "/sys/devices/system/cpu"

/* Processors that share the cpu's last cache, which is at least of level 2; itself included. False: not known. */
bool sfd_cpu_cache_sharers(const char *directory, int cpu, sfd_cpus_t *sharers);

/* The lowest processor of that cache, if all of the set share it; -1: they do not, or it is not known. */
int32_t sfd_cpu_cache_of(const char *directory, const sfd_cpus_t *cpus);

#endif
