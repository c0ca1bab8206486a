/* How much memory this process can still allocate before the kernel would kill processes to find more. Any thread. */
#ifndef SFSHM_REGION_MEMORY_LEFT_H
#define SFSHM_REGION_MEMORY_LEFT_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* Returns the bytes that the machine has available, swap and reclaimable page cache included, and that the limits of
 * this process's control groups and their ancestors leave. UINT64_MAX: unknown. proc and sys are the mount points
 * "/proc" and "/sys/fs/cgroup", except in tests. Supports cgroup version 2 and the memory controller of version 1. If
 * at least enough bytes are left the result may be too low, but not below enough. */
uint64_t sfshm_memory_left(const char *proc, const char *sys, uint64_t enough);

/* SF_ERR_LIMIT if this process may have no file of that length, or shared memory, which counts as one: the kernel would
 * end the process by a signal. */
sf_status_t sfshm_memory_check_file(size_t length_bytes);

#endif
