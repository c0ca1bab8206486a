/* Submission rings of the ranks: opening and reading. */
#ifndef SFD_DATA_SUBMIT_RINGS_H
#define SFD_DATA_SUBMIT_RINGS_H

#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/base.h"
#include "daemon/clients.h"
#include "shm/lane/ring.h"

struct sfd_rank;

typedef struct sfd_submit_ring {
  TAILQ_ENTRY(sfd_submit_ring) entry; /* of the daemon's rings */
  struct sfd_rank *rank;
  sfshm_region_t region;
  sfshm_ring_reader_t reader;
  int doorbell; /* eventfd; the rank has a duplicate */
  uv_poll_t poll;
} sfd_submit_ring_t;

/* RingOpen: takes a rank's ring, once per rank. */
void sfd_submit_ring_handle_open(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* NULL is accepted. */
void sfd_submit_ring_close(sfd_submit_ring_t *submit_ring);

/* Handles a bounded number of entries of each ring. Returns whether there was any. */
bool sfd_submit_rings_take(sfd_server_t *server);

/* Handles all entries of one rank, before a message that may end a graph. NULL is accepted. */
void sfd_submit_ring_take_all(sfd_submit_ring_t *submit_ring);

/* From now on ranks ring the doorbell. False: an entry has come meanwhile, and the loop must not sleep. */
bool sfd_submit_rings_arm(sfd_server_t *server);

/* Moves the loop to another core if a rank last submitted from the loop's core, and no rank from the other. */
void sfd_submit_rings_keep_apart(sfd_server_t *server);

/* Handles one entry; in send.c. */
void sfd_trunks_submit(struct sfd_rank *rank, const sfshm_ring_entry_t *entry);

#endif
