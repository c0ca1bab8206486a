/* Workers: see worker_pool.h. Fields up to lock belong to the loop's thread, those after it to the lock. */
#include "daemon/base/worker_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/base/thread.h"

STAILQ_HEAD(work_list, sfd_work);

struct sfd_workers {
  uv_async_t finished_some;
  int32_t max;
  int32_t n;
  int64_t nbusy; /* submitted and not done */
  pthread_mutex_t lock;
  pthread_cond_t more;
  bool stopping;
  struct work_list waiting;
  struct work_list finished;
  pthread_t threads[];
};

static void *work_on(void *opaque)
{
  sfd_workers_t *workers = opaque;
  sfd_work_t *work;
  pthread_mutex_lock(&workers->lock);
  for (;;) {
    while ((work = STAILQ_FIRST(&workers->waiting)) == NULL && !workers->stopping)
      pthread_cond_wait(&workers->more, &workers->lock);
    if (workers->stopping)
      break;
    STAILQ_REMOVE_HEAD(&workers->waiting, entry);
    pthread_mutex_unlock(&workers->lock);
    work->run(work);
    pthread_mutex_lock(&workers->lock);
    STAILQ_INSERT_TAIL(&workers->finished, work, entry);
    uv_async_send(&workers->finished_some);
  }
  pthread_mutex_unlock(&workers->lock);
  return NULL;
}

/* Empties a list. */
static struct work_list take_all(sfd_workers_t *workers, struct work_list *list)
{
  struct work_list taken = STAILQ_HEAD_INITIALIZER(taken);
  pthread_mutex_lock(&workers->lock);
  STAILQ_CONCAT(&taken, list);
  pthread_mutex_unlock(&workers->lock);
  return taken;
}

static void end_all(sfd_workers_t *workers, struct work_list *list)
{
  struct work_list taken = take_all(workers, list);
  sfd_work_t *work;
  while ((work = STAILQ_FIRST(&taken)) != NULL) {
    STAILQ_REMOVE_HEAD(&taken, entry);
    workers->nbusy--;
    work->done(work);
  }
}

static void on_finished(uv_async_t *async)
{
  sfd_workers_t *workers = async->data;
  end_all(workers, &workers->finished);
}

sf_status_t sfd_workers_create(uv_loop_t *loop, int32_t n, sfd_workers_t **workers_p)
{
  sfd_workers_t *workers = calloc(1, sizeof *workers + (size_t)n * sizeof workers->threads[0]);
  if (workers == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d workers", n);
  int error = uv_async_init(loop, &workers->finished_some, on_finished);
  if (error != 0) {
    free(workers);
    return sfshm_error(SF_ERR_SYS, "no way to hear from workers: %s", uv_strerror(error));
  }
  workers->finished_some.data = workers;
  workers->max = n;
  STAILQ_INIT(&workers->waiting);
  STAILQ_INIT(&workers->finished);
  pthread_mutex_init(&workers->lock, NULL);
  pthread_cond_init(&workers->more, NULL);
  *workers_p = workers;
  return SF_OK;
}

static bool start_thread(sfd_workers_t *workers)
{
  int error = sfshm_thread_start(&workers->threads[workers->n], 0, work_on, workers);
  workers->n += error == 0;
  return error == 0;
}

bool sfd_workers_submit(sfd_workers_t *workers, sfd_work_t *work)
{
  if (workers->nbusy >= workers->n && workers->n < workers->max && !start_thread(workers) && workers->n == 0)
    return false;
  workers->nbusy++;
  pthread_mutex_lock(&workers->lock);
  STAILQ_INSERT_TAIL(&workers->waiting, work, entry);
  pthread_cond_signal(&workers->more);
  pthread_mutex_unlock(&workers->lock);
  return true;
}

static void on_closed(uv_handle_t *handle)
{
  sfd_workers_t *workers = handle->data;
  pthread_cond_destroy(&workers->more);
  pthread_mutex_destroy(&workers->lock);
  free(workers);
}

void sfd_workers_close(sfd_workers_t *workers)
{
  if (workers == NULL)
    return;
  pthread_mutex_lock(&workers->lock);
  workers->stopping = true;
  pthread_cond_broadcast(&workers->more);
  pthread_mutex_unlock(&workers->lock);
  for (int32_t i = 0; i < workers->n; i++)
    pthread_join(workers->threads[i], NULL);
  end_all(workers, &workers->finished);
  end_all(workers, &workers->waiting);
  uv_close((uv_handle_t *)&workers->finished_some, on_closed);
}
