/* Submission rings of the ranks: opening them, and taking what they hold. */
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
  TAILQ_ENTRY(sfd_submit_ring) entry; /* of the server's rings */
  struct sfd_rank *rank;
  sfshm_region_t region;
  sfshm_ring_reader_t reader;
  int doorbell; /* eventfd; the rank has a duplicate */
  uv_poll_t poll;
} sfd_submit_ring_t;

/* RingOpen: takes a rank's ring, which it may do once. */
void sfd_submit_ring_handle_open(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* The rank is gone. NULL is accepted. */
void sfd_submit_ring_close(sfd_submit_ring_t *submit_ring);

/* Takes what the rings hold, a bounded part of it at a time. Whether there was anything. */
bool sfd_submit_rings_take(sfd_server_t *server);

/* Takes all that one rank has submitted so far: what it says by a message that comes later may end a graph. NULL is
 * accepted. */
void sfd_submit_ring_take_all(sfd_submit_ring_t *submit_ring);

/* Before the loop sleeps: from now on the ranks ring the doorbell. False: something has come meanwhile. */
bool sfd_submit_rings_arm(sfd_server_t *server);

/* Moves the loop to another core if a rank last submitted from the loop's core, and if no rank did from the other. */
void sfd_submit_rings_keep_apart(sfd_server_t *server);

/* What one entry asks for; send.c. */
void sfd_trunks_submit(struct sfd_rank *rank, const sfshm_ring_entry_t *entry);

#endif
