/* Regions that ranks have registered. Of most the daemon keeps what sfctl shows; those of devices come with a handle by
 * which other ranks of the node open the memory: the daemon hands it out, notes who has it, and lets a region go only
 * when nobody has it open any more. Or it allocates the memory itself. */
#ifndef SFD_MEMORY_DEVICE_REGION_H
#define SFD_MEMORY_DEVICE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/memory/holders.h"

#define SFD_MAX_HANDLE_BYTES 128

/* MAKING ---the daemon has allocated it---> OPEN
 *
 * OPEN ---RegionRemove, nobody has it---> gone
 *  |                                        ^
 *  \---RegionRemove---> REVOKED ---the last holder has closed it, or is gone
 *
 * Memory of the daemon's own is revoked also when its rank leaves or dies: it goes when nobody has it open any more.
 * Its rank may also not wait for that (at_once). */
typedef struct sfd_region {
  uint64_t number; /* first: the key */
  TAILQ_ENTRY(sfd_region) entry;
  uint64_t length;
  uint32_t kind;
  uint32_t method;
  size_t handle_bytes; /* 0: it has none */
  uint8_t handle[SFD_MAX_HANDLE_BYTES];
  uint64_t offset;
  sfd_holders_t holders; /* who has it open */
  bool revoked;
  bool abandoned;          /* then: the rank is gone, or does not wait */
  uint64_t remove_request; /* else: to be answered */

  struct sfd_device_memory *memory; /* the daemon's own; NULL: the rank's */
  uint64_t taken;                   /* bytes of the job's quota: what is wanted, then what was allocated for it */
  bool making;                      /* MAKING; make_request is to be answered */
  uint64_t make_request;
  sfd_rank_t *rank;
} sfd_region_t;

/* A rank that leaves, or is lost: it holds nothing of others any more, and who holds something of it is told. */
void sfd_regions_leave(sfd_rank_t *rank);

/* Frees all bookkeeping of a rank's regions, silently. */
void sfd_regions_free(sfd_rank_t *rank);

void sfd_region_handle_add(sfd_session_t *session, const Sfproto__Message *message);
void sfd_region_handle_remove(sfd_session_t *session, const Sfproto__Message *message);
void sfd_region_handle_get(sfd_session_t *session, const Sfproto__Message *message);
void sfd_region_handle_device_alloc(sfd_session_t *session, const Sfproto__Message *message);
void sfd_region_handle_closed(sfd_session_t *session, const Sfproto__Message *message);

#endif
