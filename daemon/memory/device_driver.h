/* Memory of devices that the daemon allocates for ranks, so that what other processes have open never goes away with a
 * process. Drivers take their time, at first seconds, and one that hangs never comes back: all calls of theirs are made
 * by a thread of its own, one after the other, which is there while there is something to do. Ranks wait for what they
 * want in the middle of what all do together, and many can do without: when the thread has been at one piece for longer
 * than SFD_DEVICE_PATIENCE_MS (SFD_DEVICE_START_MS, if it is the first on its device), all who wait are told so, and so
 * is who comes then. A daemon that ends waits for it for SFD_DEVICE_GRACE_MS and then ends without it. All functions:
 * the loop's thread. */
#ifndef SFD_MEMORY_DEVICE_DRIVER_H
#define SFD_MEMORY_DEVICE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base.h"
#include "shm/device/device.h"

struct sfd_job;

#define SFD_DEVICE_GRACE_MS 1000
#define SFD_DEVICE_PATIENCE_MS 3000 /* while others make contexts, drivers keep everybody waiting */
#define SFD_DEVICE_START_MS 10000

/*         made, or not, or it takes too long                    released
 * ALLOCATING ---------------> done() ---sfd_device_free--> gone
 *     \---sfd_device_free: done() will not be called, and what has been made is released */
typedef struct sfd_device_memory sfd_device_memory_t;

/* What has become of it: status and detail, and then the memory is gone, or a handle for others, and how much it
 * takes. */
typedef void (*sfd_device_done_fn_t)(void *context, sf_status_t status, const char *detail,
                                     const sfshm_device_handle_t *handle, uint64_t taken_bytes);

/* Begins to allocate zeroed memory on the device of that identity: as much as is wanted, or more. SF_ERR_NOMEM,
 * SF_ERR_SYS, SF_ERR_TIMEOUT if the driver takes too long already; then done is not called. */
sf_status_t sfd_device_alloc(sfd_server_t *server, const sfshm_device_identity_t *identity, uint64_t wanted_bytes,
                             sfd_device_done_fn_t done, void *context, sfd_device_memory_t **memory_p);

/* Where it is in this process, when it has been made. */
sfshm_device_range_t sfd_device_range(const sfd_device_memory_t *memory);

/* Whether the job may have so much more. SF_ERR_LIMIT. */
sf_status_t sfd_device_check_quota(const struct sfd_job *job, uint64_t more);

/* Frees memory at some later time. */
void sfd_device_free(sfd_server_t *server, sfd_device_memory_t *memory);

/* The daemon ends. */
void sfd_devices_stop(sfd_server_t *server);

#endif
