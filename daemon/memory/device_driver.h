/* Device memory that the daemon allocates, for the slots of trunks (daemon/data/device_slots.h), and the limit of
 * device memory per job (option max-device-memory). All driver calls are made by one thread, one after the other, as
 * drivers take up to seconds and may hang; the thread exists while there is work. Ranks wait for memory in the middle
 * of collective steps, and many can do without: when one piece of work takes longer than SFD_DEVICE_PATIENCE_MS
 * (SFD_DEVICE_START_MS for the first on a device), all waiting allocations fail, and new ones too. At its end the
 * daemon waits for the thread for SFD_DEVICE_GRACE_MS. All functions: the loop's thread. */
#ifndef SFD_MEMORY_DEVICE_DRIVER_H
#define SFD_MEMORY_DEVICE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base.h"
#include "shm/device/device.h"

struct sfd_job;

#define SFD_DEVICE_GRACE_MS 1000
#define SFD_DEVICE_PATIENCE_MS 3000 /* drivers let everybody wait while a process creates a context */
#define SFD_DEVICE_START_MS 10000

/*         allocated, or failed, or too late                released
 * ALLOCATING ---------------> done() ---sfd_device_free--> gone
 *     \---sfd_device_free: done() is not called, and the memory is released */
typedef struct sfd_device_memory sfd_device_memory_t;

/* Result of an allocation: a handle for other processes with its descriptor, which is the callee's then, and the
 * allocated bytes; or status and detail, and then the memory is gone. */
typedef void (*sfd_device_done_fn_t)(void *context, sf_status_t status, const char *detail,
                                     const sfshm_device_handle_t *handle, int fd, uint64_t taken_bytes);

/* Begins to allocate at least wanted_bytes of zeroed memory. SF_ERR_NOMEM, SF_ERR_SYS, SF_ERR_TIMEOUT (the driver takes
 * too long already): done is not called. */
sf_status_t sfd_device_alloc(sfd_server_t *server, const sfshm_device_identity_t *identity, uint64_t wanted_bytes,
                             sfd_device_done_fn_t done, void *context, sfd_device_memory_t **memory_p);

/* Address in this process, after done. */
sfshm_device_range_t sfd_device_range(const sfd_device_memory_t *memory);

/* Whether the job may have so many more bytes. SF_ERR_LIMIT. */
sf_status_t sfd_device_check_quota(const struct sfd_job *job, uint64_t more);

/* Frees the memory later. */
void sfd_device_free(sfd_server_t *server, sfd_device_memory_t *memory);

/* The daemon ends. */
void sfd_devices_stop(sfd_server_t *server);

#endif
