/* Memory of devices that the daemon allocates for ranks, so that what other processes have open never goes away with a
 * process. Drivers take their time, at first seconds: all calls of theirs are made by libuv's threads. */
#ifndef SFD_DEVICE_H
#define SFD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "shm/device.h"

typedef struct sfd_device_work sfd_device_work_t;

/* What has become of it: status and detail, or the memory (the receiver's, to be freed by sfd_device_free) and a handle
 * for others. The loop's thread. */
typedef void (*sfd_device_done_fn_t)(void *context, sf_status_t status, const char *detail, void *memory,
                                     const sfshm_device_handle_t *handle);

/* Begins to allocate zeroed memory on the device of that identity. SF_ERR_NOMEM, SF_ERR_SYS; then done is not called.
 */
sf_status_t sfd_device_alloc(uv_loop_t *loop, const sfshm_device_identity_t *identity, uint64_t length_bytes,
                             sfd_device_done_fn_t done, void *context, sfd_device_work_t **work_p);

/* The result is not wanted any more: done will not be called, and the memory is freed. */
void sfd_device_give_up(sfd_device_work_t *work);

/* Frees memory at some later time. */
void sfd_device_free(uv_loop_t *loop, void *memory);

#endif
