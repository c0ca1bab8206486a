/* Registered regions of ranks. For most the daemon only keeps what sfctl shows. Regions on devices have a handle by
 * which other ranks open them: the daemon hands it out, records the holders, and removes a region when nobody has it
 * open. The daemon itself opens none, and needs no driver for them. */
#ifndef SFD_MEMORY_DEVICE_REGION_H
#define SFD_MEMORY_DEVICE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/memory/holders.h"

#define SFD_MAX_HANDLE_BYTES 128

/* OPEN ---RegionRemove, nobody has it open---> gone
 *  |                                             ^
 *  \---RegionRemove---> REVOKED ---the last holder has closed it, or is gone
 *
 * Memory that lasts until nobody has it open is also revoked when its rank leaves or dies; a rank need not wait for its
 * removal (at_once). */
typedef struct sfd_region {
  uint64_t number; /* first: the key */
  TAILQ_ENTRY(sfd_region) entry;
  uint64_t length;
  uint32_t kind;
  uint32_t method;
  size_t handle_bytes; /* 0: no handle */
  uint8_t handle[SFD_MAX_HANDLE_BYTES];
  int fd; /* that belongs to the handle; -1: none does */
  uint64_t offset;
  sfd_holders_t holders; /* ranks that have it open */
  bool revoked;
  bool abandoned;          /* REVOKED: the rank is gone, or does not wait */
  uint64_t remove_request; /* REVOKED: else the request to answer */

  uint64_t lasting_bytes; /* counted for the job; 0: memory of the application, which does not last */
} sfd_region_t;

/* A rank leaves or is lost: it closes regions of others, and holders of its regions are alerted. */
void sfd_regions_leave(sfd_rank_t *rank);

void sfd_regions_free(sfd_rank_t *rank);

void sfd_region_handle_add(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_region_handle_remove(sfd_session_t *session, const Sfproto__Message *message);
void sfd_region_handle_get(sfd_session_t *session, const Sfproto__Message *message);
void sfd_region_handle_closed(sfd_session_t *session, const Sfproto__Message *message);

#endif
