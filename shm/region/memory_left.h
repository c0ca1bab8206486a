/* How much memory this process can still allocate before the kernel would kill processes to find more. Any thread. */
#ifndef SFSHM_MEMORY_LEFT_H
#define SFSHM_MEMORY_LEFT_H

#include <stdint.h>

/* Bytes that the machine has available, swap included, and that the limits of this process's control group and of those
 * above it leave: what the kernel can take back from files counts as free. UINT64_MAX: nothing is known. proc and sys:
 * where the kernel's file systems are, "/proc" and "/sys/fs/cgroup" but for tests. Groups of version 2 and the memory
 * controller of version 1 are known. If enough bytes are left it may return less than
 * all, but not less than enough. */
uint64_t sfshm_memory_left(const char *proc, const char *sys, uint64_t enough);

#endif
