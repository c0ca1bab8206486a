/* Threads beside the loop, for work that takes long: copying for clients. They are started when there is work for the
 * first time, sleep when there is none, and take it in the order in which it came. */
#ifndef SFD_BASE_WORKER_POOL_H
#define SFD_BASE_WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include <sf/sf_status.h>

/* One piece of work; the first field of a struct of its user's. */
typedef struct sfd_work {
  STAILQ_ENTRY(sfd_work) entry;
  void (*run)(struct sfd_work *work);  /* on some worker */
  void (*done)(struct sfd_work *work); /* then, on the loop's thread; also for work that has not run, at the end */
} sfd_work_t;

typedef struct sfd_workers sfd_workers_t;

/* n threads at most, started one by one as work comes. n == 0 is accepted: nothing may be submitted then. */
sf_status_t sfd_workers_create(uv_loop_t *loop, int32_t n, sfd_workers_t **workers_p);

/* Has the work done; false if there is no thread and none can be started. The loop's thread. */
bool sfd_workers_submit(sfd_workers_t *workers, sfd_work_t *work);

/* Waits until work that has begun is over, drops the rest, and frees everything; the loop has to run once more. NULL is
 * accepted. */
void sfd_workers_close(sfd_workers_t *workers);

#endif
