/* Device memory: see device_driver.h. */
#include "daemon/memory/device_driver.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/jobs.h"
#include "daemon/memory/memory.h"
#include "shm/base/error.h"
#include "shm/base/thread.h"
#include "shm/device/device_load.h"

#define LOOK_MS 100 /* interval of checks whether the thread takes too long */

struct sfd_device_memory {
  STAILQ_ENTRY(sfd_device_memory) entry; /* of its present list */
  sfshm_device_identity_t identity;
  uint64_t wanted_bytes;
  sfd_device_done_fn_t done;
  void *context;
  bool is_made;  /* false while the thread works on it */
  bool unwanted; /* is released, or waits for that */

  /* The thread's, while it works on it. */
  sf_status_t status;
  char detail[SFD_TEXT_SIZE];
  sfshm_device_range_t range; /* base NULL: not allocated */
  sfshm_device_handle_t handle;
  int fd; /* that belongs to the handle, if it is allocated and done has not been called */
};
STAILQ_HEAD(memory_list, sfd_device_memory);

/* The thread and its work. Fields up to lock belong to the loop's thread, those after it to the lock. */
struct sfd_devices {
  uv_async_t finished_some;
  uv_timer_t grace;
  uv_timer_t patience;
  sfd_server_t *server;
  pthread_t thread;
  int64_t nbusy; /* pieces of work not finished */
  bool stopping;
  int nopen; /* handles of the loop */
  pthread_mutex_t lock;
  pthread_cond_t more;
  bool ending;
  bool abandoned; /* the thread frees nothing and reports nothing */
  struct memory_list waiting;
  struct memory_list finished;
  sfd_device_memory_t *at_work; /* the thread's present work; NULL: none */
  uint64_t since_ns;            /* when it began */
};

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static sf_status_t allocate(sfd_device_memory_t *memory)
{
  const sfshm_device_ops_t *ops;
  sf_status_t status = sfshm_device_load(&ops);
  if (status != SF_OK)
    return sfshm_error(status, "the daemon: %s", sfshm_error_detail());
  status = ops->allocate(&memory->identity, memory->wanted_bytes, &memory->range);
  if (status != SF_OK)
    return sfshm_error(status, "the daemon: %s", ops->detail());
  status = ops->share(memory->range.base, &memory->handle, &memory->fd);
  if (status == SF_OK)
    return SF_OK;
  sfshm_error(status, "the daemon: %s", ops->detail());
  ops->release(memory->range.base);
  memory->range.base = NULL;
  return status;
}

/* Releases what has been allocated, allocates all else. */
static void work_on(sfd_device_memory_t *memory)
{
  if (memory->range.base != NULL) {
    if (memory->fd >= 0)
      close(memory->fd);
    sfshm_device_loaded()->release(memory->range.base);
    memory->range.base = NULL;
    return;
  }
  memory->status = allocate(memory);
  if (memory->status != SF_OK)
    snprintf(memory->detail, sizeof memory->detail, "%s", sfshm_error_detail());
}

static void *run_thread(void *opaque)
{
  sfd_devices_t *devices = opaque;
  sfd_device_memory_t *memory;
  pthread_mutex_lock(&devices->lock);
  for (;;) {
    while ((memory = STAILQ_FIRST(&devices->waiting)) == NULL && !devices->ending)
      pthread_cond_wait(&devices->more, &devices->lock);
    if (memory == NULL)
      break;
    STAILQ_REMOVE_HEAD(&devices->waiting, entry);
    devices->at_work = memory;
    devices->since_ns = uv_hrtime();
    pthread_mutex_unlock(&devices->lock);
    work_on(memory);
    pthread_mutex_lock(&devices->lock);
    devices->at_work = NULL;
    if (devices->abandoned)
      break;
    STAILQ_INSERT_TAIL(&devices->finished, memory, entry);
    uv_async_send(&devices->finished_some);
  }
  pthread_mutex_unlock(&devices->lock);
  return NULL;
}

/* ---- Patience ---------------------------------------------------------------------------------------------------- */

/* Whether the device has been used before: then its context exists. */
static bool is_started(const sfd_started_devices_t *started, const sfshm_device_identity_t *device)
{
  for (int32_t i = 0; i < started->n; i++)
    if (memcmp(&started->device[i], device, sizeof *device) == 0)
      return true;
  return false;
}

/* Devices without room here always get the time to start. */
static void note_started(sfd_started_devices_t *started, const sfshm_device_identity_t *device)
{
  if (started->n < SFD_MAX_STARTED && !is_started(started, device))
    started->device[started->n++] = *device;
}

/* SF_ERR_TIMEOUT: the thread works on *at_work_p for too long. If it finishes now, only the caller's thread frees that.
 * */
static sf_status_t check_patience(sfd_devices_t *devices, sfd_device_memory_t **at_work_p)
{
  uint64_t limit_ms = 0, ms = 0;
  pthread_mutex_lock(&devices->lock);
  *at_work_p = devices->at_work;
  if (devices->at_work != NULL) {
    bool started = is_started(&devices->server->memory->started, &devices->at_work->identity);
    limit_ms = started ? SFD_DEVICE_PATIENCE_MS : SFD_DEVICE_START_MS;
    ms = (uv_hrtime() - devices->since_ns) / 1000000;
  }
  pthread_mutex_unlock(&devices->lock);
  if (ms <= limit_ms)
    return SF_OK;
  return sfshm_error(SF_ERR_TIMEOUT, "the daemon: the driver of devices has not come back for %g s",
                     (double)limit_ms / 1000);
}

/* Takes the allocations that the thread has not begun. */
static void take_request(sfd_devices_t *devices, struct memory_list *wanted)
{
  struct memory_list all = STAILQ_HEAD_INITIALIZER(all);
  pthread_mutex_lock(&devices->lock);
  STAILQ_CONCAT(&all, &devices->waiting);
  for (sfd_device_memory_t *memory; (memory = STAILQ_FIRST(&all)) != NULL;) {
    STAILQ_REMOVE_HEAD(&all, entry);
    if (memory->unwanted)
      STAILQ_INSERT_TAIL(&devices->waiting, memory, entry);
    else
      STAILQ_INSERT_TAIL(wanted, memory, entry);
  }
  pthread_mutex_unlock(&devices->lock);
}

/* No rank waits any more; the result will be released. */
static void give_up(sfd_device_memory_t *memory, const char *detail)
{
  if (memory == NULL || memory->unwanted)
    return;
  memory->unwanted = true;
  memory->done(memory->context, SF_ERR_TIMEOUT, detail, NULL, -1, 0);
}

static void on_look(uv_timer_t *timer)
{
  sfd_devices_t *devices = timer->data;
  struct memory_list wanted = STAILQ_HEAD_INITIALIZER(wanted);
  sfd_device_memory_t *at_work;
  char detail[SFD_TEXT_SIZE];
  if (check_patience(devices, &at_work) == SF_OK)
    return;
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  give_up(at_work, detail);
  take_request(devices, &wanted);
  for (sfd_device_memory_t *memory; (memory = STAILQ_FIRST(&wanted)) != NULL;) {
    STAILQ_REMOVE_HEAD(&wanted, entry);
    give_up(memory, detail);
    free(memory);
    devices->nbusy--;
  }
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
  sfd_devices_t *devices = handle->data;
  if (--devices->nopen > 0 || devices->abandoned)
    return;
  pthread_cond_destroy(&devices->more);
  pthread_mutex_destroy(&devices->lock);
  free(devices);
}

static void close_handles(sfd_devices_t *devices)
{
  devices->server->memory->devices = NULL;
  uv_close((uv_handle_t *)&devices->finished_some, on_closed);
  uv_close((uv_handle_t *)&devices->grace, on_closed);
  uv_close((uv_handle_t *)&devices->patience, on_closed);
}

static void end(sfd_devices_t *devices)
{
  pthread_mutex_lock(&devices->lock);
  devices->ending = true;
  pthread_cond_signal(&devices->more);
  pthread_mutex_unlock(&devices->lock);
  pthread_join(devices->thread, NULL);
  close_handles(devices);
}

/* The memory of a thread that hangs is never freed. */
static void on_grace_over(uv_timer_t *timer)
{
  sfd_devices_t *devices = timer->data;
  sfd_log(SFD_LOG_MEMORY, SFD_WARN, "ending without the driver of devices, which has not come back for %d ms",
          SFD_DEVICE_GRACE_MS);
  pthread_mutex_lock(&devices->lock);
  devices->abandoned = true;
  pthread_mutex_unlock(&devices->lock);
  pthread_detach(devices->thread);
  devices->server->memory->lost = true;
  close_handles(devices);
}

static void limit_time(sfd_devices_t *devices)
{
  if (devices->stopping)
    return;
  devices->stopping = true;
  uv_timer_start(&devices->grace, on_grace_over, SFD_DEVICE_GRACE_MS, 0);
}

void sfd_devices_stop(sfd_server_t *server)
{
  if (server->memory->devices != NULL)
    limit_time(server->memory->devices);
}

/* ---- The daemon's thread ----------------------------------------------------------------------------------------- */

static bool submit(sfd_server_t *server, sfd_device_memory_t *memory);

/* The thread has finished; the result may be unwanted. */
static void finish(sfd_server_t *server, sfd_device_memory_t *memory)
{
  if (memory->status == SF_OK)
    note_started(&server->memory->started, &memory->identity);
  if (memory->unwanted && memory->range.base != NULL && submit(server, memory))
    return;
  bool keep = !memory->unwanted && memory->status == SF_OK;
  memory->is_made = keep;
  int fd = memory->fd;
  memory->fd = -1;
  if (!memory->unwanted)
    memory->done(memory->context, memory->status, memory->detail, &memory->handle, fd, memory->range.length_bytes);
  if (!keep)
    free(memory);
}

static void on_finished(uv_async_t *async)
{
  sfd_devices_t *devices = async->data;
  struct memory_list taken = STAILQ_HEAD_INITIALIZER(taken);
  sfd_device_memory_t *memory;
  pthread_mutex_lock(&devices->lock);
  STAILQ_CONCAT(&taken, &devices->finished);
  pthread_mutex_unlock(&devices->lock);
  while ((memory = STAILQ_FIRST(&taken)) != NULL) {
    STAILQ_REMOVE_HEAD(&taken, entry);
    finish(devices->server, memory);
    devices->nbusy--;
  }
  if (devices->nbusy == 0)
    end(devices);
}

static sfd_devices_t *begin(sfd_server_t *server)
{
  sfd_devices_t *devices = calloc(1, sizeof *devices);
  if (devices == NULL || uv_async_init(server->loop, &devices->finished_some, on_finished) != 0) {
    free(devices);
    return NULL;
  }
  uv_timer_init(server->loop, &devices->grace);
  uv_timer_init(server->loop, &devices->patience);
  devices->nopen = 3;
  devices->finished_some.data = devices->grace.data = devices->patience.data = devices;
  devices->server = server;
  STAILQ_INIT(&devices->waiting);
  STAILQ_INIT(&devices->finished);
  pthread_mutex_init(&devices->lock, NULL);
  pthread_cond_init(&devices->more, NULL);
  if (sfshm_thread_start(&devices->thread, 0, run_thread, devices) == 0) {
    server->memory->devices = devices;
    uv_timer_start(&devices->patience, on_look, LOOK_MS, LOOK_MS);
    return devices;
  }
  close_handles(devices);
  return NULL;
}

/* False: no thread. */
static bool submit(sfd_server_t *server, sfd_device_memory_t *memory)
{
  sfd_devices_t *devices = server->memory->devices;
  if (devices == NULL && !server->memory->lost)
    devices = begin(server);
  if (devices == NULL)
    return false;
  if (server->stopping)
    limit_time(devices);
  devices->nbusy++;
  pthread_mutex_lock(&devices->lock);
  STAILQ_INSERT_TAIL(&devices->waiting, memory, entry);
  pthread_cond_signal(&devices->more);
  pthread_mutex_unlock(&devices->lock);
  return true;
}

sf_status_t sfd_device_alloc(sfd_server_t *server, const sfshm_device_identity_t *identity, uint64_t wanted_bytes,
                             sfd_device_done_fn_t done, void *context, sfd_device_memory_t **memory_p)
{
  sfd_device_memory_t *at_work;
  sf_status_t status = server->memory->devices != NULL ? check_patience(server->memory->devices, &at_work) : SF_OK;
  if (status != SF_OK)
    return status;
  sfd_device_memory_t *memory = calloc(1, sizeof *memory);
  if (memory == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an allocation on a device");
  memory->identity = *identity;
  memory->fd = -1;
  memory->wanted_bytes = wanted_bytes;
  memory->done = done;
  memory->context = context;
  if (!submit(server, memory)) {
    free(memory);
    return sfshm_error(SF_ERR_SYS, "no thread for an allocation on a device");
  }
  *memory_p = memory;
  return SF_OK;
}

sfshm_device_range_t sfd_device_range(const sfd_device_memory_t *memory)
{
  return memory->range;
}

sf_status_t sfd_device_check_quota(const sfd_job_t *job, uint64_t more)
{
  uint64_t quota = (uint64_t)job->server->options->max_device_memory << 20, used = job->device_bytes;
  if (job->server->options->max_device_memory < 0 || (used <= quota && more <= quota - used))
    return SF_OK;
  return sfshm_error(SF_ERR_LIMIT,
                     "the job may have %lld MiB of device memory of the daemon's on this node (option "
                     "max-device-memory), has %" PRIu64 " bytes of it, and wants %" PRIu64 " more",
                     (long long)job->server->options->max_device_memory, used, more);
}

/* Without a thread the memory stays allocated until the daemon ends. */
void sfd_device_free(sfd_server_t *server, sfd_device_memory_t *memory)
{
  memory->unwanted = true;
  if (memory->is_made && !submit(server, memory))
    free(memory);
}
