/* Submission ring: requests of this rank to the daemon through shared memory. Any thread. */
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
  pthread_mutex_t lock; /* protects opening */
  sfc_daemon_conn_t *control;
  const _Atomic int *failed; /* != 0: the job has failed or the daemon is lost */
  const sfshm_board_t *board;
  sfshm_region_t region; /* the ring; base NULL until first needed */
  int doorbell;          /* eventfd */
} sfc_submit_ring_t;

void sfc_submit_ring_init(sfc_submit_ring_t *submit_ring, sfc_daemon_conn_t *control, const _Atomic int *failed);
void sfc_submit_ring_destroy(sfc_submit_ring_t *submit_ring);

/* Creates the ring and gives it to the daemon, once. Any thread. */
sf_status_t sfc_submit_ring_open(sfc_submit_ring_t *submit_ring, const sfshm_board_t *board);

/* Writes one entry; see shm/trunk/trunk.h for the fields. Spins while the ring is full; gives up if the job has failed
 * or the daemon is lost. lazy: the daemon may read it with the next wake-up; else sfc_submit_ring_wake follows. Any
 * thread. */
void sfc_submit_ring_write(sfc_submit_ring_t *submit_ring, const sfshm_ring_entry_t *entry, bool lazy);

/* Wakes the daemon, which then reads all entries, lazy ones too. If the node has no spare core, yields once to the
 * daemon, which may share this core. */
void sfc_submit_ring_wake(const sfc_submit_ring_t *submit_ring);

/* The same for trunk entries, with b == 0. */
void sfc_submit_ring_write_trunk(sfc_submit_ring_t *submit_ring, sfshm_submission_t kind, uint64_t graph, uint32_t side,
                                 uint64_t message, uint64_t desc, uint64_t size, bool lazy);

/* Returns when the daemon can take all entries so far, also those that other threads claimed earlier and are still
 * filling. Call before a control message that ends the use of the entries. Any thread. */
void sfc_submit_ring_settle(const sfc_submit_ring_t *submit_ring);

#endif
