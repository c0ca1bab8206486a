/* Segments of ranks' memory, of which the daemon hands out descriptors. Memory of sf_alloc is mapped, too, if there may
 * be workers that copy from and to it (match_offers.h). */
#ifndef SFD_MEMORY_SEGMENT_H
#define SFD_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/memory/holders.h"

typedef struct sfd_segment {
  uint64_t number; /* chosen by the rank; first: the key */
  TAILQ_ENTRY(sfd_segment) entry;
  uint64_t length;
  bool inbox;
  int fd;
  struct sfd_shared_mapping *mapping; /* for workers; NULL: none */
  sfd_holders_t holders;              /* who asked for it */
} sfd_segment_t;

/* Verifies and keeps a segment; on failure the descriptor stays the caller's. length 0: whatever it is. */
sf_status_t sfd_segment_add(sfd_rank_t *rank, uint64_t number, uint64_t length, bool inbox, int fd);
sfd_segment_t *sfd_segment_find(const sfd_rank_t *rank, uint64_t number);

/* A rank that leaves: what it gave to be read is gone, and who holds it is told; inboxes stay, because ranks that come
 * later to the end of the rank's last operations write into them. */
void sfd_segments_leave(sfd_rank_t *rank);

/* Finds the way to wake a rank, in its inbox. SF_ERR_STATE: the rank has none any more. */
sf_status_t sfd_segment_find_wake(sfd_rank_t *rank);

/* Frees all bookkeeping of a rank's segments, silently. */
void sfd_segments_free(sfd_rank_t *rank);

void sfd_segment_handle_add(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_segment_handle_remove(sfd_session_t *session, const Sfproto__Message *message);
void sfd_segment_handle_get(sfd_session_t *session, const Sfproto__Message *message);

#endif
