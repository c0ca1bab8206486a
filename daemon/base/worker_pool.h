/* Worker threads for long work: copies for clients. They start with the first work, sleep without work, and take it in
 * order. */
#ifndef SFD_BASE_WORKER_POOL_H
#define SFD_BASE_WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include <sf/sf_status.h>

/* A piece of work; the first field of its user's struct. */
typedef struct sfd_work {
  STAILQ_ENTRY(sfd_work) entry;
  void (*run)(struct sfd_work *work);  /* on a worker */
  void (*done)(struct sfd_work *work); /* on the loop's thread, after run; at the end also without run */
} sfd_work_t;

typedef struct sfd_workers sfd_workers_t;

/* At most n threads, started on demand; n may be 0. */
sf_status_t sfd_workers_create(uv_loop_t *loop, int32_t n, sfd_workers_t **workers_p);

/* False: no thread, and none can be started. The loop's thread. */
bool sfd_workers_submit(sfd_workers_t *workers, sfd_work_t *work);

/* Waits for work that runs, drops the rest, frees everything; the loop must run once more. NULL is accepted. */
void sfd_workers_close(sfd_workers_t *workers);

#endif
