/* Segments: memory of ranks of which the daemon hands out descriptors. sf_alloc memory is also mapped if workers may
 * copy (match_offers.h). */
#ifndef SFD_MEMORY_SEGMENT_H
#define SFD_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/memory/holders.h"
#include "shm/region/region.h"

typedef struct sfd_segment {
  uint64_t number; /* chosen by the rank; first: the key */
  TAILQ_ENTRY(sfd_segment) entry;
  uint64_t length;
  sfshm_region_kind_t kind; /* inbox, alloc or array */
  int fd;
  struct sfd_shared_mapping *mapping; /* for workers; NULL: none */
  sfd_holders_t holders;              /* ranks that asked for it */
} sfd_segment_t;

/* Checks and keeps a segment; on failure the descriptor stays the caller's. length 0: any. */
sf_status_t sfd_segment_add(sfd_rank_t *rank, uint64_t number, uint64_t length, sfshm_region_kind_t kind, int fd);
sfd_segment_t *sfd_segment_find(const sfd_rank_t *rank, uint64_t number);

/* A rank leaves: holders of its segments are alerted. Inboxes stay, as other ranks still write into them at the end of
 * the rank's last operations. */
void sfd_segments_leave(sfd_rank_t *rank);

/* Maps the wake word in the rank's inbox. SF_ERR_STATE: the rank has no inbox any more. */
sf_status_t sfd_segment_find_wake(sfd_rank_t *rank);

void sfd_segments_free(sfd_rank_t *rank);

void sfd_segment_handle_add(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_segment_handle_remove(sfd_session_t *session, const Sfproto__Message *message);
void sfd_segment_handle_get(sfd_session_t *session, const Sfproto__Message *message);

#endif
