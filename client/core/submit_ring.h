/* Handing requests to the daemon through the rank's submission ring. */
#ifndef SFC_CORE_SUBMIT_RING_H
#define SFC_CORE_SUBMIT_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "client/core/daemon_conn.h"
#include "shm/lane/ring.h"
#include "shm/region/board.h"
#include "shm/region/region.h"
#include "shm/trunk/trunk.h"

typedef struct sfc_submitter {
  pthread_mutex_t lock; /* opening */
  sfc_daemon_conn_t *control;
  const _Atomic int *failed; /* not 0 when the job has, or its daemon is gone */
  const sfshm_board_t *board;
  sfshm_region_t region; /* the ring; base NULL until a graph needs it */
  int doorbell;          /* eventfd */
} sfc_submit_ring_t;

void sfc_submit_ring_init(sfc_submit_ring_t *submit_ring, sfc_daemon_conn_t *control, const _Atomic int *failed);
void sfc_submit_ring_destroy(sfc_submit_ring_t *submit_ring);

/* Makes the ring and gives it to the daemon, if that was not done before. Any thread. */
sf_status_t sfc_submit_ring_open(sfc_submit_ring_t *submit_ring, const sfshm_board_t *board);

/* One submission; see shm/trunk/trunk.h for the fields. Waits, spinning, while the ring is full, which is until the
 * daemon runs; gives up when the job has failed or the daemon is gone. lazy: the daemon may read it when something else
 * wakes it. Else, if the node has no core to spare, the core is offered to the daemon once, which may share it: a
 * caller that computes next would keep it for milliseconds. Any thread. */
void sfc_submit_ring_write(sfc_submit_ring_t *submit_ring, const sfshm_ring_entry_t *entry, bool lazy);

/* The same for what concerns trunks. */
void sfc_submit_ring_write_trunk(sfc_submit_ring_t *submit_ring, sfshm_submission_t kind, uint64_t graph, uint32_t side,
                                 uint64_t message, uint64_t desc, uint64_t size, bool lazy);

/* Returns when the daemon can take everything that has been submitted, also by threads that claimed their entry before
 * those of the caller and have not filled it yet: the daemon waits at theirs. Before a message on the control
 * connection after which it has no use for the caller's entries any more. Any thread. */
void sfc_submit_ring_settle(const sfc_submit_ring_t *submit_ring);

#endif
