/* Allocating memory of devices: see device.h. The daemon's thread, and libuv's where it says so. */
#include "daemon/device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/text.h"
#include "shm/device_load.h"
#include "shm/error.h"

struct sfd_device_work {
  uv_work_t work;
  sfshm_device_identity_t identity;
  uint64_t length_bytes;
  sfd_device_done_fn_t done; /* NULL: it was given up */
  void *context;
  sf_status_t status;
  char detail[SFD_TEXT_SIZE];
  void *memory;
  sfshm_device_handle_t handle;
};

/* ---- libuv's threads --------------------------------------------------------------------------------------------- */

static sf_status_t allocate(sfd_device_work_t *work)
{
  const sfshm_device_ops_t *ops;
  sf_status_t status = sfshm_device_load(&ops);
  if (status != SF_OK)
    return sfshm_error(status, "the daemon: %s", sfshm_error_detail());
  status = ops->allocate(&work->identity, work->length_bytes, &work->memory);
  if (status != SF_OK)
    return sfshm_error(status, "the daemon: %s", ops->detail());
  status = ops->share(work->memory, &work->handle);
  if (status == SF_OK)
    return SF_OK;
  sfshm_error(status, "the daemon: %s", ops->detail());
  ops->release(work->memory);
  work->memory = NULL;
  return status;
}

static void run_alloc(uv_work_t *request)
{
  sfd_device_work_t *work = request->data;
  work->status = allocate(work);
  if (work->status != SF_OK)
    snprintf(work->detail, sizeof work->detail, "%s", sfshm_error_detail());
}

static void run_free(uv_work_t *request)
{
  sfd_device_work_t *work = request->data;
  sfshm_device_loaded()->release(work->memory);
}

/* ---- The daemon's ------------------------------------------------------------------------------------------------ */

static void on_freed(uv_work_t *request, int status)
{
  (void)status;
  free(request->data);
}

static void on_allocated(uv_work_t *request, int status)
{
  sfd_device_work_t *work = request->data;
  (void)status;
  if (work->done != NULL)
    work->done(work->context, work->status, work->detail, work->memory, &work->handle);
  else if (work->memory != NULL)
    sfd_device_free(request->loop, work->memory);
  free(work);
}

sf_status_t sfd_device_alloc(uv_loop_t *loop, const sfshm_device_identity_t *identity, uint64_t length_bytes,
                             sfd_device_done_fn_t done, void *context, sfd_device_work_t **work_p)
{
  sfd_device_work_t *work = calloc(1, sizeof *work);
  if (work == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an allocation on a device");
  work->identity = *identity;
  work->length_bytes = length_bytes;
  work->done = done;
  work->context = context;
  work->work.data = work;
  int error = uv_queue_work(loop, &work->work, run_alloc, on_allocated);
  if (error != 0) {
    free(work);
    return sfshm_error(SF_ERR_SYS, "no thread for an allocation on a device: %s", uv_strerror(error));
  }
  *work_p = work;
  return SF_OK;
}

void sfd_device_give_up(sfd_device_work_t *work)
{
  work->done = NULL;
}

/* Without memory for the request, the driver is called here: better late than never. */
void sfd_device_free(uv_loop_t *loop, void *memory)
{
  sfd_device_work_t *work = calloc(1, sizeof *work);
  if (work != NULL) {
    work->memory = memory;
    work->work.data = work;
    if (uv_queue_work(loop, &work->work, run_free, on_freed) == 0)
      return;
    free(work);
  }
  sfshm_device_loaded()->release(memory);
}
